"""Parameters of many perceptrons with one hidden layer."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Array = np.ndarray

# Rows predicted at a time: their hidden layer stays in the cache.
CHUNK = 1024


class Networks:
    """Parameters of k networks with d inputs and h hidden units: one contiguous row (v, W, b, c) a network.

    Attributes
    ----------
    flat : array of shape (k, (d + 2) h + 1)
        Everything; the other attributes are views of it.
    weights : array of shape (k, (d + 1) h)
        v and W, which are penalised; the intercepts are not.
    hidden : array of shape (k, d + 1, h)
        W with b below it.
    output : array of shape (k, h)
        v.
    bias : array of shape (k,)
        c.
    """

    def __init__(self, flat: Array, hidden_units: int) -> None:
        self.flat = flat
        self.hidden_units = hidden_units
        self.weights = flat[:, : -hidden_units - 1]
        self.hidden = flat[:, hidden_units:-1].reshape(len(flat), -1, hidden_units)
        self.output = flat[:, :hidden_units]
        self.bias = flat[:, -1]

    @classmethod
    def draw(
        cls, rngs: Iterable[np.random.Generator], n_features: int, *, hidden_units: int = 100, dtype: type = np.float32
    ) -> Networks:
        """Draw initial parameters with one generator per network, intercepts too: U(±√(6 / (fan in + fan out)))."""
        h = hidden_units
        inner, outer = np.sqrt(6 / (n_features + h)), np.sqrt(6 / (h + 1))
        bound = np.repeat([outer, inner, outer], [h, (n_features + 1) * h, 1])
        return cls(np.stack([rng.uniform(-bound, bound) for rng in rngs]).astype(dtype), h)

    def empty_like(self) -> Networks:
        """Return as many networks of the same shape, without values."""
        return Networks(np.empty_like(self.flat), self.hidden_units)

    def keep(self, wanted: Array) -> Networks:
        """Return a copy of some networks."""
        return Networks(self.flat[wanted], self.hidden_units)

    def predict(self, X: Array) -> Array:
        """Predict the label of every network for every row, shape (n, k)."""
        predictions = np.empty((len(X), len(self.flat)), self.flat.dtype)
        for start in range(0, len(X), CHUNK):
            chunk = slice(start, start + CHUNK)
            activation = np.maximum(with_ones(X[chunk], self.flat.dtype) @ self.hidden, 0)
            predictions[chunk] = (activation @ self.output[:, :, None])[:, :, 0].T + self.bias
        return predictions


def with_ones(X: Array, dtype: np.dtype) -> Array:
    """Append the column of ones that carries the intercepts of the hidden layer."""
    rows = np.ones((len(X), X.shape[1] + 1), dtype)
    rows[:, :-1] = X
    return rows
