"""Samples with losses of both signs, for tests of the two-way adjustment."""

import numpy as np

from dams import apply_missingness

BETTER, WORSE = [0.6, 0.1, 0.5], [0.1, 0.4, 0.2]


def clean(n=3000, seed=0):
    """A 0/1 column, a column of few values and one of many, all dependent, and a label."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    X = np.column_stack([z > 0, np.round(z + rng.normal(size=n)) + 7, z + rng.normal(size=n) + 5])
    return X, X @ [3.0, 1.0, 2.0] + rng.normal(size=n)


def shifted(n=3000, seed=0, m_source=BETTER, m_target=WORSE):
    X, y = clean(2 * n, seed)
    source = apply_missingness(X[:n], m_source, random_state=seed + 1)
    target = apply_missingness(X[n:], m_target, random_state=seed + 2)
    return source, y[:n], target, y[n:]
