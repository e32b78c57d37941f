"""Input of an imputer: missing entries, columns that hold categories, units, first guesses."""

from typing import Any

import numpy as np

from dams._validation import column_names, describe_columns, warn_user
from dams.imputation._forest.binning import SAME, FloatArray
from dams.imputation._sweeps import BoolArray


def refuse_nan(X: Any, marker: float) -> None:
    """Raise where X holds NaN although something else marks missing entries."""
    values = np.asarray(X)
    if values.dtype.kind != "f" or values.ndim != 2 or not np.isnan(values).any():
        return
    columns = np.flatnonzero(np.isnan(values).any(axis=0))
    raise ValueError(
        f"X contains NaN in {describe_columns(columns, column_names(X))}, but missing_values={marker:g} marks what is "
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


def scales_for_trees(spreads: FloatArray, categorical: BoolArray) -> FloatArray:
    """Return factors for columns whose unit trees can't work in: they read single precision, and take 1e-7 for nothing.

    Powers of two, which round nothing; 1 for the other columns.
    """
    unfit = ~categorical & (spreads > 0) & ((spreads < 1e-3) | (spreads > 1e30))
    return np.where(unfit, 2.0 ** -np.round(np.log2(np.where(unfit, spreads, 1.0))), 1.0)


def warn_of_small_units(spreads: FloatArray, categorical: BoolArray, names: Any) -> None:
    """Warn of columns that trees take for constant."""
    columns = np.flatnonzero(~categorical & (spreads > 0) & (spreads <= SAME))
    if len(columns):
        warn_user(
            f"All values in {describe_columns(columns, names)} lie within 1e-7, which the trees of MissForest take for "
            "nothing: the column gets its mean and tells nothing of others. Give it in a smaller unit, or set "
            "compat='inductive', which scales it."
        )


def warn_of_constants(constant: BoolArray, marker: float, names: Any) -> None:
    """Warn of columns with one observed value, which all rows get, as of 0/1 columns whose zeros are missing."""
    columns = np.flatnonzero(constant)
    if len(columns) and not np.isnan(marker):
        warn_user(
            f"There is one value beside {marker:g} in {describe_columns(columns, names)}: imputing makes a constant of "
            "it, which carries nothing. If not every such entry is missing, mark those that are "
            "(missing_values=np.nan), or leave the column out."
        )


def refuse_beyond_single_precision(X: FloatArray, names: Any) -> None:
    """Raise where X is too large for trees, as scikit-learn's would."""
    columns = np.flatnonzero((np.abs(np.nan_to_num(X)) > np.finfo(np.float32).max).any(axis=0))
    if len(columns):
        raise ValueError(
            f"X is too large for single precision, which the trees of MissForest read, in "
            f"{describe_columns(columns, names)}. Give it in a larger unit, or set compat='inductive', which scales it."
        )


def first_guess(observed: FloatArray, *, categorical: bool) -> float:
    """Mean of a column's observed entries, or the most frequent (of several the smallest)."""
    if not categorical:
        return float(observed.mean(dtype=np.float64))
    values, counts = np.unique(observed, return_counts=True)
    return float(values[counts.argmax()])
