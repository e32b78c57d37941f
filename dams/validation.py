"""Checks of what users hand in. Every message says what was expected, what came and the way out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse


def describe_columns(columns: np.ndarray, names: Sequence[str] | None, *, most: int = 5) -> str:
    """Name columns for a message: by name where there are names, by position otherwise."""
    shown = [repr(str(names[j])) if names is not None else str(j) for j in columns[:most]]
    rest = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(shown)}{rest}"


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a DataFrame whose labels are all strings, else None."""
    if isinstance(X, pd.DataFrame) and all(isinstance(c, str) for c in X.columns):
        return list(X.columns)
    return None


def refuse_nan(X: Any, *, name: str) -> None:
    """Raise where X holds NaN: here a missing value is a zero, and which of the two a user meant can't be guessed."""
    values = X.tocoo().data if sparse.issparse(X) else X
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
    values = np.asarray(X)
    infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
    if infinite.any():
        where = describe_columns(np.flatnonzero(infinite.any(axis=0)), column_names(X))
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


def match_columns(X_target: Any, names: Sequence[str] | None, n_features: int) -> Any:
    """Return the target covariates with their columns in the source's order.

    DataFrames are matched by name. Without names the number of columns must agree.
    """
    target_names = column_names(X_target)
    if names is not None and target_names is not None:
        lacking = [c for c in names if c not in set(target_names)]
        surplus = [c for c in target_names if c not in set(names)]
        if lacking or surplus:
            raise ValueError(
                "X_target must have the same columns as the source. "
                f"Not in the target: {lacking or 'none'}; only in the target: {surplus or 'none'}. "
                "Keep the columns that both have."
            )
        return X_target if target_names == list(names) else X_target[list(names)]
    shape = getattr(X_target, "shape", np.shape(X_target))
    if len(shape) == 2 and shape[1] != n_features:
        raise ValueError(
            f"X_target must have the source's {n_features} columns, got {shape[1]}. Keep the columns that both have."
        )
    return X_target
