"""What the adjusted estimators share: how rows are read, how source and target are compared."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dams.relative import RelativeMissingness, count_nonzero, from_counts
from dams.validation import check_covariates, check_labels, match_columns, refuse_unusable


def read_rows(estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any) -> Any:
    """Return X as float array or CSR matrix, and y if given, by scikit-learn's `validate_data`; and what it leaves out.

    That are messages about text, NaN and infinite values that name columns and say what to do, and a look at column
    labels that are not names.
    """
    refuse_unusable(X, name="X")
    check_labels(estimator, X, reset=reset)
    return validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, reset=reset, **options)


def compare_with_target(estimator: BaseEstimator, X: Any, X_target: Any) -> tuple[Any, RelativeMissingness]:
    """Check the target covariates against the validated source X and estimate the relative missingness.

    Returns
    -------
    The target covariates as float array or CSR matrix in the source's column order, and the estimate.
    """
    labels = list(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else estimator._column_labels
    target = check_covariates(match_columns(X_target, labels, X.shape[1]), name="X_target")
    counts = count_nonzero(X), count_nonzero(target)
    if all((count == rows.shape[0]).all() for count, rows in zip(counts, (X, target), strict=True)):
        warnings.warn(
            "Neither source nor target holds a zero, which marks a missing value here: there is nothing to adjust. If "
            "the columns were centred or imputed before, set what is missing to 0 afterwards.",
            UserWarning,
            stacklevel=3,
        )
    return target, from_counts(*counts, X.shape[0], target.shape[0], feature_names=labels)


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
        warnings.warn(
            f"The label is constant ({labels[0, constant[0]]:g}): there is nothing to learn from the covariates. "
            "Check that y holds the labels you meant.",
            UserWarning,
            stacklevel=3,
        )
