"""The closed-form adjustment (algorithm 2): the optimal linear target predictor from moments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dams._columns import known_columns
from dams._rows import resolve_row_groups
from dams._sklearn import StrOptions, fit_context
from dams._threads import few_threads
from dams._validation import refuse_text_labels
from dams.estimators._base import NOT_GIVEN, compare_with_target, names_of, read_rows, target_or_warn, warn_if_constant
from dams.estimators.folds import N_FOLDS, Columns, FoldedMoments
from dams.estimators.stabilise import Gram, StabilisedFit, fit_stabilised
from dams.estimators.summary import Summary, compare_summaries, refuse_unlike
from dams.estimators.wide import fit_wide, is_wide
from dams.least_squares import LinearFit, least_squares
from dams.moments import Moments
from dams.relative import RelativeMissingness

# Standard errors by which means that are known without loss must differ to speak of another population.
CLEARLY = 4.0
_Known = tuple[np.ndarray, np.ndarray]


def adjust_moments(
    source: Moments, target: Moments, r: np.ndarray, *, gram: Gram = "pooled", groups: np.ndarray | None = None
) -> Moments:
    """Estimate the moments of labelled target data, algorithm 2 up to its last step.

    E[X̃^tᵀY] = (1 − r) ⊙ E[X̃^sᵀY] can only come from the source. E[X̃^tᵀX̃^t] comes from the target, from the source by
    the moments table, or from both weighted by sample size. (The paper prints r in place of 1 − r; its derivation two
    lines above gives 1 − r.) `groups` numbers the columns that are lost together, as in `dams.moments.move_gram`.
    """
    moved = source.moved(r, groups=groups)
    if gram == "source":
        return moved
    covariates = target if gram == "target" else moved.pooled(target)
    assert moved.label_mean is not None
    # The intercept is a column of ones with r = 0, so the cross-moment is centred by the means that M itself holds.
    return replace(
        moved,
        mean=covariates.mean,
        covariance=covariates.covariance,
        label_covariance=moved.cross - np.outer(covariates.mean, moved.label_mean),
    )


def _moments_of(X: Any, always: np.ndarray | None) -> _Known | None:
    """Means of some columns and the variances of these means."""
    if always is None:
        return None
    values = X[:, np.flatnonzero(always)]
    values = values.toarray() if sparse.issparse(values) else values
    return values.mean(axis=0), values.var(axis=0) / len(values)


def _moments_of_folds(folds: FoldedMoments, always: np.ndarray | None) -> _Known | None:
    """The same from moments of parts of the rows."""
    if always is None:
        return None
    shares = np.array([part.n for part in folds.parts]) / folds.n
    means = np.stack([part.mean[always] for part in folds.parts])
    squares = np.stack([np.diagonal(part.covariance)[always] for part in folds.parts]) + means**2
    mean = shares @ means
    return mean, (shares @ squares - mean**2) / folds.n


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
        columns have fewer candidates and need no matrix per fold (`dams.estimators.wide`): 2.5 s and 0.26 GB beyond the
        data for 200,000 sparse rows of 2,000 columns on either side. d × d matrices remain, about six.
    always_recorded : list of columns, mask or None
        Columns that neither domain ever loses, such as age or sex, by name, position or mask. A zero is then a value
        like any other, and r = 0, whatever the shares of nonzeros. Where the mean of one clearly differs between the
        domains, the target's covariates are those of another population, and "pooled" becomes "source".
    column_groups : list of lists of columns, or None
        Columns that are lost together, such as the tests of a lab panel or the levels of a category, by name or
        position. A group has one mask, so that E[X̃^t_i X̃^t_j] = (1 − r) E[X̃^s_i X̃^s_j] within it, and one r,
        estimated from the rows in which any of its columns is not zero. Columns in no group are lost independently. If
        groups are not known, the choice that `stabilise` makes turns to the target's Gram matrix, which is right
        whatever is lost together.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k label columns
    intercept_ : float or array of shape (k,)
    relative_missingness_ : RelativeMissingness or None
        The estimate used, one r for all columns of a group; None if fitted without target data.
    rank_ : int
        Rank of M; below d, the solution is one of several, or as good as: directions whose variance is less than
        1e-10 of the largest, columns brought to one scale, do not count.
    condition_ : float
        Condition number of M in correlation form, the largest over the labels. Large values warn of an unstable
        adjustment.
    choice_ : str or array of shape (k,)
        What was taken: "adjusted", the closed form; "filter", the limit of the non-parametric adjustment, which only
        undoes what the target loses more; "recentred", the slopes of least squares on the source with an intercept for
        the target's means; or "source", least squares on the source as it is, where nothing was estimated to be better
        by a standard error or more. This and the following only where fitted with target data and `stabilise`.
    shrinkage_, weight_, ridge_ : float or array of shape (k,)
        The share of the negative r̂ that is undone, summed over the features; α, the weight of the target's Gram matrix
        in M; and κ, the ridge that holds an "adjusted" predictor near the "filter". Where κ = 0 and `shrinkage_` is 1,
        the slopes solve the paper's equation for centred data, with Cov = (1 − α) Cov^s + α Cov^t in place of M.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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

    References
    ----------
    Zhou, Balakrishnan and Lipton, Domain Adaptation under Missingness Shift, AISTATS 2023, algorithm 2.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "gram": [StrOptions({"pooled", "target", "source"})],
        "fit_intercept": ["boolean"],
        "stabilise": ["boolean"],
        "always_recorded": ["array-like", None],
        "column_groups": ["array-like", None],
    }

    def __init__(
        self,
        *,
        gram: Gram = "pooled",
        fit_intercept: bool = True,
        stabilise: bool = True,
        always_recorded: Any = None,
        column_groups: Any = None,
    ):
        self.gram = gram
        self.fit_intercept = fit_intercept
        self.stabilise = stabilise
        self.always_recorded = always_recorded
        self.column_groups = column_groups

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, X_target: Any = NOT_GIVEN, *, groups: Any = None, groups_target: Any = None
    ) -> ClosedFormRegressor:
        """Fit on labelled source rows and unlabelled target rows.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_s, d)
            Source covariates; zero means zero or missing.
        y : array of shape (n_s,) or (n_s, k)
            Source labels.
        X_target : like X, of shape (n_t, d), or None
            Target covariates, matched to X by column label if both are DataFrames. None means no shift: ordinary
            least squares; so does leaving it out, with a warning.
        groups, groups_target : array of shape (n_s,) and (n_t,), or None
            Ids of rows that belong together, such as those of one patient. They are held out together when the choice
            of `stabilise` is made.
        """
        refuse_text_labels(y)
        X, y = read_rows(self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        labels = np.asarray(y, dtype=float).reshape(len(y), -1)
        warn_if_constant(labels)
        X_target = target_or_warn(X_target)
        columns = self._known_columns(X.shape[1])
        resolve_row_groups(groups, X.shape[0], parameter="groups")
        if X_target is None:
            return self._fit_folds(FoldedMoments.of(X, labels, n_folds=1), None, None, one_label=y.ndim == 1)
        target, relative = compare_with_target(
            self,
            X,
            X_target,
            always_recorded=self.always_recorded,
            column_groups=self.column_groups,
            groups=groups,
            groups_target=groups_target,
        )
        rows = (X, labels, groups), (target, None, groups_target)
        if self.stabilise and is_wide(*rows):
            gram = self._gram(*(_moments_of(values, columns.always) for values in (X, target)))
            fit = fit_wide(*rows, relative.r, columns, gram=gram, fit_intercept=self.fit_intercept)
            return self._take(fit, relative, one_label=y.ndim == 1)
        with few_threads(X.shape[1], max(X.shape[0], target.shape[0])):
            here, there = (
                FoldedMoments.of(values, Y, groups=ids, columns=columns, n_folds=self._n_folds)
                for values, Y, ids in rows
            )
        return self._fit_folds(here, there, relative, one_label=y.ndim == 1)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_summaries(self, source: Summary, target: Summary | None) -> ClosedFormRegressor:
        """Fit on summaries of labelled source rows and of unlabelled target rows, as `fit` does on the rows.

        The coefficients are those of `fit` on all rows, up to rounding. With `stabilise` they are so where no two rows
        in different chunks have the same covariates, or ids were given as `groups`: folds are dealt by what a row
        holds, and its copies, within a chunk, in turn. Otherwise folds differ in copies, and another choice may be made
        where two are about as good. Tables of more than 500 columns are fitted by `fit` in another way, with fewer
        candidates. What `fit` warns of by looking at values (columns that look centred, imputed or
        like codes) is not seen in summaries.

        Parameters
        ----------
        source, target : Summary
            The target's may be None, which means no shift: ordinary least squares.
        """
        # Checked before the first look inside.
        refuse_unlike(source, target)
        self._column_names = source.feature_names
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        if source.feature_names is not None and all(isinstance(name, str) for name in source.feature_names):
            self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)
        columns = self._known_columns(source.n_features)
        here = source.fold(columns)
        whole = here.merged()
        assert whole.label_mean is not None and whole.label_variance is not None
        constant = whole.label_variance <= 1e-20 * whole.label_mean**2
        warn_if_constant(whole.label_mean[None, constant])
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

    def _known_columns(self, n_features: int) -> Columns:
        always, groups = known_columns(self.always_recorded, self.column_groups, n_features, names_of(self))
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
            return self._take(fit, relative, one_label=one_label)
        gram = self._gram(*(_moments_of_folds(folds, source.columns.always) for folds in (source, target)))
        if self.stabilise:
            with few_threads(len(relative.r)):
                fit = fit_stabilised(source, target, relative.r, gram=gram, fit_intercept=self.fit_intercept)
        else:
            moments, groups = (source.merged(), target.merged()), source.columns.groups
            adjusted = adjust_moments(*moments, relative.r, gram=gram, groups=groups)
            fit = least_squares(adjusted, fit_intercept=self.fit_intercept)
        return self._take(fit, relative, one_label=one_label)

    def _gram(self, source: _Known | None, target: _Known | None) -> Gram:
        """Which Gram matrix to use, given moments of what is always recorded: None where that is nothing.

        Where these differ, the target's Gram matrix is that of another population than the labels'.
        """
        if self.gram != "pooled" or source is None or target is None:
            return self.gram
        gap, error = np.abs(target[0] - source[0]), np.sqrt(np.maximum(source[1] + target[1], 0))
        return "source" if (gap > CLEARLY * error + 1e-12 * np.abs(source[0])).any() else self.gram

    def _take(self, fit: LinearFit, relative: RelativeMissingness | None, *, one_label: bool) -> ClosedFormRegressor:
        """Set what a fit leaves."""
        self.relative_missingness_ = relative
        # Those of an earlier fit with target data would stand beside coefficients that they do not belong to.
        for name in ("choice_", "shrinkage_", "weight_", "ridge_"):
            self.__dict__.pop(name, None)
        self.coef_ = fit.coef[:, 0] if one_label else fit.coef.T
        self.intercept_ = float(fit.intercept[0]) if one_label else fit.intercept
        self.rank_, self.condition_ = fit.rank, fit.condition
        if isinstance(fit, StabilisedFit):
            self.choice_ = str(fit.kind[0]) if one_label else fit.kind
            self.shrinkage_, self.weight_, self.ridge_ = (
                float(values[0]) if one_label else values for values in (fit.shrinkage, fit.weight, fit.ridge)
            )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of rows observed in the target domain."""
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
