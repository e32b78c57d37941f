"""The closed-form adjustment (algorithm 2): the optimal linear target predictor from moments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dams._sklearn import StrOptions, fit_context
from dams._validation import refuse_text_labels
from dams.estimators._base import NOT_GIVEN, compare_with_target, read_rows, target_or_warn, warn_if_constant
from dams.estimators.stabilise import FoldedMoments, Gram, StabilisedFit, fit_stabilised
from dams.least_squares import LinearFit, least_squares
from dams.moments import Moments
from dams.relative import RelativeMissingness


def adjust_moments(source: Moments, target: Moments, r: np.ndarray, *, gram: Gram = "pooled") -> Moments:
    """Estimate the moments of labelled target data, algorithm 2 up to its last step.

    E[X̃^tᵀY] = (1 − r) ⊙ E[X̃^sᵀY] can only come from the source. E[X̃^tᵀX̃^t] comes from the target, from the source by
    the moments table, or from both weighted by sample size. (The paper prints r in place of 1 − r; its derivation two
    lines above gives 1 − r.)
    """
    moved = source.moved(r)
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
        Whether to keep M positive definite, to weight its two estimates by how well they predict rather than by sample
        size, and to centre the labels (`dams.estimators.stabilise`). Where every r̂ ≥ 0, or the moved source Gram is
        well conditioned, the coefficients solve the paper's equation for centred data, with
        Cov = (1 − `weight_`) Cov^s + `weight_` Cov^t in place of M. False gives the paper's formula as printed, which
        inverts whatever M it gets. The choice is made over ten folds, every tenth row from the first on, the second
        and so on; another order of rows may settle on other weights. Some sixty d × d matrices are held: 0.7 GB and
        half a minute for 1,200 columns. With many thousand columns take False.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k label columns
    intercept_ : float or array of shape (k,)
    relative_missingness_ : RelativeMissingness or None
        The estimate used; None if fitted without target data.
    rank_ : int
        Rank of M; below d, the solution is one of several, or as good as: directions whose variance is less than
        1e-10 of the largest, columns brought to one scale, do not count.
    condition_ : float
        Condition number of M in correlation form, the largest over the labels. Large values warn of an unstable
        adjustment.
    shrinkage_, weight_ : float or array of shape (k,)
        θ, the share of the negative r̂ that is undone, and α, the weight of the target's Gram matrix in M. Only where
        fitted with target data and `stabilise`.
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
    }

    def __init__(self, *, gram: Gram = "pooled", fit_intercept: bool = True, stabilise: bool = True):
        self.gram = gram
        self.fit_intercept = fit_intercept
        self.stabilise = stabilise

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, X_target: Any = NOT_GIVEN) -> ClosedFormRegressor:
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
        """
        refuse_text_labels(y)
        X, y = read_rows(self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        labels = np.asarray(y, dtype=float).reshape(len(y), -1)
        self.relative_missingness_: RelativeMissingness | None = None
        # Those of an earlier fit with target data would stand beside coefficients that they do not belong to.
        for name in ("shrinkage_", "weight_"):
            self.__dict__.pop(name, None)
        warn_if_constant(labels)
        X_target = target_or_warn(X_target)
        if X_target is None:
            fit = least_squares(Moments.of(X, labels), fit_intercept=self.fit_intercept)
        else:
            target, self.relative_missingness_ = compare_with_target(self, X, X_target)
            fit = self._fit_adjusted(X, labels, target, self.relative_missingness_.r)
        self.coef_ = fit.coef[:, 0] if y.ndim == 1 else fit.coef.T
        self.intercept_ = float(fit.intercept[0]) if y.ndim == 1 else fit.intercept
        self.rank_, self.condition_ = fit.rank, fit.condition
        if isinstance(fit, StabilisedFit):
            self.shrinkage_ = float(fit.shrinkage[0]) if y.ndim == 1 else fit.shrinkage
            self.weight_ = float(fit.weight[0]) if y.ndim == 1 else fit.weight
        return self

    def _fit_adjusted(self, X: Any, labels: np.ndarray, target: Any, r: np.ndarray) -> LinearFit:
        if self.stabilise:
            source_folds, target_folds = FoldedMoments.of(X, labels), FoldedMoments.of(target)
            return fit_stabilised(source_folds, target_folds, r, gram=self.gram, fit_intercept=self.fit_intercept)
        moments = adjust_moments(Moments.of(X, labels), Moments.of(target), r, gram=self.gram)
        return least_squares(moments, fit_intercept=self.fit_intercept)

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels of rows observed in the target domain."""
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
