"""Laws on which risks in the target are known, and models for them."""

from itertools import product

import numpy as np

# Rates in quarters, so that a small table can have exactly the law that they give; r = 1/2, −2 and 0.
SOURCE, TARGET = np.array([0, 3, 2]) / 4, np.array([2, 1, 2]) / 4
CLEAN = np.array([[1, 0, 2], [2, 1, 0], [1, 1, 1], [0, 2, 1], [0, 1, 0], [3, 1, 2]], dtype=float)
LABELS = np.array([0, 1, 1, 0, 1, 0])


def lose_exactly(X, y, rates, unit):
    """Every row 4^units times, masks in exact proportion: the table is its own law."""
    rows, labels = [], []
    for mask in product((0, 1), repeat=len(rates)):
        times = round(np.prod([4 * (1 - rate) if kept else 4 * rate for kept, rate in zip(mask, rates, strict=True)]))
        rows += [X * np.array(mask)[unit]] * times
        labels += [y] * times
    return np.vstack(rows), np.concatenate(labels)


def exact_tables(unit=(0, 1, 2), y=LABELS):
    source = lose_exactly(CLEAN, y, SOURCE, np.array(unit))
    return *source, *lose_exactly(CLEAN, y, TARGET, np.array(unit))


class Curved:
    """No linear model, and not additive either."""

    def predict(self, X):
        X = np.asarray(X)
        return X[:, 0] * X[:, 1] - np.maximum(X[:, 1], X[:, 2]) ** 2 + 0.3


def simulate(n, seed, rates=([0.6, 0.1, 0.3], [0.1, 0.5, 0.3])):
    rng = np.random.default_rng(seed)
    tables = []
    for size, lost in ((n, rates[0]), (n, rates[0]), (n, rates[1]), (20_000, rates[1])):
        z = rng.normal(size=(size, 1))
        X = (z + 0.7 * rng.normal(size=(size, 3)) > 0) * rng.integers(1, 3, (size, 3)).astype(float)
        y = X @ [1.0, 2.0, -1.0] + X[:, 0] * X[:, 2] + rng.normal(size=size)
        tables.append((X * (rng.random(X.shape) >= lost), y))
    return tables
