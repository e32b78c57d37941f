"""What the adjusted estimators share: how rows are read, how source and target are compared."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dams._validation import (
    check_columns,
    check_covariates,
    describe_columns,
    match_columns,
    refuse_unusable,
    warn_user,
)
from dams.relative import RelativeMissingness, count_nonzero, from_tables

# Of 40 closed forms with 20 source values of a feature none was worse than the label mean, with 10 three, with 5 five.
FEW_VALUES = 20
# A rare feature that is somewhat less rare in the target decides few predictions; wide tables are full of such.
FAR_MORE = 10


def read_rows(estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any) -> Any:
    """Return X as float array or CSR matrix, and y if given, by scikit-learn's `validate_data`; and what it leaves out.

    That are messages about text, NaN and infinite values that name columns and say what to do, and a look at column
    labels that are not names.
    """
    refuse_unusable(X, name="X")
    check_columns(estimator, X, reset=reset)
    return validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, reset=reset, **options)


def compare_with_target(
    estimator: BaseEstimator,
    X: Any,
    X_target: Any,
    *,
    always_recorded: Any = None,
    column_groups: Any = None,
    groups: Any = None,
    groups_target: Any = None,
) -> tuple[Any, RelativeMissingness]:
    """Check the target covariates against the validated source X and estimate the relative missingness.

    The keywords are those of `estimate_relative_missingness`.

    Returns
    -------
    The target covariates as float array or CSR matrix in the source's column order, and the estimate.
    """
    names = list(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else estimator._column_names
    target = check_covariates(match_columns(X_target, names, X.shape[1]), name="X_target")
    counts = count_nonzero(X), count_nonzero(target)
    relative = from_tables(
        X,
        target,
        counts=counts,
        feature_names=names,
        always_recorded=always_recorded,
        column_groups=column_groups,
        groups=groups,
        groups_target=groups_target,
    )
    few = np.flatnonzero((counts[0] < FEW_VALUES) & (relative.q_target >= FAR_MORE * relative.q_source))
    if few.size:
        warn_user(
            f"The source has a value in {counts[0][few].min()} of {X.shape[0]} rows of "
            f"{describe_columns(few, names)}, which the target has at least {FAR_MORE} times as often: what is "
            "learned from so few rows decides many predictions, and may be wrong by any factor. Drop what the source "
            "hardly records from both."
        )
    return target, relative


def filter_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a filter's mask; an integer gives a stream that `apply_missingness` does not use.

    Data corrupted with the seed that the filter is given would otherwise meet the same draws again, and the filter
    would delete what is already lost.
    """
    if isinstance(random_state, (int, np.integer)):
        random_state = np.random.SeedSequence(int(random_state), spawn_key=(1,))
    return np.random.default_rng(random_state)


def warn_if_constant(labels: np.ndarray) -> None:
    """Warn of label columns that never vary: fitting works, but there is nothing to learn."""
    constant = np.flatnonzero((labels == labels[:1]).all(axis=0))
    if constant.size:
        warn_user(
            f"The label is constant ({labels[0, constant[0]]:g}): there is nothing to learn from the covariates. "
            "Check that y holds the labels you meant."
        )
