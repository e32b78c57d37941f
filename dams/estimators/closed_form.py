"""The closed-form adjustment (algorithm 2): the optimal linear target predictor from moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dams._columns import known_columns
from dams._rows import resolve_row_groups
from dams._sklearn import StrOptions, fit_context
from dams._threads import few_threads
from dams._validation import refuse_text_labels
from dams.anchors import AnchoredRates, with_anchors
from dams.estimators._base import (
    NOT_GIVEN,
    compare_with_target,
    names_of,
    read_rows,
    read_target,
    target_or_warn,
    warn_if_constant,
)
from dams.estimators._populations import gram_to_use, moments_of, moments_of_folds
from dams.estimators._safeguard import recording_differs
from dams.estimators._together import groups_to_trust
from dams.estimators.adjusted_moments import adjust_moments, join_moments
from dams.estimators.anchored import fit_anchored, move_rows, refuse_wide
from dams.estimators.few_labels import correct_by_labels, read_target_labels
from dams.estimators.folds import N_FOLDS, Columns, FoldedMoments, counts_differ
from dams.estimators.stabilise import StabilisedFit, fit_stabilised, keep_source
from dams.estimators.summary import Summary, compare_summaries, refuse_unlike, warn_of_constant_labels
from dams.estimators.systems import Gram
from dams.estimators.wide import WIDE, fit_wide, is_wide
from dams.least_squares import LinearFit, least_squares
from dams.moments import Moments
from dams.relative import RelativeMissingness


class ClosedFormRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Linear regression adapted to the target's missingness rates in closed form.

    Minimises the squared error on target data, β^t = M⁻¹((1 − r̂) ⊙ Ê[X̃^sᵀY]), where M estimates E[X̃^tᵀX̃^t] and
    r̂ = 1 − q̂^t/q̂^s. Valid for relative missingness of either sign, provided values are lost completely at random.

    Parameters
    ----------
    gram : {"pooled", "target", "source"}
        Which data estimate M: both, the target's covariates, or the source's carried over. With `stabilise` the
        source's always stay a candidate, also for "target": a target's Gram matrix has sampling error of its own, which
        nothing cancels. `weight_` says which was taken.
    fit_intercept : bool
        Whether to fit an intercept, a column of ones that is never lost.
    stabilise : bool
        Whether to choose, for each label, between the closed form, kept positive definite and calm by a ridge, and
        predictors that adjust less, down to least squares on the source (`dams.estimators.stabilise`). `choice_` names
        what was taken. Labels are centred. False gives the paper's formula as printed, which inverts whatever M it
        gets. The choice is made over ten folds, into which a row falls by a hash of what it holds, or of its id
        where `fit` has `groups`: so neither the order of rows nor how they come in chunks matters; ids also keep the
        folds in other units and another order of columns. Tables of more than 500
        columns have fewer candidates and need no matrix per fold (`dams.estimators.wide`): 1.3 s and 0.26 GB beyond the
        data for 200,000 sparse rows of 2,000 columns on either side. d × d matrices remain, about six.
    always_recorded : list of columns, mask or None
        Columns that neither domain ever loses, such as age or sex, by name, position or mask. A zero is then a value
        like any other, and r = 0, whatever the shares of nonzeros. Where the mean of one clearly differs between the
        domains, the target's covariates are those of another population, and "pooled" becomes "source".
    column_groups : list of lists of columns, or None
        Columns that are lost together, such as the tests of a lab panel or the levels of a category, by name or
        position. A group has one mask, so that E[X̃^t_i X̃^t_j] = (1 − r) E[X̃^s_i X̃^s_j] within it, and one r,
        estimated from the rows in which any of its columns is not zero. Columns in no group are lost independently. A
        group that the two tables contradict is not used, with a warning (`dams.estimators._together`; not checked with
        anchors). If groups are not known, the choice that `stabilise` makes turns to the target's Gram matrix, which is
        right whatever is lost together.
    anchors : list of columns, mask or None
        Columns that both domains always record and on which loss, and the population, may depend, such as age or site.
        r and the weight of a source row are then smooth functions of its anchors (`dams.anchors`,
        `dams.estimators.anchored`). They count among `always_recorded`; without any, nothing changes. For tables of up
        to 500 columns.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k label columns
    intercept_ : float or array of shape (k,)
    relative_missingness_ : RelativeMissingness or None
        The estimate used, one r for all columns of a group; None if fitted without target data. With anchors, its `at`
        and `weights` give what each row was adjusted by, and `effective_sample_size` what the weights leave.
    rank_ : int
        Rank of M; below d, the solution is one of several, or as good as: directions whose variance is less than
        1e-10 of the largest, columns brought to one scale, do not count.
    condition_ : float
        Condition number of M in correlation form, the largest over the labels. Large values warn of an unstable
        adjustment. This and `rank_` are computed when first asked for; M is kept for that.
    choice_ : str or array of shape (k,)
        What was taken: "adjusted", the closed form; "filter", the limit of the non-parametric adjustment, which only
        undoes what the target loses more; "recentred", the slopes of least squares on the source with an intercept for
        the target's means; or "source", least squares on the source as it is, where no rate of loss clearly differs, or
        nothing was estimated to be better by a standard error or more. This and the following only where fitted with
        target data and `stabilise`.
    shrinkage_, weight_, ridge_ : float or array of shape (k,)
        The share of the negative r̂ that is undone, summed over the features; α, the weight of the target's Gram matrix
        in M; and κ, the ridge that holds an "adjusted" predictor near the "filter". Where κ = 0 and `shrinkage_` is 1,
        the slopes solve the paper's equation for centred data, with Cov = (1 − α) Cov^s + α Cov^t in place of M.
    label_check_ : LabelCheck or list of LabelCheck
        What labelled target rows say of the adjustment, with a p-value, and how far they moved the coefficients, one
        per label; only where `fit` was given some.
    n_features_in_, feature_names_in_
        As in every estimator of scikit-learn.

    See Also
    --------
    FilteredEstimator : Any model, where the target loses at least as much as the source.
    TwoWayEstimator : Any model, with relative missingness of either sign.
    infer_closed_form : Intervals for the coefficients.
    Summary : Fit rows that do not fit into memory, or may not leave their place.

    References
    ----------
    Zhou, Balakrishnan and Lipton, Domain Adaptation under Missingness Shift, AISTATS 2023, algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import ClosedFormRegressor, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)) + 1
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:10_000], [0.0, 0.5], random_state=1)
    >>> target = apply_missingness(X[10_000:], [0.5, 0.0], random_state=2)
    >>> model = ClosedFormRegressor().fit(source, y[:10_000], X_target=target)
    >>> round(float(model.score(target, y[10_000:])), 2)
    0.87
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "gram": [StrOptions({"pooled", "target", "source"})],
        "fit_intercept": ["boolean"],
        "stabilise": ["boolean"],
        "always_recorded": ["array-like", None],
        "column_groups": ["array-like", None],
        "anchors": ["array-like", None],
    }

    def __init__(
        self,
        *,
        gram: Gram = "pooled",
        fit_intercept: bool = True,
        stabilise: bool = True,
        always_recorded: Any = None,
        column_groups: Any = None,
        anchors: Any = None,
    ):
        self.gram = gram
        self.fit_intercept = fit_intercept
        self.stabilise = stabilise
        self.always_recorded = always_recorded
        self.column_groups = column_groups
        self.anchors = anchors

    coef_: np.ndarray
    intercept_: Any

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        X_target: Any = NOT_GIVEN,
        *,
        y_target: Any = None,
        groups: Any = None,
        groups_target: Any = None,
    ) -> ClosedFormRegressor:
        """Fit on labelled source rows and target rows, of which a few may have labels.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_s, d)
            Source covariates; zero means zero or missing.
        y : array of shape (n_s,) or (n_s, k)
            Source labels.
        X_target : like X, of shape (n_t, d), or None
            Target covariates, matched to X by column label if both are DataFrames. None means no shift: ordinary
            least squares; so does leaving it out, with a warning.
        y_target : array of shape (n_t,) or (n_t, k), or None
            Labels of a few target rows, drawn at random, NaN elsewhere. They test the adjustment and correct it by as
            much as they can tell (`dams.estimators.few_labels`); `label_check_` says what was found. Labels of chosen
            rows, such as the most complete ones, are not used, with a warning, where covariates show it. None, or no
            label: unchanged.
        groups, groups_target : array of shape (n_s,) and (n_t,), or None
            Ids of rows that belong together, such as those of one patient. They are held out together when the choice
            of `stabilise` is made.
        """
        refuse_text_labels(y)
        X, y = read_rows(self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        labels = np.asarray(y, dtype=float).reshape(len(y), -1)
        warn_if_constant(labels)
        X_target = target_or_warn(X_target)
        columns = self._known_columns(X.shape[1], self.column_groups)
        resolve_row_groups(groups, X.shape[0], parameter="groups")
        self.__dict__.pop("label_check_", None)
        if X_target is None:
            if y_target is not None:
                raise ValueError("y_target holds labels of target rows: give these as X_target.")
            return self._fit_folds(FoldedMoments.of(X, labels, n_folds=1), None, None, one_label=y.ndim == 1)
        together = self.column_groups
        if columns.groups is not None and self.anchors is None:
            X_target = read_target(self, X, X_target)
            trusted = groups_to_trust(X, X_target, columns.groups, names_of(self))
            # As masks: positions would be read as names where names are numbers.
            together = [np.isin(np.arange(X.shape[1]), members) for members in trusted]
            columns = self._known_columns(X.shape[1], together)
        target, relative = compare_with_target(
            self,
            X,
            X_target,
            always_recorded=self.always_recorded,
            column_groups=together,
            anchors=self.anchors,
            groups=groups,
            groups_target=groups_target,
        )
        known_labels = read_target_labels(y_target, target.shape[0], labels.shape[1])
        if known_labels is not None and X.shape[1] > WIDE:
            raise ValueError(f"y_target is for tables of at most {WIDE} columns, got {X.shape[1]}: leave it out.")
        self._fit_target(X, labels, target, relative, columns, groups, groups_target, one_label=y.ndim == 1)
        if known_labels is not None:
            given = (X, labels, groups), (target, known_labels, groups_target)
            before = self.coef_, self.intercept_
            after, self.label_check_ = correct_by_labels(
                *given, relative, columns, before, fit_intercept=self.fit_intercept
            )
            self.coef_, self.intercept_ = after
        return self

    def _fit_target(
        self,
        X: Any,
        labels: np.ndarray,
        target: Any,
        relative: RelativeMissingness,
        columns: Columns,
        groups: Any,
        groups_target: Any,
        *,
        one_label: bool,
    ) -> ClosedFormRegressor:
        """Fit on checked rows of both domains."""
        if relative.anchored is not None:
            adjusted = self._fit_anchored((X, labels, groups), (target, groups_target), relative.anchored, columns)
            return self._take(adjusted, relative, one_label=one_label)
        rows = (X, labels, groups), (target, None, groups_target)
        if self.stabilise and is_wide(*rows):
            if recording_differs(relative, X, target, (groups, groups_target)):
                gram = gram_to_use(self.gram, *(moments_of(values, columns.always, ids) for values, _, ids in rows))
                fit = fit_wide(*rows, relative.r, columns, gram=gram, fit_intercept=self.fit_intercept)
            else:
                fit = keep_source(Moments.of(X, labels), fit_intercept=self.fit_intercept)
            return self._take(fit, relative, one_label=one_label)
        with few_threads(X.shape[1], max(X.shape[0], target.shape[0])):
            here, there = (
                FoldedMoments.of(values, Y, groups=ids, columns=columns, n_folds=self._n_folds)
                for values, Y, ids in rows
            )
        return self._fit_folds(here, there, relative, one_label=one_label)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_summaries(self, source: Summary, target: Summary | None) -> ClosedFormRegressor:
        """Fit on summaries of labelled source rows and of unlabelled target rows, as `fit` does on the rows.

        The coefficients are those of `fit` on all rows, up to rounding. With `stabilise` they are so where no two rows
        in different chunks have the same covariates, or ids were given as `groups`: folds are dealt by what a row
        holds, its copies within a chunk in turn. Otherwise another choice may be made where two are about as good.
        Tables of more than 500 columns are fitted by `fit` with fewer candidates. Summaries do not show what `fit`
        warns of by values: columns that look centred, imputed or like codes, and groups that are not lost together.

        Parameters
        ----------
        source, target : Summary
            The target's may be None, which means no shift: ordinary least squares.
        """
        refuse_unlike(source, target)
        # Summaries hold no labels of target rows: those of an earlier fit tell nothing of this one.
        self.__dict__.pop("label_check_", None)
        if self.anchors is not None:
            raise ValueError("anchors need the rows, which summaries don't hold: use fit, or leave anchors out.")
        self._column_names = source.feature_names
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        if source.feature_names is not None and all(isinstance(name, str) for name in source.feature_names):
            self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)
        columns = self._known_columns(source.n_features, self.column_groups)
        here = source.fold(columns)
        warn_of_constant_labels(here)
        if target is None:
            return self._fit_folds(here, None, None, one_label=source.one_label)
        source.refuse_other_use(columns, self._n_folds, name="source")
        target.refuse_other_use(columns, self._n_folds, name="target")
        known = np.zeros(source.n_features, dtype=bool) if columns.always is None else columns.always
        relative = compare_summaries(source, target, known)
        return self._fit_folds(here, target.fold(columns), relative, one_label=source.one_label)

    @property
    def _n_folds(self) -> int:
        return N_FOLDS if self.stabilise else 1

    def _known_columns(self, n_features: int, column_groups: Any) -> Columns:
        recorded = with_anchors(self.always_recorded, self.anchors, n_features, names_of(self))
        always, groups = known_columns(recorded, column_groups, n_features, names_of(self))
        grouped = groups.max(initial=-1) + 1 < n_features
        return Columns(always if always.any() else None, groups if grouped else None)

    def _fit_folds(
        self,
        source: FoldedMoments,
        target: FoldedMoments | None,
        relative: RelativeMissingness | None,
        *,
        one_label: bool,
    ) -> ClosedFormRegressor:
        """Fit on moments; without a target, by least squares on the source."""
        fit: LinearFit
        if target is None or relative is None:
            fit = least_squares(source.merged(), fit_intercept=self.fit_intercept)
        elif self.stabilise and not relative.differs and not counts_differ(source, target):
            fit = keep_source(source.merged(), fit_intercept=self.fit_intercept)
        else:
            known = (moments_of_folds(folds, source.columns.always) for folds in (source, target))
            gram = gram_to_use(self.gram, *known)
            if self.stabilise:
                with few_threads(len(relative.r)):
                    fit = fit_stabilised(source, target, relative.r, gram=gram, fit_intercept=self.fit_intercept)
            else:
                moments, groups = (source.merged(), target.merged()), source.columns.groups
                adjusted = adjust_moments(*moments, relative.r, gram=gram, groups=groups)
                fit = least_squares(adjusted, fit_intercept=self.fit_intercept)
        return self._take(fit, relative, one_label=one_label)

    def _fit_anchored(
        self,
        source: tuple[Any, np.ndarray, Any],
        target: tuple[Any, Any],
        rates: AnchoredRates,
        columns: Columns,
    ) -> LinearFit:
        """Fit with r and w of every row; anchors of another law are weighted for, what else is recorded is not."""
        X, labels, groups = source
        refuse_wide(X.shape[1])
        assert columns.always is not None
        others = columns.always.copy()
        others[rates.columns] = False
        sides = (X, groups), target
        known = (moments_of(rows, others if others.any() else None, ids) for rows, ids in sides)
        gram = gram_to_use(self.gram, *known)
        if self.stabilise:
            return fit_anchored(source, target, rates, columns.groups, gram=gram, fit_intercept=self.fit_intercept)
        moved = move_rows(X, labels, rates, columns.groups)
        return least_squares(join_moments(moved, Moments.of(target[0]), gram), fit_intercept=self.fit_intercept)

    def _take(self, fit: LinearFit, relative: RelativeMissingness | None, *, one_label: bool) -> ClosedFormRegressor:
        """Set what a fit leaves."""
        self.relative_missingness_ = relative
        # Those of an earlier fit with target data would stand beside coefficients that they do not belong to.
        for name in ("choice_", "shrinkage_", "weight_", "ridge_"):
            self.__dict__.pop(name, None)
        self.coef_ = fit.coef[:, 0] if one_label else fit.coef.T
        self.intercept_ = float(fit.intercept[0]) if one_label else fit.intercept
        self._fit = fit
        if isinstance(fit, StabilisedFit):
            self.choice_ = str(fit.kind[0]) if one_label else fit.kind
            self.shrinkage_, self.weight_, self.ridge_ = (
                float(values[0]) if one_label else values for values in (fit.shrinkage, fit.weight, fit.ridge)
            )
        return self

    # Eigenvalues of a wide table's matrix take an eighth of the time of its fit, so they wait until they are asked for.
    @property
    def rank_(self) -> int:
        """Rank of M; below d, the solution is one of several."""
        check_is_fitted(self)
        return self._fit.rank

    @property
    def condition_(self) -> float:
        """Condition number of M in correlation form, the largest over the labels."""
        check_is_fitted(self)
        return self._fit.condition

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of rows observed in the target domain."""
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
