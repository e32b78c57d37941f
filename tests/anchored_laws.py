"""Discrete laws whose loss depends on an anchor, exact to the row: what the anchored estimators must find."""

import numpy as np

from dams.identification import corrupt_law

LEVELS = np.array([0.0, 1.0, 2.0])
N = 40_000


def anchored_law(*, older=True, scarce=False, seed=0):
    """Tables of (anchor, X̃_1, X̃_2) with labels, source and target, with counts as a law has them; r and w by level.

    Where `scarce`, the source loses nine tenths of X_1 at one level and of X_2 at another.
    """
    rng = np.random.default_rng(seed)
    clean = rng.dirichlet(np.ones(2 * 3 * 2), 3).reshape(3, 2, 3, 2)
    share = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5] if older else [0.5, 0.3, 0.2]])
    rates = np.array([[[0.1, 0.5], [0.3, 0.3], [0.5, 0.1]], [[0.5, 0.2], [0.4, 0.6], [0.2, 0.4]]])
    if scarce:
        rates[0, [0, 2], [0, 1]] = 0.9
    tables = []
    for domain in (0, 1):
        cells = np.stack([share[domain, s] * corrupt_law(clean[s], rates[domain, s]) for s in range(3)])
        counts = np.rint(N * cells).astype(int)
        index = np.repeat(np.indices(counts.shape).reshape(4, -1).T, counts.ravel(), axis=0)
        # The second column's values are 0, 1 and 3; labels 0 and 1.
        X = np.column_stack([LEVELS[index[:, 0]], index[:, 1], np.array([0.0, 1.0, 3.0])[index[:, 2]]])
        tables.append((X.astype(float), index[:, 3].astype(float)))
    r = 1 - (1 - rates[1]) / (1 - rates[0])
    return tables[0], tables[1], r, share[1] / share[0]
