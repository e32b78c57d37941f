"""Functions that the adjusted estimators share: reading rows, comparing source and target, streams of draws."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dams._columns import resolve_columns
from dams._random import as_generator
from dams._validation import (
    check_columns,
    check_matched,
    describe_columns,
    refuse_repeated_names,
    refuse_unusable,
    warn_user,
)
from dams.anchors import with_anchors
from dams.estimators._doubts import warn_of_codes, warn_of_marks
from dams.relative import RelativeMissingness, count_nonzero, from_tables

# Of 40 closed forms with 20 source values of a feature none was worse than the label mean, with 10 three, with 5 five.
FEW_VALUES = 20
# A rare feature that is somewhat less rare in the target decides few predictions; wide tables are full of such.
FAR_MORE = 10


class _NotGiven(Enum):
    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "<not given>"


# Default of X_target: leaving it out is mostly forgetting it, and None says on purpose that there is no shift.
NOT_GIVEN = _NotGiven.NOT_GIVEN


def target_or_warn(X_target: Any) -> Any:
    """Return the target's rows, or None where there are none; warn where they were left out rather than denied."""
    if X_target is not NOT_GIVEN:
        return X_target
    warn_user(
        "Nothing is adapted: give fit the target's rows as X_target, or X_target=None to say that there is no shift. "
        "What calibrates or searches around this estimator (CalibratedClassifierCV, GridSearchCV) works on source rows "
        "and undoes the adaptation: put it inside, as the base estimator."
    )
    return None


def read_rows(estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any) -> Any:
    """Return X as float array or CSR matrix, and y if given, by scikit-learn's `validate_data`; and what it leaves out.

    These are messages about text, NaN and infinite values that name columns and say what to do, a look at column
    labels that are not names, and in `fit` (`reset`) at columns that look like codes of categories.
    """
    refuse_unusable(X, name="X")
    if reset:
        refuse_repeated_names(X, name="X")
    check_columns(estimator, X, reset=reset)
    checked = validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, reset=reset, **options)
    if reset:
        names, d = names_of(estimator), estimator.n_features_in_
        always, anchors = (getattr(estimator, name, None) for name in ("always_recorded", "anchors"))
        known = with_anchors(always, anchors, d, names)
        warn_of_codes(X, names, resolve_columns(known, d, names, parameter="always_recorded"))
    return checked


def names_of(estimator: BaseEstimator) -> list[Any] | None:
    """Names of the columns that an estimator was fitted with, of whatever type."""
    return list(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else estimator._column_names


def share_columns(estimator: BaseEstimator, other: BaseEstimator) -> None:
    """Give `estimator` what `other` knows of the columns: the same rows need not be read twice."""
    for name in ("n_features_in_", "feature_names_in_", "_column_names"):
        if hasattr(other, name):
            setattr(estimator, name, getattr(other, name))


def read_target(estimator: BaseEstimator, X: Any, X_target: Any) -> Any:
    """Return the target covariates as float array or CSR matrix in the column order of the validated source X."""
    return check_matched(X_target, names_of(estimator), X.shape[1], name="X_target")


def compare_with_target(
    estimator: BaseEstimator,
    X: Any,
    X_target: Any,
    *,
    always_recorded: Any = None,
    anchors: Any = None,
    **known: Any,
) -> tuple[Any, RelativeMissingness]:
    """Check the target covariates against the validated source X and estimate the relative missingness.

    The keywords are those of `estimate_relative_missingness`.

    Returns
    -------
    The target covariates as float array or CSR matrix in the source's column order, and the estimate.
    """
    names = names_of(estimator)
    target = read_target(estimator, X, X_target)
    counts = count_nonzero(X), count_nonzero(target)
    known |= {"always_recorded": always_recorded, "anchors": anchors, "for_fit": True}
    relative = from_tables(X, target, counts=counts, feature_names=names, **known)
    recorded = with_anchors(always_recorded, anchors, X.shape[1], names)
    always = resolve_columns(recorded, X.shape[1], names, parameter="always_recorded")
    warn_of_marks(X, target, names, always)
    warn_of_few_values(counts[0], relative, names, always)
    return target, relative


def warn_of_few_values(count_source: np.ndarray, relative: RelativeMissingness, names: Any, known: np.ndarray) -> None:
    """Warn of columns, other than those known to be always recorded, that the source hardly has and the target has."""
    few = np.flatnonzero((count_source < FEW_VALUES) & (relative.q_target >= FAR_MORE * relative.q_source) & ~known)
    if few.size:
        warn_user(
            f"The source has a value in {count_source[few].min()} of {relative.n_source} rows of "
            f"{describe_columns(few, names)}, which the target has at least {FAR_MORE} times as often: what is "
            "learned from so few rows decides many predictions, and may be wrong by any factor. Drop what the source "
            "hardly records from both."
        )


def draw_streams(random_state: Any, n_draws: int) -> tuple[np.random.Generator, list[np.random.Generator]]:
    """Return a generator for what is learned, and one per draw: draw k is the same however many there are.

    An integer gives streams that `apply_missingness` does not use. Data corrupted with the seed that the filter is
    given would otherwise meet the same draws again, and the filter would delete what is already lost.
    """
    if isinstance(random_state, int | np.integer):
        random_state = np.random.SeedSequence(int(random_state), spawn_key=(1,))
    first = as_generator(random_state)
    learning, *others = first.spawn(n_draws)
    return learning, [first, *others]


def warn_if_constant(labels: np.ndarray) -> None:
    """Warn of label columns that never vary: fitting works, but there is nothing to learn."""
    constant = np.flatnonzero((labels == labels[:1]).all(axis=0))
    if constant.size:
        warn_user(
            f"The label is constant ({labels[0, constant[0]]:g}): there is nothing to learn from the covariates. "
            "Check that y holds the labels you meant."
        )


def label_columns(y: np.ndarray) -> np.ndarray:
    """Labels as standardised columns: numbers as they are, classes that are no numbers one column each."""
    columns = y.reshape(len(y), -1)
    if columns.dtype.kind == "O":
        with suppress(ValueError, TypeError):
            columns = columns.astype(float)
    if columns.dtype.kind not in "iuf":
        columns = np.hstack([column[:, None] == np.unique(column) for column in columns.T])
    columns = columns.astype(float)
    spread = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
