"""The non-parametric adjustment (algorithm 1): delete source values at the relative missingness, then fit anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    _fit_context,
    clone,
)
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dams._validation import column_names, refuse_text_labels
from dams.estimators._base import compare_with_target, filter_generator, read_rows, warn_if_constant
from dams.missingness import delete_at_random
from dams.relative import RelativeMissingness


class MissingnessFilter(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Delete source values until the source loses as much as the target.

    Every value of column j is zeroed with probability max(r̂_j, 0). Where the target loses at least as much as the
    source in every column, the result has the target's law; a column that the target records better (r_j < 0) is left
    as it is, and the adjustment is improper.

    It is meant for training rows alone, so not as a step of a pipeline that also predicts: `FilteredRegressor` filters
    while fitting only.

    Parameters
    ----------
    random_state : int, Generator or None
        With an integer every `transform` draws the same mask.

    Attributes
    ----------
    relative_missingness_ : RelativeMissingness or None
        The estimate; None if fitted without target data.
    rates_ : array of shape (d,)
        max(r̂, 0).

    Examples
    --------
    >>> import numpy as np
    >>> from dams import MissingnessFilter, apply_missingness
    >>> X = np.ones((10_000, 1))
    >>> target = apply_missingness(X, 0.7, random_state=0)
    >>> filtered = MissingnessFilter(random_state=1).fit(X, X_target=target).transform(X)
    >>> round(float(filtered.mean()), 1)
    0.3
    """

    _parameter_constraints: dict[str, list[Any]] = {"random_state": ["random_state", np.random.Generator]}  # noqa: RUF012

    def __init__(self, random_state: Any = None):
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, X_target: Any = None) -> MissingnessFilter:
        """Estimate the rates from source rows X and target rows X_target (None: no shift); y is ignored."""
        if X_target is None:
            _refuse_target_as_labels(X, y)
        X = read_rows(self, X)
        self.relative_missingness_: RelativeMissingness | None = None
        self.rates_ = np.zeros(X.shape[1])
        if X_target is not None:
            _, self.relative_missingness_ = compare_with_target(self, X, X_target)
            self.rates_ = self.relative_missingness_.filter_rates
        return self

    def transform(self, X: Any) -> Any:
        """Return a filtered copy of X."""
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        return delete_at_random(X, self.rates_, filter_generator(self.random_state))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _refuse_target_as_labels(X: Any, y: Any) -> None:
    """Raise where y is a table like X: it would be ignored, and the filter would do nothing."""
    widths = [getattr(table, "shape", (0,))[1:] for table in (X, y)]
    if widths[1] == () or widths[0] != widths[1]:
        return
    names = [column_names(table) for table in (X, y)]
    # Names of columns tell, where both tables have them; otherwise a single column may well be labels of rows.
    is_target = widths[1] != (1,) if None in names else names[0] == names[1]
    if is_target:
        raise ValueError(
            "y is a table with as many columns as X, and y is ignored here. Give the target's rows by name: "
            "fit(X_source, X_target=X_target)."
        )


def _base_has(method: str) -> Any:
    """Offer `method` only where the base estimator has it."""

    def check(self: FilteredRegressor) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return available_if(check)


class FilteredRegressor(MetaEstimatorMixin, BaseEstimator):
    """Fit any estimator on source data filtered to the target's missingness rates (algorithm 1).

    Proper (training rows distributed as labelled target rows) where the target loses at least as much as the source in
    every column: `relative_missingness_.is_proper`.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Fitted on the filtered source rows; DataFrames reach it as DataFrames.
    random_state : int, Generator or None
        Seed of the filter's mask. The base estimator keeps its own.

    Attributes
    ----------
    estimator_ : the fitted base estimator
    filter_ : MissingnessFilter
    relative_missingness_ : RelativeMissingness or None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from dams import FilteredRegressor, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(1, 4, size=(4_000, 2)).astype(float)
    >>> y = X @ [1.0, 2.0]
    >>> target = apply_missingness(X[2_000:], [0.5, 0.1], random_state=1)
    >>> model = FilteredRegressor(DecisionTreeRegressor(), random_state=0)
    >>> model.fit(X[:2_000], y[:2_000], X_target=target).score(target, y[2_000:]) > 0.7
    True

    References
    ----------
    Zhou, Balakrishnan and Lipton, Domain Adaptation under Missingness Shift, AISTATS 2023, algorithm 1.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"])],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, estimator: Any, *, random_state: Any = None):
        self.estimator = estimator
        self.random_state = random_state

    # The base estimator is cloned and validates itself.
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, X_target: Any = None) -> FilteredRegressor:
        """Fit on labelled source rows and unlabelled target rows; see `ClosedFormRegressor.fit`."""
        regresses = get_tags(self.estimator).estimator_type == "regressor"
        if regresses:
            refuse_text_labels(y)
        checked, labels = read_rows(self, X, y, multi_output=True, ensure_min_samples=2)
        if regresses:
            warn_if_constant(np.asarray(labels).reshape(len(labels), -1))
        rows, labels = self._adjust(X, checked, labels, X_target)
        self.relative_missingness_ = self.filter_.relative_missingness_
        self.estimator_ = clone(self.estimator).fit(rows, labels)
        return self

    def _adjust(self, X: Any, checked: Any, labels: Any, X_target: Any) -> tuple[Any, Any]:
        """Rows and labels to fit the base estimator on; sets `filter_`. `checked` is X as a matrix of floats."""
        self.filter_: Any = MissingnessFilter(self.random_state).fit(X, X_target=X_target)
        # A DataFrame stays one, so that the base estimator may select columns by name.
        rows = X if hasattr(X, "columns") else checked
        return delete_at_random(rows, self.filter_.rates_, filter_generator(self.random_state)), labels

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of rows observed in the target domain."""
        return self._base(X).predict(X)

    @_base_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, where the base estimator gives them."""
        return self._base(X).predict_proba(X)

    @_base_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of class probabilities, where the base estimator gives them."""
        return self._base(X).predict_log_proba(X)

    @_base_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances from the decision boundary, where the base estimator gives them."""
        return self._base(X).decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the base estimator: R² of a regressor, accuracy of a classifier."""
        # A search over parameters, as base estimator, takes no weights at all.
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._base(X).score(X, y, **weights)

    def _base(self, X: Any) -> Any:
        check_is_fitted(self)
        read_rows(self, X, reset=False)
        return self.estimator_

    @property
    def classes_(self) -> np.ndarray:
        """Classes of a classifier."""
        return self.estimator_.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self.estimator)
        tags.estimator_type = base.estimator_type
        tags.regressor_tags, tags.classifier_tags = base.regressor_tags, base.classifier_tags
        tags.target_tags = base.target_tags
        tags.input_tags.sparse = base.input_tags.sparse
        return tags
