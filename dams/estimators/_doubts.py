"""Warnings of data that look as if a zero did not mean "zero or lost". Every one names columns and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dams._validation import describe_columns, warn_user
from dams.relative import RelativeMissingness, count_nonzero

Array = np.ndarray

# The largest code of a category; longer runs of whole numbers are rather counts.
MOST_CODES = 15
# Share of a heap, rows that all have one value, from which on a column looks centred or imputed by a constant …
HEAP = 0.05
# … if the heap is so many times as large as the next, among so many different values.
STANDS_OUT, MANY_VALUES = 4, 20
# Rows, evenly spread, that show a heap.
ENOUGH = 10_000
# Share of zeros in the target from which on a source without any is remarkable, unless it is so by luck.
REMARKABLE, LUCK = 0.05, 1e-3
# A column with a mean this small beside its spread has been centred.
CENTRED = 1e-8


def warn_of_codes(X: Any, names: Sequence[Any] | None, always: Array) -> None:
    """Warn of categories coded 0, 1, …, k, of which code 0 would count as lost.

    Only columns of integers or of categories are judged, never floats, which most tables hold: they must have all of
    0 … k, k from 2 to 15. Integers must also be each at least a third as frequent as if all were equally so, and not
    ever rarer from 0 on: counts thin out, codes do not. Codes 1 … k with 0 for what is lost look the same.
    """
    columns = [j for j in _candidates(X) if not always[j] and is_coded(_column(X, j))]
    if columns:
        warn_user(describe_codes(columns, names))


def describe_codes(columns: Sequence[int], names: Sequence[Any] | None) -> str:
    """Return the doubt about columns that look like codes of categories."""
    return (
        f"The whole numbers from 0 on in {describe_columns(np.array(columns), names)} look like codes of "
        "categories, of which code 0 counts as lost: one-hot encode them (pandas.get_dummies), or ignore this if "
        "they are counts, or if 0 does stand for what is lost."
    )


def _candidates(X: Any) -> list[int]:
    if isinstance(X, pd.DataFrame):
        kinds = [isinstance(t, pd.CategoricalDtype) or pd.api.types.is_integer_dtype(t) for t in X.dtypes]
        return np.flatnonzero(kinds).tolist()
    return list(range(X.shape[1])) if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu" else []


def _column(X: Any, j: int) -> Any:
    return X.iloc[:, j] if isinstance(X, pd.DataFrame) else X[:, j]


def is_coded(column: Any) -> bool:
    """Return whether a column of whole numbers, or of categories, looks like codes."""
    numbers = np.asarray(column, dtype=float)
    if numbers.min(initial=0) < 0 or numbers.max(initial=0) > MOST_CODES:
        return False
    values, counts = np.unique(numbers, return_counts=True)
    if not 3 <= len(values) <= MOST_CODES + 1 or (values != np.arange(len(values))).any():
        return False
    if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        return True
    common = counts.min() * 3 * len(counts) >= counts.sum()
    return bool(common and (np.diff(counts) > 0).any())


def warn_of_marks(X: Any, target: Any, names: Sequence[Any] | None, always: Array) -> None:
    """Warn of columns in which what was lost seems to have been turned into something else than zero.

    In one place a column without zeros has a heap, a value that stands out by its frequency: former zeros that were
    centred away or imputed by a constant. Or the source has no zero at all, and the target many: single columns that
    only one place loses are nothing strange.
    """
    counts = [(count_nonzero(table), table.shape[0]) for table in (X, target)]
    full = [(count == n) & ~always for count, n in counts]
    if all((count == n).all() for count, n in counts):
        return  # `warn_without_zeros` has said so
    heaped = np.zeros_like(always)
    for table, place, complete in zip((X, target), ("source", "target"), full, strict=True):
        if sparse.issparse(table) and complete.any():
            table = table.tocsc()
        heaps = {j: value for j in np.flatnonzero(complete).tolist() for value in _heap(_values(table, j))}
        heaped[list(heaps)] = True
        if heaps:
            warn_user(
                f"The {place} holds no zero in {describe_columns(np.array(list(heaps)), names)}, but many times the "
                f"value {next(iter(heaps.values())):.4g}: was it centred, or imputed by a constant? Set what is "
                "missing to 0 afterwards, or name columns that are never lost in always_recorded."
            )
    lost = 1 - counts[1][0] / counts[1][1]
    lossy = (lost >= REMARKABLE) & ((1 - lost) ** X.shape[0] < LUCK) & ~always
    columns = np.flatnonzero(lossy & ~heaped)
    if columns.size and (full[0] | always).all():
        warn_user(
            f"The source holds no zero in {describe_columns(columns, names)}, where {100 * lost[columns].max():.0f} % "
            "of the target's rows do: was the source imputed or centred? Set what is missing to 0 in both, or ignore "
            "this if the source records everything."
        )


def _values(table: Any, j: int) -> Array:
    return table[:, [j]].toarray().ravel() if sparse.issparse(table) else table[:, j]


def _heap(values: Array) -> list[float]:
    """The value that stands out by its frequency, if there is one."""
    # Sorting all rows of a wide table would take longer than some fits.
    shown = values[:: max(1, len(values) // ENOUGH)]
    distinct, counts = np.unique(shown, return_counts=True)
    if len(distinct) < 2 or counts.max() < HEAP * len(shown):
        return []
    centred = abs(values.mean()) < CENTRED * values.std()
    second = np.sort(counts)[-2]
    stands_out = len(distinct) >= MANY_VALUES and counts.max() >= STANDS_OUT * second
    return [float(distinct[counts.argmax()])] if centred or stands_out else []


def warn_if_improper(relative: RelativeMissingness) -> None:
    """Warn where the target records better than the source, which deleting source values cannot reproduce."""
    if relative.is_proper:
        return
    columns = np.flatnonzero(relative.improper)
    columns = columns[np.argsort(relative.r[columns], kind="stable")]
    warn_user(
        f"The target records {describe_columns(columns, relative.feature_names)} better than the source (r = "
        f"{relative.r[columns[0]]:.2f}), which deleting source values cannot reproduce, and may do worse than no "
        "adjustment: use TwoWayEstimator, or ClosedFormRegressor for a linear model."
    )
