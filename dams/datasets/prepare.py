"""From a raw table to covariates in which a zero is a natural value: dummies, z-scores, and the paper's drops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

# A dummy that few rows have would vanish once values are lost on top; a column that hardly varies says nothing.
MIN_PREVALENCE = 0.05
MIN_DEVIATION = 0.05


def encode(
    table: pd.DataFrame, *, numeric: Sequence[str] = (), binary: Sequence[str] = (), categorical: Sequence[str] = ()
) -> pd.DataFrame:
    """Return float covariates: numeric columns z-scored, binary ones as 0/1, one dummy for every other level.

    Natural missing values (NaN) become 0 after scaling, which is what a lost value looks like.
    """
    parts: list[pd.DataFrame] = []
    if numeric:
        values = table[list(numeric)].astype(float)
        deviation = values.std(ddof=0)
        parts.append(((values - values.mean()) / deviation.where(deviation > 0, 1.0)).fillna(0.0))
    if binary:
        parts.append(table[list(binary)].astype(float).fillna(0.0))
    if categorical:
        parts.append(pd.get_dummies(table[list(categorical)].astype("string"), dtype=float))
    return pd.concat(parts, axis=1) if parts else pd.DataFrame(index=table.index)


def drop_uninformative(covariates: pd.DataFrame) -> pd.DataFrame:
    """Drop 0/1 columns present in fewer than 5 % of the rows and columns with a standard deviation of at most 0.05."""
    values = covariates.to_numpy()
    is_binary = np.isin(values, (0.0, 1.0)).all(axis=0)
    rare = is_binary & ((values != 0).mean(axis=0) < MIN_PREVALENCE)
    flat = values.std(axis=0) <= MIN_DEVIATION
    return covariates.loc[:, ~(rare | flat)]
