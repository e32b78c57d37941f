"""Whether the target rows that have labels are a random sample of the target's rows, as far as covariates tell.

Labels of chosen rows, such as those of the most complete charts, say what holds for these rows alone. If m of n rows
are drawn at random, the mean of a column over them departs from that over all by t or more with probability at most

    2 exp(−t²/(2 (v + c t/3))),   v = σ² Σ l_g²/m²,   c = b max l_g/m,

Bernstein's bound, which holds for draws without replacement by Hoeffding: σ² and b are the variance over all rows and
the largest departure from their mean, and l_g the drawn rows of group g, 1 where every row stands alone; rows of one
group count as if they were one. It holds for few labels, rare columns and long tails. Values and presences of all
columns, and how many values a row has, are looked at, at Bonferroni's level. The fewer rows, with labels or without,
are taken for the drawn ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dams._validation import describe_columns, warn_user

Array = np.ndarray

# Probability of a false alarm, at most.
LEVEL = 0.01


def is_random_sample(X: Array, labelled: Array, groups: Array | None, names: Sequence[Any] | None) -> bool:
    """Return whether labelled rows of X (n, d) may be a random sample of all, and warn where they clearly are none.

    `groups` numbers the rows that belong together, None where each stands alone.
    """
    drawn = labelled if 2 * labelled.sum() <= len(X) else ~labelled
    m = int(drawn.sum())
    if m == 0:
        return True
    size = np.ones(m) if groups is None else np.bincount(groups[drawn])
    present, d = (X != 0).astype(float), X.shape[1]
    looked_at = np.column_stack([X, present, present.sum(axis=1)])
    p = _bound(looked_at, drawn, size)
    if len(p) * p.min() >= LEVEL:
        return True
    k = int(p.argmin())
    column = describe_columns(np.array([k % d]), names)
    whats = f"the mean of {column}", f"the share of values other than zero in {column}", "the number of values in a row"
    warn_user(
        f"Rows with labels in y_target are not a random sample of the target's: {whats[k // d]} is "
        f"{looked_at[labelled, k].mean():.3g} in these and {looked_at[~labelled, k].mean():.3g} in the others. Such "
        "labels neither test nor correct the adjustment, and the coefficients are those without labels: draw the rows "
        "to label at random."
    )
    return False


def _bound(values: Array, drawn: Array, size: Array) -> Array:
    """Bernstein's bound for the means of columns over the drawn rows, (d,); 1 for a column of one value."""
    m, mean = int(drawn.sum()), values.mean(axis=0)
    # What is left of a column of one value are rounding errors, all of one sign.
    centred = np.where(np.ptp(values, axis=0) > 1e-12 * np.abs(mean), values - mean, 0.0)
    t = np.abs(centred[drawn].mean(axis=0))
    v = np.square(centred).mean(axis=0) * np.square(size).sum() / m**2
    c = np.abs(centred).max(axis=0) * size.max() / m
    scale = 2 * (v + c * t / 3)
    exponent = np.divide(t**2, scale, out=np.zeros_like(t), where=scale > 0)
    return np.minimum(2 * np.exp(-exponent), 1.0)
