"""Networks against scikit-learn's, one a label with the same seed."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from dams.models import MODELS, Sample


def test_mlp_equals_scikit_learn_with_the_same_seeds(train, held_out):
    train, held_out = Sample(train.X[:60], train.Y[:60]), Sample(held_out.X[:30], held_out.Y[:30])
    errors = MODELS["mlp"].errors(train, held_out, np.random.default_rng(7))
    seeds = np.random.default_rng(7).integers(2**31, size=train.Y.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k, seed in enumerate(seeds.tolist()):
            reference = MLPRegressor(random_state=seed).fit(train.X, train.Y[:, k]).predict(held_out.X)
            assert errors[k] == np.mean((reference - held_out.Y[:, k]) ** 2)


def test_mlps_of_different_labels_start_from_different_weights(train):
    few = Sample(train.X[:40], np.repeat(train.Y[:40, :1], 2, axis=1))
    first, second = MODELS["mlp"].errors(few, few, np.random.default_rng(0))
    assert first != second
