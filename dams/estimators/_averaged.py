"""One model per draw of the training rows, their predictions averaged: what the two wrappers of estimators share."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from dams._columns import resolve_columns
from dams._sklearn import HasMethods, Interval, fit_context
from dams._validation import refuse_text_labels, warn_user
from dams.estimators._base import (
    NOT_GIVEN,
    label_columns,
    names_of,
    read_rows,
    read_target,
    share_columns,
    target_or_warn,
    warn_if_constant,
)
from dams.estimators._resampler import Resampler
from dams.estimators._safeguard import adjusting_helps, recording_differs
from dams.estimators.wide import WIDE

Array = np.ndarray

# With the same law of anchors in both domains, weights cost no more than so much of the source's rows.
SAME_POPULATION = 0.98


def _base_has(method: str) -> Any:
    """Offer `method` only where the base estimator has it."""

    def check(self: AveragedEstimator) -> bool:
        getattr(self.estimators_[0] if hasattr(self, "estimators_") else self.estimator, method)
        return True

    return available_if(check)


class AveragedEstimator(MetaEstimatorMixin, BaseEstimator, ABC):
    """Clones of a base estimator, each fitted on one draw of the adjusted source rows.

    Draws are never stacked: a base estimator that splits its rows (early stopping, a search, calibration) would have
    copies of one row on both sides. Regressors' predictions are averaged; of classifiers the probabilities, else the
    decision functions, and where there is neither the majority decides. A subclass gives `_make_filter`.
    """

    # The weights are the base estimator's affair; without this, routing would ask for a request of our own.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Resampler._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"])],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "safeguard": ["boolean"],
    }

    estimator: Any
    n_draws: int
    safeguard: bool
    n_jobs: int | None

    @abstractmethod
    def _make_filter(self) -> Resampler:
        """Return the filter that adjusts the rows."""

    # The base estimator is cloned and validates itself.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        X_target: Any = NOT_GIVEN,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        groups_target: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit on labelled source rows and unlabelled target rows.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_s, d)
            Source covariates; zero means zero or missing.
        y : array of shape (n_s,) or (n_s, k)
            Source labels.
        X_target : like X, of shape (n_t, d), or None
            Target covariates, matched to X by column label if both are DataFrames. None means no shift.
        sample_weight : array of shape (n_s,)
            Weights of the source rows, for the base estimator alone; r is estimated without them. Those that anchors
            give are multiplied with them.
        groups, groups_target : array of shape (n_s,) and (n_t,)
            Which rows belong together (a patient's), for the interval of r.
        **fit_params
            For the base estimator's `fit`; with metadata routing enabled, what it requests, `groups` among it.

        Returns
        -------
        The fitted estimator itself.
        """
        regresses = get_tags(self.estimator).estimator_type == "regressor"
        if regresses:
            refuse_text_labels(y)
        X_target = target_or_warn(X_target)
        checked, labels = read_rows(self, X, y, multi_output=True, ensure_min_samples=2)
        if regresses:
            warn_if_constant(np.asarray(labels).reshape(len(labels), -1))
        self._several_labels = np.ndim(labels) == 2 and labels.shape[1] > 1
        for_base = self._for_base(sample_weight, groups, fit_params)
        self.filter_ = self._make_filter()
        share_columns(self.filter_, self)
        draws = self.filter_._draws(
            X, checked, labels, X_target, self.n_draws, groups=groups, groups_target=groups_target
        )
        self.relative_missingness_ = self.filter_.relative_missingness_
        changed = self.filter_.rates_.any() or self.filter_.filled_.any()
        adjusted = changed and self._trusts(checked, labels, X_target, draws, (groups, groups_target))
        self.choice_ = "adjusted" if adjusted else "source"
        if changed and not adjusted:
            draws = [X if hasattr(X, "columns") else checked]
        for_base = self._with_weights(for_base, self.filter_.weights_)
        self.estimators_ = list(
            Parallel(n_jobs=self.n_jobs)(delayed(_fit)(clone(self.estimator), rows, labels, for_base) for rows in draws)
        )
        return self

    def _trusts(self, X: Any, labels: Array, X_target: Any, draws: list[Any], groups: tuple[Any, Any]) -> bool:
        """Whether the adjusted rows are used; a warning says where they are not although rates differ."""
        relative, d = self.relative_missingness_, X.shape[1]
        if not self.safeguard or relative is None or relative.anchored is not None:
            return True
        target = read_target(self, X, X_target)
        if not recording_differs(relative, X, target, groups):
            return False
        if d > WIDE:
            return True
        always = resolve_columns(self.filter_.always_recorded, d, names_of(self), parameter="always_recorded")
        helps = adjusting_helps(
            X,
            label_columns(np.asarray(labels)),
            target,
            [read_rows(self, draw, reset=False) for draw in draws],
            always=always,
            doubtful=not relative.is_proper and not self.filter_.filled_.any(),
            groups=groups,
        )
        if not helps:
            warn_user(
                "The model is fitted on the source rows as they are: a linear predictor is estimated to be no better "
                "in the target if fitted on the adjusted ones. Use ClosedFormRegressor for a linear model, name "
                "columns that are lost together in column_groups, or set safeguard=False to adjust all the same."
            )
        return helps

    def _for_base(self, sample_weight: Any, groups: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return what the base estimator's `fit` is given besides rows and labels."""
        if get_config()["enable_metadata_routing"]:
            given = {"sample_weight": sample_weight, "groups": groups}
            requested = fit_params | {name: value for name, value in given.items() if value is not None}
            return dict(process_routing(self, "fit", **requested).estimator.fit)
        if sample_weight is None:
            return fit_params
        name = _weights_name(self.estimator)
        if name is None:
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight: leave it out, or choose a base estimator "
                "that does."
            )
        return {**fit_params, name: sample_weight}

    def _with_weights(self, for_base: dict[str, Any], weights: Array | None) -> dict[str, Any]:
        """Return what the base estimator is given, with the weights that anchors give the rows."""
        if weights is None:
            return for_base
        name = _weights_name(self.estimator)
        if name is not None:
            given = for_base.get(name)
            return {**for_base, name: weights if given is None else weights * np.asarray(given)}
        assert self.relative_missingness_ is not None
        worth = self.relative_missingness_.effective_sample_size
        if worth < SAME_POPULATION * len(weights):
            warn_user(
                f"{type(self.estimator).__name__} takes no sample_weight, and the target's law of the anchors differs "
                f"from the source's ({len(weights):,} rows are worth {worth:,.0f}): it is fitted for the source's "
                "population. Choose a base estimator that takes weights."
            )
        return for_base

    def predict(self, X: Any) -> Array:
        """Return labels of rows observed in the target domain, (n,) or (n, k): averaged, or as most draws decide."""
        members = self._members(X)
        if len(members) == 1:
            return members[0].predict(X)
        if not hasattr(members[0], "classes_"):
            return _mean([member.predict(X) for member in members])
        if any(_has_threshold(member) for member in members):
            return _majority([member.predict(X) for member in members])
        if hasattr(members[0], "predict_proba"):
            return _most_probable(self.predict_proba(X), self.classes_, several=self._several_labels)
        if hasattr(members[0], "decision_function") and not isinstance(self.classes_, list):
            decision = self.decision_function(X)
            if decision.ndim == 1:
                return self.classes_[(decision > 0).astype(int)]
            # Of one class against another there may be as many columns as classes, which say something else.
            if decision.shape[1] == len(self.classes_) and not _compares_pairs(members[0]):
                return self.classes_[decision.argmax(axis=1)]
        return _majority([member.predict(X) for member in members])

    @_base_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities, (n, classes), means over the draws; of several labels a list of such."""
        every = [member.predict_proba(X) for member in self._members(X)]
        # Several labels: a list with one array per label.
        return [_mean(parts) for parts in zip(*every, strict=True)] if isinstance(every[0], list) else _mean(every)

    @_base_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Return logarithms of the class probabilities, in the form of `predict_proba`."""
        members = self._members(X)
        if len(members) == 1:
            return members[0].predict_log_proba(X)
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in probability] if isinstance(probability, list) else np.log(probability)

    @_base_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return signed distances from the decision boundary, (n,) or (n, classes): means over the draws."""
        return _mean([member.decision_function(X) for member in self._members(X)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of a regressor, accuracy of a classifier; `sklearn.metrics` has scorers of other kinds."""
        metric = r2_score if get_tags(self.estimator).estimator_type == "regressor" else accuracy_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def _members(self, X: Any) -> list[Any]:
        check_is_fitted(self)
        read_rows(self, X, reset=False)
        return self.estimators_

    @property
    def classes_(self) -> Any:
        """Classes of a classifier; one array per label where there are several."""
        return self.estimators_[0].classes_

    @property
    def coef_(self) -> Any:
        """Coefficients of linear models, the means over the draws."""
        return _mean([member.coef_ for member in self.estimators_])

    @property
    def intercept_(self) -> Any:
        """Intercepts of linear models, the means over the draws."""
        return _mean([member.intercept_ for member in self.estimators_])

    @property
    def feature_importances_(self) -> Array:
        """Importances of the columns, the means over the draws."""
        return _mean([member.feature_importances_ for member in self.estimators_])

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router: what the base estimator's `fit` requests goes there; X_target and groups are our own."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self.estimator)
        tags.estimator_type = base.estimator_type
        tags.regressor_tags, tags.classifier_tags = base.regressor_tags, base.classifier_tags
        tags.target_tags = base.target_tags
        tags.input_tags.sparse = base.input_tags.sparse
        return tags


def _fit(estimator: Any, rows: Any, labels: Array, params: dict[str, Any]) -> Any:
    return estimator.fit(rows, labels, **params)


def _weights_name(estimator: Any) -> str | None:
    """Name under which `fit` takes weights of rows; None where it takes none.

    A pipeline has them for its last step, and a search hands on what it is given to what it searches.
    """
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        step, last = estimator.steps[-1]
        inner = _weights_name(last)
        return None if inner is None else f"{step}__{inner}"
    parameters = inspect.signature(estimator.fit).parameters
    if "sample_weight" in parameters:
        return "sample_weight"
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    return _weights_name(estimator.estimator) if hasattr(estimator, "estimator") else "sample_weight"


def _mean(parts: Sequence[Any]) -> Any:
    """Mean of arrays or sparse matrices; of a single one itself, to the bit."""
    return parts[0] if len(parts) == 1 else sum(parts[1:], parts[0]) / len(parts)


def _has_threshold(member: Any) -> bool:
    """Whether a classifier decides by a threshold of its own, which averaged probabilities would not know of."""
    return hasattr(member, "best_threshold_") or hasattr(member, "threshold")


def _compares_pairs(member: Any) -> bool:
    return getattr(member, "decision_function_shape", None) == "ovo"


def _most_probable(probability: Any, classes: Any, *, several: bool) -> Array:
    """The class of the largest probability; of several labels that are 0 or 1, given in one array, those above 1/2."""
    if isinstance(probability, list):
        return np.column_stack([c[p.argmax(axis=1)] for p, c in zip(probability, classes, strict=True)])
    return (probability > 0.5).astype(int) if several else classes[probability.argmax(axis=1)]


def _majority(predictions: list[Array]) -> Array:
    """The label that most of the models give, of several the one that sorts first; column by column."""
    stacked = np.stack(predictions)
    if stacked.ndim == 3:
        return np.column_stack([_majority(list(stacked[:, :, k])) for k in range(stacked.shape[2])])
    labels, codes = np.unique(stacked, return_inverse=True)
    codes = codes.reshape(stacked.shape)
    votes = np.stack([(codes == code).sum(axis=0) for code in range(len(labels))])
    return labels[votes.argmax(axis=0)]
