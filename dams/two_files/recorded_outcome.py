"""Whether the label of the source goes with what was recorded, and not only with what is true.

Under loss at random, whether a value is shown says nothing about the label, unless the column has true zeros. It does
where the outcome follows what was recorded, as a treatment does that is decided on a laboratory value, and where values
are recorded for the sake of the outcome. The first makes adapting harmful, and so does the second if the target records
for other reasons; neither leaves a trace in covariates.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from dams._rows import resolve_row_groups
from dams.two_files.naming import listed

Array = np.ndarray
# Probability of a doubt where there is none, for all columns at once.
ALPHA = 1e-3
# A column of fewer values, or of which a share of more than FEW are smaller than SMALL times the median, may well have
# true zeros.
MANY_VALUES, SMALL, FEW = 20, 0.05, 0.01
# Fewest rows, or groups of rows, with and without a value.
LEAST = 20


def columns_that_tell_the_label(X: pd.DataFrame, y: Array, groups: Any, known: Collection[str]) -> list[str]:
    """Return columns without true zeros, as far as one sees, whose presence goes with the label; not those `known`."""
    number = resolve_row_groups(groups, len(X), parameter="groups")
    number = np.arange(len(X)) if number is None else number
    names = [str(name) for name in X.columns if name not in known and _has_no_true_zero(X[name].to_numpy())]
    return [name for name in names if _p_value(X[name].to_numpy() != 0, y, number) * X.shape[1] < ALPHA]


def describe_doubt(names: list[str], label: str) -> str:
    """Return what it means that the presence of columns goes with the label."""
    return (
        f"But in the source {label!r} differs between rows that show {listed(names, most=5)} and rows that do not. If "
        "it follows what was recorded, as a treatment does, or if values are recorded for its sake and not so in the "
        "target, adapting does harm: label some target rows (--target-labels) to see."
    )


def _has_no_true_zero(values: Array) -> bool:
    shown = np.abs(values[values != 0])
    if not len(shown) or np.mean(shown < SMALL * np.median(shown)) > FEW:
        return False
    return len(np.unique(shown)) >= MANY_VALUES


def _p_value(shown: Array, y: Array, number: Array) -> float:
    """Of a difference between the mean labels of both kinds of rows, of which some belong together."""
    residuals, parts = np.empty(len(y)), (shown, ~shown)
    n_groups = [len(np.unique(number[rows])) for rows in parts]
    if min(n_groups) < LEAST:
        return 1.0
    means = [y[rows].mean() for rows in parts]
    for rows, mean, sign in zip(parts, means, (1, -1), strict=True):
        residuals[rows] = sign * (y[rows] - mean) / rows.sum()
    error = np.sqrt(np.square(np.bincount(number, weights=residuals)).sum())
    gap = abs(means[0] - means[1])
    return float(2 * student.sf(gap / error, min(n_groups) - 1)) if error > 0 else float(gap == 0)
