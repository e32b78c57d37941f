"""Multi-layer perceptrons with scikit-learn's defaults: all labels at once, or one after the other by scikit-learn."""

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from dams.experiments import models
from dams.experiments.models import Sample, errors_of_mean
from dams.experiments.models.batched_mlp import Training, row_orders, train_networks
from dams.experiments.models.networks import Networks


def errors(train: models.Training, test: Sample, rng: np.random.Generator) -> np.ndarray:
    """Test MSE of one network per label and draw, each with initial weights of its own."""
    predictions = fit(train, rng).networks.predict(test.X)
    return errors_of_mean(np.split(predictions, len(train.draws), axis=1), test)


def fit(train: models.Training, rng: np.random.Generator) -> Training:
    """Train one network per draw and label, draw by draw, all at once and in single precision.

    Every network has a stream of random numbers of its own, and the order of the rows, one per draw, has another, so
    that a network does not depend on how many labels come after its own.
    """
    starts: list[np.random.Generator] = []
    orders: list[Iterator[np.ndarray]] = []
    for sample in train.draws:
        shuffles, *own = rng.spawn(1 + sample.Y.shape[1])
        starts += own
        orders.append(row_orders(len(sample.X), shuffles))
    return train_networks(train.draws, Networks.draw(starts, train.draws[0].X.shape[1]), orders)


def errors_sklearn(train: models.Training, test: Sample, rng: np.random.Generator) -> np.ndarray:
    """Do the same with scikit-learn itself, the reference: equal in law, not in digits."""
    return errors_of_mean(
        [np.column_stack([network.predict(test.X) for network in fit_sklearn(sample, rng)]) for sample in train.draws],
        test,
    )


def fit_sklearn(sample: Sample, rng: np.random.Generator) -> list[MLPRegressor]:
    """Train one `MLPRegressor` a label."""
    with warnings.catch_warnings():
        # 200 epochs are part of the published protocol, whether or not the loss has settled by then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [MLPRegressor(random_state=int(rng.integers(2**31))).fit(sample.X, y) for y in sample.Y.T]
