"""The estimators and filters in skada's pipelines: domains by `sample_domain`, scorers and selectors of skada.

skada (extra `skada`) keeps the rows of all domains in one table and says by `sample_domain` where each row comes from:
source domains are positive, target domains negative. dams has two tables, `X` and `X_target`. The two classes here
translate:

- `DomainAwareEstimator` around a `ClosedFormRegressor`, `FilteredEstimator` or `TwoWayEstimator`, as the last step;
- `FilterAdapter` around a `MissingnessFilter` or `TwoWayFilter`, as a step before any estimator.

Several source domains are taken as one source and several target domains as one target; where target domains lose at
different rates, fit one model per target. Source rows that are predicted for (`allow_source=True`, as some scorers do)
are predicted for as they are. DataFrames keep their column names and sparse matrices stay sparse, unless another step
or a scorer of skada makes an array of them.

Importing skada turns scikit-learn's metadata routing on, for the whole process. Its pipelines mask the labels of
target rows in the very array that `fit` is given: give a copy if they are still needed.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dams._extras import how_to_install
from dams._sklearn import select_rows
from dams.estimators import MissingnessFilter

try:
    from skada.base import BaseAdapter, DAEstimator
    from skada.utils import check_X_domain, check_X_y_domain, extract_source_indices
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "skada":
        raise
    raise ModuleNotFoundError(
        f"dams.skada needs skada, which is not installed: {how_to_install('skada')} installs it.", name="skada"
    ) from error

__all__ = ["DomainAwareEstimator", "FilterAdapter"]

Array = np.ndarray


class DomainAwareEstimator(DAEstimator):
    """An estimator of dams that finds source and target in one table, by `sample_domain`.

    `fit` calls `estimator.fit(X_source, y_source, X_target=X_target)`; labels of target rows are not looked at. Rows of
    both domains are needed: an estimator that gets only one (behind skada's `SelectSource` or `PerDomain`, say) raises
    an error rather than adapt nothing.

    Parameters
    ----------
    estimator : ClosedFormRegressor, FilteredEstimator or TwoWayEstimator
        Or any other estimator whose `fit` takes `X_target`. It is cloned.

    Attributes
    ----------
    estimator_ : the fitted estimator
    classes_, relative_missingness_
        Those of `estimator_`, where it has them.

    See Also
    --------
    FilterAdapter : The adjustment as a step of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from skada import make_da_pipeline
    >>> from dams import ClosedFormRegressor, apply_missingness
    >>> from dams.skada import DomainAwareEstimator
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.integers(1, 4, size=(4_000, 2)).astype(float)
    >>> y, domain = clean @ [1.0, 2.0], np.repeat([1, -2], 2_000)
    >>> X = apply_missingness(clean, 0.1, random_state=1)
    >>> X[2_000:] = apply_missingness(X[2_000:], [0.5, 0.1], random_state=2)
    >>> pipeline = make_da_pipeline(DomainAwareEstimator(ClosedFormRegressor()))
    >>> labels = np.where(domain > 0, y, np.nan)
    >>> round(pipeline.fit(X, labels, sample_domain=domain).score(X[2_000:], y[2_000:]), 1)
    0.3
    """

    # A scorer that weights rows (skada's ImportanceWeightedScorer) need not be told that the score takes weights.
    __metadata_request__score = {"sample_weight": True}  # noqa: RUF012

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_domain: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit on rows of source and target in one table.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            Covariates of both domains; zero means zero or missing.
        y : array of shape (n,)
            Labels; those of target rows are not looked at.
        sample_domain : array of shape (n,), or None
            Positive for source rows, negative for target rows. None: rows whose label is masked (NaN, or −1 for
            classes) are the target's.
        sample_weight : array of shape (n,), or None
            Weights of the rows, for an estimator that takes them; those of target rows are not looked at.
        groups : array of shape (n,), or None
            Which rows belong together (a patient's).
        """
        _refuse_without_target(self.estimator)
        source = _split(X, y, sample_domain, whose=self)
        options: dict[str, Any] = {}
        if sample_weight is not None:
            options["sample_weight"] = np.asarray(sample_weight)[source]
        if groups is not None:
            options["groups"], options["groups_target"] = (select_rows(groups, rows) for rows in (source, ~source))
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(select_rows(X, source), select_rows(y, source), X_target=select_rows(X, ~source), **options)
        return self

    def predict(self, X: Any, sample_domain: Any = None, *, allow_source: bool = False) -> Array:
        """Predict labels of target rows; source rows raise an error unless they are allowed."""
        return self._call("predict", X, sample_domain, allow_source)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any, sample_domain: Any = None, *, allow_source: bool = False) -> Any:
        """Class probabilities of target rows."""
        return self._call("predict_proba", X, sample_domain, allow_source)

    @available_if(lambda self: hasattr(self.estimator, "predict_log_proba"))
    def predict_log_proba(self, X: Any, sample_domain: Any = None, *, allow_source: bool = False) -> Any:
        """Logarithms of the class probabilities of target rows."""
        return self._call("predict_log_proba", X, sample_domain, allow_source)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any, sample_domain: Any = None, *, allow_source: bool = False) -> Array:
        """Signed distances of target rows from the decision boundary."""
        return self._call("decision_function", X, sample_domain, allow_source)

    def score(
        self, X: Any, y: Any, sample_domain: Any = None, *, sample_weight: Any = None, allow_source: bool = False
    ) -> float:
        """R² of a regressor, accuracy of a classifier."""
        metric = r2_score if get_tags(self).estimator_type == "regressor" else accuracy_score
        predicted = self.predict(X, sample_domain, allow_source=allow_source)
        return float(metric(y, predicted, sample_weight=sample_weight))

    def _call(self, method: str, X: Any, sample_domain: Any, allow_source: bool) -> Any:
        check_is_fitted(self)
        _check_domains(X, sample_domain, allow_source=allow_source)
        return getattr(self.estimator_, method)(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    @property
    def classes_(self) -> Any:
        """Classes of a classifier."""
        return self.estimator_.classes_

    @property
    def relative_missingness_(self) -> Any:
        """The relative missingness of the target."""
        return self.estimator_.relative_missingness_

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


class FilterAdapter(BaseAdapter):
    """Bring the source rows of one table to the target's rates of loss, as a step before any estimator.

    Rows of the target pass as they are, in fitting and predicting. One draw is made per fit: to average several, use
    `DomainAwareEstimator(FilteredEstimator(estimator, n_draws=…))`. With anchors the rows get weights, which the
    estimator must ask for by `set_fit_request(sample_weight=True)`, as with skada's own reweighting.

    Parameters
    ----------
    filter : MissingnessFilter, TwoWayFilter or None
        It is cloned; None is `MissingnessFilter()`.

    Attributes
    ----------
    filter_ : the fitted filter
        With `relative_missingness_`, `rates_`, `filled_` and `weights_`.

    See Also
    --------
    DomainAwareEstimator : The adjusted estimators, which average over draws, and the closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from skada import make_da_pipeline
    >>> from sklearn.linear_model import LinearRegression
    >>> from dams import MissingnessFilter, apply_missingness
    >>> from dams.skada import FilterAdapter
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.integers(1, 4, size=(4_000, 2)).astype(float)
    >>> y, domain = clean @ [1.0, 2.0], np.repeat([1, -2], 2_000)
    >>> X = apply_missingness(clean, 0.1, random_state=1)
    >>> X[2_000:] = apply_missingness(X[2_000:], [0.5, 0.1], random_state=2)
    >>> pipeline = make_da_pipeline(FilterAdapter(MissingnessFilter(random_state=0)), LinearRegression())
    >>> labels = np.where(domain > 0, y, np.nan)
    >>> round(pipeline.fit(X, labels, sample_domain=domain).score(X[2_000:], y[2_000:]), 1)
    0.3
    """

    def __init__(self, filter: Any = None):
        self.filter = filter

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None) -> Self:
        """Estimate the relative missingness; `fit_transform` also returns the rows."""
        self.fit_transform(X, y, sample_domain=sample_domain)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_domain: Any = None) -> tuple[Any, dict[str, Array]]:
        """Return the table with its source rows filtered, and weights of the rows where there are anchors.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            Covariates of both domains; zero means zero or missing.
        y : array of shape (n,)
            Labels; those of target rows are not looked at.
        sample_domain : array of shape (n,), or None
            Positive for source rows, negative for target rows. None: rows whose label is masked are the target's.
        """
        source = _split(X, y, sample_domain, whose=self)
        self.filter_ = MissingnessFilter() if self.filter is None else clone(self.filter)
        there = select_rows(X, ~source)
        rows, _ = self.filter_.fit_resample(select_rows(X, source), select_rows(y, source), X_target=there)
        # Where row i of the input now is: source rows first.
        places = np.argsort(np.concatenate([np.flatnonzero(source), np.flatnonzero(~source)]))
        weights: dict[str, Array] = {}
        if self.filter_.weights_ is not None:
            weights["sample_weight"] = np.concatenate([self.filter_.weights_, np.zeros((~source).sum())])[places]
        return select_rows(_stack(rows, there), places), weights

    def transform(self, X: Any, y: Any = None, *, sample_domain: Any = None, allow_source: bool = False) -> Any:
        """Return the rows as they are: what is predicted for stays as it was recorded."""
        check_is_fitted(self)
        _check_domains(X, sample_domain, allow_source=allow_source)
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "filter_")


def _refuse_without_target(estimator: Any) -> None:
    """Raise where an estimator does not know a target: nothing would be adapted."""
    if "X_target" not in inspect.signature(estimator.fit).parameters:
        raise TypeError(
            f"fit of {type(estimator).__name__} takes no X_target, so that nothing would be adapted. Give "
            f"ClosedFormRegressor(), FilteredEstimator({type(estimator).__name__}(…)) or TwoWayEstimator(…)."
        )


def _split(X: Any, y: Any, sample_domain: Any, *, whose: Any) -> Array:
    """Return which rows are the source's; raise where either domain has none."""
    name = type(whose).__name__
    if y is None:
        raise ValueError(f"{name} needs labels: give y, with any values for the target's rows.")
    # skada's own reading of domains, without the covariates: it would make an array of them.
    check_consistent_length(X, y)
    _, _, domains = check_X_y_domain(np.zeros((len(y), 1)), y, sample_domain)
    check_consistent_length(X, domains)
    source = np.asarray(extract_source_indices(domains))
    for domain, sign, rows in (("source", "positive", source), ("target", "negative", ~source)):
        if not rows.any():
            raise ValueError(
                f"{name} got no {domain} rows ({sign} in sample_domain), so that there is nothing to adapt to or from. "
                "Give the rows of both domains in one table, and no selector of a single domain before this step."
            )
    return source


def _check_domains(X: Any, sample_domain: Any, *, allow_source: bool) -> None:
    """Raise as skada does where source rows are to be predicted for and were not allowed."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    check_X_domain(np.zeros((n_rows, 1)), sample_domain, allow_source=allow_source)


def _stack(above: Any, below: Any) -> Any:
    """Stack two tables of one kind."""
    if isinstance(above, pd.DataFrame):
        return pd.concat([above, below])
    if sparse.issparse(above):
        return sparse.vstack([above, below], format="csr")
    return np.concatenate([above, np.asarray(below)])
