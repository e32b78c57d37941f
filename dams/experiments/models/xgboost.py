"""XGBoost with library defaults, on one thread: the rows are binned once and every label vector reuses the bins."""

import numpy as np
import xgboost

from dams.experiments.models import Sample, Training, errors_of_mean

# What XGBRegressor does when told nothing.
ROUNDS = 100


def errors(train: Training, test: Sample, rng: np.random.Generator) -> np.ndarray:
    """Test MSE of boosted trees, one value per label; library defaults draw nothing at random."""
    return errors_of_mean([predict(sample, test.X) for sample in train.draws], test)


def predict(train: Sample, X: np.ndarray) -> np.ndarray:
    """Predict every label of the rows X, shape (n, k), bit for bit as one `XGBRegressor` a label does."""
    bins = xgboost.QuantileDMatrix(train.X, nthread=1)
    rows = xgboost.DMatrix(X, nthread=1)
    predictions = np.empty((len(X), train.Y.shape[1]), np.float32)
    for k, label in enumerate(train.Y.T):
        bins.set_label(label)
        booster = xgboost.Booster({"nthread": 1}, [bins])
        # `xgboost.train` would do the same, with callbacks that on small data take a third of the time.
        for iteration in range(ROUNDS):
            booster.update(bins, iteration)
        predictions[:, k] = booster.predict(rows)
    return predictions
