"""Checks of what users hand in. Every message says what was expected, what came and the way out."""

import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

# What a table may hold and a covariate may not. Other objects are left to scikit-learn's own message.
NO_NUMBERS = (str, bytes, date, timedelta, np.datetime64, np.timedelta64, pd.Period, pd.Interval)
# Types of arrays that may hold such: objects, text, bytes, dates, spans of time.
NO_NUMBER_KINDS = "OUSMm"

# From here on squares are beyond what a float holds, and with them every moment.
LARGEST = 1e154
_RESCALE = "whose squares are infinite: divide the columns by a constant, which keeps zeros, or drop these rows."

# Packages between a user's line and a warning; searches of scikit-learn fit within joblib.
WITHIN = ("dams", "sklearn", "joblib")


def warn_user(message: str) -> None:
    """Warn at the line that called this package, by whatever ways within it, scikit-learn and joblib."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in WITHIN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def describe_columns(columns: np.ndarray, names: Sequence[Any] | None, *, most: int = 5) -> str:
    """Name columns for a message: by name where there are names, by position otherwise."""
    chosen = [names[j] if names is not None else j for j in columns[:most]]
    shown = [_show(name) for name in chosen]
    rest = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(shown)}{rest}"


def _show(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else str(value)


def column_names(X: Any) -> list[Any] | None:
    """Names of the columns of a DataFrame, of whatever type and library; None for what has no names."""
    return list(X.columns) if hasattr(X, "columns") else None


def as_pandas(X: Any) -> Any:
    """Return a DataFrame of another library, such as polars, as one of pandas, and anything else as it is."""
    names = column_names(X)
    return X if names is None or isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X), columns=names)


def compare_columns(expected: Iterable[Any], given: Iterable[Any]) -> tuple[str, str] | None:
    """Return the missing and the surplus names, for a message; None where the names are the same."""
    expected, given = list(expected), list(given)
    lacking, surplus = set(expected) - set(given), set(given) - set(expected)
    if not lacking and not surplus:
        return None
    return _list_columns(c for c in expected if c in lacking), _list_columns(c for c in given if c in surplus)


def _list_columns(names: Iterable[Any], *, most: int = 5) -> str:
    every = list(names)
    rest = f" and {len(every) - most} more" if len(every) > most else ""
    return f"{every[:most]}{rest}" if every else "none"


def refuse_text(X: Any, *, name: str) -> None:
    """Raise where X holds text, dates or intervals: scikit-learn's message would not name the column."""
    found = {j: value for j, values in _doubtful_columns(X) for value in _first_that_is_no_number(values)}
    if not found:
        return
    first = next(iter(found.values()))
    raise ValueError(
        f"{name} holds {_show(first)}, which is no number, in "
        f"{describe_columns(np.array(list(found)), column_names(X))}. One-hot encode categories (pandas.get_dummies: "
        "one 0/1 column per level), count dates in days, and convert numbers stored as text (pandas.to_numeric)."
    )


def _doubtful_columns(X: Any) -> Iterable[tuple[int, Iterable[Any]]]:
    """Position and values of the columns whose type doesn't promise numbers."""
    if isinstance(X, pd.DataFrame):
        for j in (j for j, dtype in enumerate(X.dtypes) if not pd.api.types.is_numeric_dtype(dtype)):
            column: Any = X.iloc[:, j]
            yield j, column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    elif not sparse.issparse(X) and (values := np.asarray(X)).ndim == 2 and values.dtype.kind in NO_NUMBER_KINDS:
        yield from enumerate(values.T)


def _first_that_is_no_number(values: Iterable[Any]) -> list[Any]:
    return list(islice((value for value in values if isinstance(value, NO_NUMBERS)), 1))


def refuse_nan(X: Any, *, name: str) -> None:
    """Raise where X holds NaN: here a missing value is a zero, and which of the two a user meant can't be guessed."""
    values = _stored(X) if sparse.issparse(X) else X
    nan = np.asarray(pd.isna(values if isinstance(values, pd.DataFrame) else np.asarray(values)))
    if not nan.any():
        return
    where = ""
    if nan.ndim == 2:
        where = " in " + describe_columns(np.flatnonzero(nan.any(axis=0)), column_names(X))
    raise ValueError(
        f"{name} contains NaN{where}. Under missingness shift a missing value is recorded as 0: replace NaN by 0 "
        "(after scaling the columns), or impute it before."
    )


def refuse_infinite(X: Any, *, name: str) -> None:
    """Raise where a dense X holds infinite values: a lost value is a product with zero, and 0 · ∞ is no number."""
    values = _as_floats(X)
    infinite = np.isinf(values)
    if infinite.ndim == 2 and infinite.any():
        where = describe_columns(np.flatnonzero(infinite.any(axis=0)), column_names(X))
        raise ValueError(
            f"{name} contains infinite values in {where}: give finite ones, or drop these rows or columns."
        )
    if values.ndim == 2 and values.size and max(float(values.max()), -float(values.min())) >= LARGEST:
        where = describe_columns(np.flatnonzero((np.abs(values) >= LARGEST).any(axis=0)), column_names(X))
        raise ValueError(f"{name} contains values of 1e154 or more in {where}, {_RESCALE}")


def refuse_masked(X: Any, *, name: str) -> None:
    """Raise for a masked array that hides values: NumPy would go on with what lies under the mask."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        raise ValueError(
            f"{name} is a masked array with hidden values: give {name}.filled(0) if these are lost, as a lost value is "
            "recorded as 0 here, or impute them before."
        )


def _as_floats(X: Any) -> np.ndarray:
    """X as floats where it may hold infinite ones; nothing where it can't, or where scikit-learn must judge it."""
    values = np.asarray(X)
    if values.dtype.kind == "f":
        return values
    try:
        # Columns of several types meet in an array of objects.
        return values.astype(float) if values.dtype.kind == "O" else np.empty(0)
    except (TypeError, ValueError):
        return np.empty(0)


def refuse_arrow(X: Any, *, name: str) -> None:
    """Raise for an Arrow table, whose columns are neither named nor read as those of a DataFrame."""
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        raise TypeError(f"{name} is a {type(X).__module__.split('.')[0]} {type(X).__name__}: give {name}.to_pandas().")


def refuse_unusable(X: Any, *, name: str) -> None:
    """Raise where X holds what is no number, NaN or, if dense, infinite values, and name the columns."""
    refuse_arrow(X, name=name)
    refuse_masked(X, name=name)
    refuse_text(X, name=name)
    refuse_nan(X, name=name)
    if not sparse.issparse(X):
        refuse_infinite(X, name=name)
    elif (values := np.abs(_stored(X))).size and LARGEST <= float(values.max()) < np.inf:
        raise ValueError(f"{name} contains values of 1e154 or more, {_RESCALE}")


def _stored(X: Any) -> np.ndarray:
    """Values that a sparse X holds, without a copy where its format has them in one array."""
    return np.asarray(X.data if X.format in ("csr", "csc", "coo") else X.tocoo().data)


def check_covariates(X: Any, *, name: str) -> Any:
    """Return X as a float array or CSR matrix with two dimensions and at least one row; refuse NaN."""
    # Imported late: masks and configurations need the rest of this module, and not to wait for scikit-learn.
    from sklearn.utils import check_array

    if X is None:
        raise ValueError(f"{name} is None: give a table of observed covariates, one row per observation.")
    refuse_unusable(X, name=name)
    if getattr(X, "shape", np.shape(X))[:1] == (0,):
        raise ValueError(f"{name} has no rows: give at least one row of observed covariates.")
    return check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)


def refuse_text_labels(y: Any) -> None:
    """Raise where labels meant for a regressor hold text or dates."""
    values = np.asarray(y)
    for value in _first_that_is_no_number(values.ravel()) if values.dtype.kind in NO_NUMBER_KINDS else ():
        raise ValueError(
            f"y holds {_show(value)}, which is no number, and a regressor needs numbers: encode the labels, or use "
            "FilteredEstimator or TwoWayEstimator with a classifier."
        )


def check_confidence(confidence: float) -> None:
    """Raise where a level is none."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}.")


def check_draws(n_bootstrap: Any, least: float, *, purpose: str) -> None:
    """Raise where the bootstrap has too few draws for its purpose."""
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < least:
        raise ValueError(
            f"n_bootstrap must be a whole number of at least {math.ceil(least)} for {purpose}, got {n_bootstrap!r}."
        )


def match_columns(X: Any, names: Sequence[Any] | None, n_features: int, *, name: str = "X_target") -> Any:
    """Return covariates with their columns in the source's order; `name` is what the user calls them.

    DataFrames are matched by label, of whatever type. Without labels the number of columns must agree.
    """
    refuse_arrow(X, name=name)
    own = column_names(X)
    if names is not None and own is not None:
        return X if own == list(names) else _reorder(X, own, list(names), name)
    shape = getattr(X, "shape", np.shape(X))
    if len(shape) == 2 and shape[1] != n_features:
        raise ValueError(
            f"{name} must have the source's {n_features} columns, got {shape[1]}. Keep the columns that both have."
        )
    return X


def _reorder(X: Any, own: list[Any], names: list[Any], name: str) -> pd.DataFrame:
    different = compare_columns(names, own)
    if different is not None:
        raise ValueError(
            f"{name} must have the same columns as the source. "
            f"Not in {_place(name)}: {different[0]}; only in {_place(name)}: {different[1]}. "
            "Keep the columns that both have, or give arrays to match them by position."
        )
    position = {label: j for j, label in enumerate(own)}
    if not len(position) == len(own) == len(names):
        raise ValueError(
            f"{name} has its columns in another order than the source, and some names more than once: give every "
            "column a name of its own."
        )
    return as_pandas(X).iloc[:, [position[label] for label in names]]


def _place(name: str) -> str:
    return "the target" if name == "X_target" else name


def check_matched(X: Any, names: Sequence[Any] | None, n_features: int, *, name: str) -> Any:
    """Return covariates as `check_covariates` does, with their columns in the source's order."""
    return check_covariates(match_columns(X, names, n_features, name=name), name=name)


def check_pair(X_source: Any, X_target: Any) -> tuple[Any, Any, list[Any] | None]:
    """Return the covariates of both domains as `check_covariates` does, matched, and the names of their columns."""
    names = column_names(X_source)
    source = check_covariates(X_source, name="X_source")
    return source, check_matched(X_target, names, source.shape[1], name="X_target"), names


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember the names of a DataFrame in `fit` (`reset`), and refuse a DataFrame with other ones later.

    scikit-learn does so for names; names of other types, such as item numbers, it does not look at.
    """
    names = column_names(X)
    if reset:
        estimator._column_names = names
        return
    fitted = getattr(estimator, "_column_names", None)
    if fitted is None or names is None or fitted == names or hasattr(estimator, "feature_names_in_"):
        return
    different = compare_columns(fitted, names)
    found = f"Lacking: {different[0]}; not seen in fit: {different[1]}" if different else "They come in another order"
    raise ValueError(
        f"X must have the columns that {type(estimator).__name__} was fitted with, in the same order. {found}. "
        "Reorder or rename the columns."
    )


def refuse_repeated_names(X: Any, *, name: str) -> None:
    """Raise where two columns have one name: what is said of a column would not tell which is meant."""
    names = column_names(X)
    repeated = np.flatnonzero(pd.Series(names, dtype=object).duplicated()) if names is not None else np.array([])
    if repeated.size:
        raise ValueError(
            f"{name} has more than one {describe_columns(repeated, names)}: give every column a name of its own."
        )
