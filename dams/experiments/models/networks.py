"""Parameters of many perceptrons with one hidden layer."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Array = np.ndarray

# Rows predicted at a time: their hidden layer stays in the cache.
CHUNK = 1024


class Networks:
    """Parameters of k networks with d inputs and h hidden units, one parameter after the other in memory.

    The hidden layers lie one below the other, so that networks which see the same rows need one matrix product.

    Attributes
    ----------
    flat : array of shape (k (d + 2) h + k,)
        Everything; the other attributes are views of it.
    hidden : array of shape (k, h, d + 1)
        Wᵀ with b as last column.
    output : array of shape (k, h)
        v.
    bias : array of shape (k,)
        c.
    """

    def __init__(self, flat: Array, shape: tuple[int, int, int]) -> None:
        k, h, inputs = shape
        self.flat = flat
        self.hidden = flat[: k * h * inputs].reshape(shape)
        self.output = flat[k * h * inputs : -k].reshape(k, h)
        self.bias = flat[-k:]

    def __len__(self) -> int:
        """Return the number of networks."""
        return len(self.bias)

    @classmethod
    def of(cls, hidden: Array, output: Array, bias: Array) -> Networks:
        """Return networks with a copy of these parameters."""
        return cls(np.concatenate([part.ravel() for part in (hidden, output, bias)]), hidden.shape)

    @classmethod
    def draw(
        cls, rngs: Iterable[np.random.Generator], n_features: int, *, hidden_units: int = 100, dtype: type = np.float32
    ) -> Networks:
        """Draw initial parameters with one generator a network, intercepts too: U(±√(6 / (fan in + fan out)))."""
        h = hidden_units
        inner, outer = np.sqrt(6 / (n_features + h)), np.sqrt(6 / (h + 1))
        bound = np.repeat([outer, inner, outer], [h, (n_features + 1) * h, 1])
        drawn: Array = np.stack([rng.uniform(-bound, bound) for rng in rngs]).astype(dtype)
        hidden = drawn[:, h:-1].reshape(-1, n_features + 1, h).swapaxes(1, 2)
        return cls.of(hidden, drawn[:, :h], drawn[:, -1])

    def empty_like(self) -> Networks:
        """Return as many networks of the same shape, without values."""
        return Networks(np.empty_like(self.flat), self.hidden.shape)

    def zeros_like(self) -> Networks:
        """Return as many networks of the same shape, all zero."""
        return Networks(np.zeros_like(self.flat), self.hidden.shape)

    def keep(self, wanted: Array) -> Networks:
        """Return a copy of some networks."""
        return Networks.of(self.hidden[wanted], self.output[wanted], self.bias[wanted])

    def put(self, numbers: Array, networks: Networks) -> None:
        """Overwrite the networks of these numbers."""
        self.hidden[numbers], self.output[numbers], self.bias[numbers] = networks.hidden, networks.output, networks.bias

    def predict(self, X: Array) -> Array:
        """Predict the label of every network for every row, shape (n, k)."""
        predictions = np.empty((len(X), len(self)), self.flat.dtype)
        for start in range(0, len(X), CHUNK):
            chunk = slice(start, start + CHUNK)
            activation = np.maximum(self.hidden @ with_ones(X[chunk], self.flat.dtype).T, 0)
            predictions[chunk] = (self.output[:, None, :] @ activation)[:, 0].T + self.bias
        return predictions


def with_ones(X: Array, dtype: np.dtype) -> Array:
    """Append the column of ones that carries the intercepts of the hidden layer."""
    rows = np.ones((len(X), X.shape[1] + 1), dtype)
    rows[:, :-1] = X
    return rows
