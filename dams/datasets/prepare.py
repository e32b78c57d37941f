"""From raw values to covariates in which a zero may stand for a lost value: z-scores, and the paper's drops."""

from __future__ import annotations

import math
from collections.abc import Collection

import pandas as pd

# A 0/1 column that few rows have would vanish once values are lost on top; a column that hardly varies says nothing.
MIN_FREQUENCY = 0.05
MIN_STANDARD_DEVIATION = 0.05


def standardise(values: pd.Series) -> pd.Series:
    """Centre and scale by what is present; missing values, and a column without spread, become 0."""
    # Told by the range: rounding can leave a constant column a deviation, and dividing by it would make it ±1.
    spread = values.std() if values.max() > values.min() else math.nan
    return ((values - values.mean()) / spread).fillna(0.0)


def reasons_to_drop(table: pd.DataFrame, *, rare: Collection[str]) -> dict[str, str]:
    """Return why columns are dropped: a standard deviation of at most 0.05 or, of those in `rare`, too few nonzeros."""
    deviations, frequencies = table.std(), (table != 0).mean()
    reasons = {}
    for name in table.columns:
        # Of a single row the deviation is NaN, and that is no spread either.
        if not deviations[name] > MIN_STANDARD_DEVIATION:
            reasons[name] = f"hardly varies (standard deviation {deviations[name]:.2g})"
        elif name in rare and frequencies[name] < MIN_FREQUENCY:
            reasons[name] = f"is nonzero in {frequencies[name]:.1%} of the rows, under {MIN_FREQUENCY:.0%}"
    return reasons


def drop_uninformative(table: pd.DataFrame, *, rare: Collection[str]) -> pd.DataFrame:
    """Drop columns with a standard deviation of at most 0.05, and those of `rare` nonzero in fewer than 5 % of rows."""
    dropped = reasons_to_drop(table, rare=rare)
    return table.loc[:, [name not in dropped for name in table.columns]]
