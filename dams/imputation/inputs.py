"""What an imputer is given: which entries are missing, which columns hold categories, what to guess first."""

from typing import Any

import numpy as np

from dams.imputation.forest.binning import FloatArray
from dams.imputation.sweeps import BoolArray
from dams.validation import column_labels, describe_columns


def refuse_nan(X: Any, marker: float) -> None:
    """Raise where X holds NaN although something else marks missing entries."""
    values = np.asarray(X)
    if values.dtype.kind != "f" or values.ndim != 2 or not np.isnan(values).any():
        return
    columns = np.flatnonzero(np.isnan(values).any(axis=0))
    raise ValueError(
        f"X contains NaN in {describe_columns(columns, column_labels(X))}, but missing_values={marker:g} marks what is "
        "missing. Set missing_values=np.nan, or replace NaN by that marker."
    )


def categorical_mask(features: Any, n_features: int, names: Any) -> BoolArray:
    """Return a mask of the categorical columns, given by positions, names or a mask."""
    mask = np.zeros(n_features, dtype=bool)
    if features is None:
        return mask
    chosen = np.asarray(features)
    if not chosen.size:
        return mask
    if chosen.dtype.kind == "b" and chosen.shape == mask.shape:
        return chosen
    if chosen.dtype.kind in "iu" and ((chosen >= 0) & (chosen < n_features)).all():
        mask[chosen] = True
        return mask
    if chosen.dtype.kind in "OUT" and names is not None and np.isin(chosen, names).all():
        return np.isin(names, chosen)
    known = "has no column names" if names is None else f"has the columns {', '.join(map(str, names))}"
    raise ValueError(
        f"categorical_features must be positions from 0 to {n_features - 1}, a mask of {n_features} booleans, or names "
        f"of columns (X {known}), got {features!r}."
    )


def first_guess(observed: FloatArray, *, categorical: bool) -> float:
    """Mean of a column's observed entries, or the most frequent (of several the smallest)."""
    if not categorical:
        return float(observed.mean(dtype=np.float64))
    values, counts = np.unique(observed, return_counts=True)
    return float(values[counts.argmax()])
