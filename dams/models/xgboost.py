"""XGBoost with library defaults, on one thread: the rows are binned once and every label vector reuses the bins."""

import numpy as np
import xgboost

from dams.models import Sample

# What XGBRegressor does when told nothing.
ROUNDS = 100


def errors(train: Sample, test: Sample, rng: np.random.Generator) -> np.ndarray:
    """Test MSE of boosted trees, one value a label; library defaults draw nothing at random."""
    matrix = xgboost.DMatrix(train.X, nthread=1)
    held_out = xgboost.DMatrix(test.X, nthread=1)
    mse = np.empty(train.Y.shape[1])
    for k in range(len(mse)):
        matrix.set_label(train.Y[:, k])
        booster = xgboost.train({"nthread": 1}, matrix, num_boost_round=ROUNDS)
        mse[k] = np.mean((booster.predict(held_out) - test.Y[:, k]) ** 2)
    return mse
