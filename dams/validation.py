"""Checks of what users hand in. Every message says what was expected, what came and the way out."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse


def describe_columns(columns: np.ndarray, labels: Sequence[Any] | None, *, most: int = 5) -> str:
    """Name columns for a message: by label where there are labels, by position otherwise."""
    chosen = [labels[j] if labels is not None else j for j in columns[:most]]
    shown = [repr(str(label)) if isinstance(label, str) else str(label) for label in chosen]
    rest = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(shown)}{rest}"


def column_labels(X: Any) -> list[Any] | None:
    """Labels of the columns of a DataFrame, of whatever type; None for what has no labels."""
    return list(X.columns) if isinstance(X, pd.DataFrame) else None


def compare_labels(expected: Iterable[Any], given: Iterable[Any]) -> tuple[str, str] | None:
    """What lacks and what is surplus among the given labels, for a message; None where they are the same."""
    expected, given = list(expected), list(given)
    lacking, surplus = set(expected) - set(given), set(given) - set(expected)
    if not lacking and not surplus:
        return None
    return _list_labels(c for c in expected if c in lacking), _list_labels(c for c in given if c in surplus)


def _list_labels(labels: Iterable[Any], *, most: int = 5) -> str:
    every = list(labels)
    rest = f" and {len(every) - most} more" if len(every) > most else ""
    return f"{every[:most]}{rest}" if every else "none"


def refuse_nan(X: Any, *, name: str) -> None:
    """Raise where X holds NaN: here a missing value is a zero, and which of the two a user meant can't be guessed."""
    values = X.tocoo().data if sparse.issparse(X) else X
    nan = np.asarray(pd.isna(values if isinstance(values, pd.DataFrame) else np.asarray(values)))
    if not nan.any():
        return
    where = ""
    if nan.ndim == 2:
        where = " in " + describe_columns(np.flatnonzero(nan.any(axis=0)), column_labels(X))
    raise ValueError(
        f"{name} contains NaN{where}. Under missingness shift a missing value is recorded as 0: replace NaN by 0 "
        "(after scaling the columns), or impute it before."
    )


def refuse_infinite(X: Any, *, name: str) -> None:
    """Raise where a dense X holds infinite values: a lost value is a product with zero, and 0 · ∞ is no number."""
    values = np.asarray(X)
    infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
    if infinite.any():
        where = describe_columns(np.flatnonzero(infinite.any(axis=0)), column_labels(X))
        raise ValueError(
            f"{name} contains infinite values in {where}: give finite ones, or drop these rows or columns."
        )


def check_covariates(X: Any, *, name: str) -> Any:
    """Return X as a float array or CSR matrix with two dimensions and at least one row; refuse NaN."""
    # Imported late: masks and configurations need the rest of this module, and not to wait for scikit-learn.
    from sklearn.utils import check_array

    refuse_nan(X, name=name)
    if getattr(X, "shape", np.shape(X))[:1] == (0,):
        raise ValueError(f"{name} has no rows: give at least one row of observed covariates.")
    return check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)


def check_draws(n_bootstrap: Any, least: float, *, purpose: str) -> None:
    """Raise where the bootstrap has too few draws for its purpose."""
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < least:
        raise ValueError(
            f"n_bootstrap must be a whole number of at least {math.ceil(least)} for {purpose}, got {n_bootstrap!r}."
        )


def match_columns(X_target: Any, labels: Sequence[Any] | None, n_features: int) -> Any:
    """Return the target covariates with their columns in the source's order.

    DataFrames are matched by label, of whatever type. Without labels the number of columns must agree.
    """
    target_labels = column_labels(X_target)
    if labels is not None and target_labels is not None:
        return X_target if target_labels == list(labels) else _reorder(X_target, target_labels, list(labels))
    shape = getattr(X_target, "shape", np.shape(X_target))
    if len(shape) == 2 and shape[1] != n_features:
        raise ValueError(
            f"X_target must have the source's {n_features} columns, got {shape[1]}. Keep the columns that both have."
        )
    return X_target


def _reorder(X_target: pd.DataFrame, target_labels: list[Any], labels: list[Any]) -> pd.DataFrame:
    different = compare_labels(labels, target_labels)
    if different is not None:
        raise ValueError(
            "X_target must have the same columns as the source. "
            f"Not in the target: {different[0]}; only in the target: {different[1]}. "
            "Keep the columns that both have, or give arrays to match them by position."
        )
    position = {label: j for j, label in enumerate(target_labels)}
    if not len(position) == len(target_labels) == len(labels):
        raise ValueError(
            "X_target has its columns in another order than the source, and some labels more than once: give every "
            "column a label of its own."
        )
    return X_target.iloc[:, [position[label] for label in labels]]


def check_labels(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember the labels of a DataFrame in `fit` (`reset`), and refuse a DataFrame with other ones later.

    scikit-learn does so for names; labels of other types, such as item numbers, it does not look at.
    """
    labels = column_labels(X)
    if reset:
        estimator._column_labels = labels
        return
    fitted = getattr(estimator, "_column_labels", None)
    if fitted is None or labels is None or fitted == labels or hasattr(estimator, "feature_names_in_"):
        return
    lacking, surplus = compare_labels(fitted, labels) or ("none", "none")
    raise ValueError(
        f"X must have the columns that {type(estimator).__name__} was fitted with, in the same order. "
        f"Lacking: {lacking}; not seen in fit: {surplus}. Reorder or rename the columns."
    )
