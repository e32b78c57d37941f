"""Multi-layer perceptrons with scikit-learn's defaults."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from dams.models import Sample


def errors(train: Sample, test: Sample, rng: np.random.Generator) -> np.ndarray:
    """Test MSE of one network a label, each with initial weights of its own."""
    mse = np.empty(train.Y.shape[1])
    for k in range(len(mse)):
        network = MLPRegressor(random_state=int(rng.integers(2**31)))
        with warnings.catch_warnings():
            # 200 epochs are part of the published protocol, whether or not the loss has settled by then.
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(train.X, train.Y[:, k])
        mse[k] = np.mean((network.predict(test.X) - test.Y[:, k]) ** 2)
    return mse
