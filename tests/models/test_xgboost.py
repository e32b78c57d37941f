"""Boosted trees with shared bins against XGBoost's own estimator, one a label."""

import numpy as np
from xgboost import XGBRegressor

from dams.models import MODELS


def test_xgboost_equals_its_scikit_learn_estimator_bit_by_bit(train, held_out):
    errors = MODELS["xgboost"].errors(train, held_out, np.random.default_rng(0))
    for k in range(train.Y.shape[1]):
        predicted = XGBRegressor(n_jobs=1).fit(train.X, train.Y[:, k]).predict(held_out.X)
        assert errors[k] == np.mean((predicted - held_out.Y[:, k]) ** 2)
