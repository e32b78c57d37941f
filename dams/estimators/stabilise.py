"""A closed form that stays stable: how far to trust the moved source moments, settled without target labels.

Where the target records a feature better than the source (r_j < 0) the moved Gram matrix is Cov of the source minus a
diagonal, (1 − r)(1 − r)ᵀ ⊙ Cov(X̃^s) + diag(r(1 − r)) diag(E[X̃^s²]), the correction for attenuation of
errors-in-variables regression. On finite samples it need not be positive definite, and its inverse explodes. The family

    M(θ, α) = (1 − α) · moved(source, r_θ) + α · target,    r_θ = max(r, 0) + θ min(r, 0),

holds the paper's formula (θ = 1) and, at θ = α = 0, the infinite-sample limit of the non-parametric adjustment, which
is always positive semi-definite. θ and α are chosen for each label by a cross-validated estimate of the *target* risk,
which the moments table gives from held-out source rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dams.least_squares import LinearFit, is_positive_definite, smallest_eigenvalue, solve_symmetric
from dams.moments import Moments
from dams.relative import count_nonzero

Array = np.ndarray
Gram = Literal["pooled", "target", "source"]

N_FOLDS = 10
SHRINKAGES = (0.0, 0.5, 0.75, 0.9, 1.0)
WEIGHTS = (0.0, 0.05, 0.2, 0.5, 1.0)
# M is well conditioned if its smallest eigenvalue is so many standard errors from zero; then θ = 1 is not questioned.
WELL_CONDITIONED = 8.0


@dataclass(frozen=True)
class FoldedMoments:
    """Moments of disjoint folds of the rows: any union of folds has its moments without another look at the rows."""

    parts: tuple[Moments, ...]
    counts: Array  # nonzeros, (folds, d)

    @classmethod
    def of(cls, X: Any, Y: Array | None = None, *, n_folds: int = N_FOLDS) -> FoldedMoments:
        """Put row i of X (dense or CSR) and of the label columns Y into fold i mod n_folds."""
        folds = [slice(k, None, n_folds) for k in range(min(n_folds, X.shape[0]))]
        parts = tuple(Moments.of(X[rows], None if Y is None else Y[rows]) for rows in folds)
        return cls(parts, np.array([count_nonzero(X[rows]) for rows in folds]))

    def merged(self) -> Moments:
        """Moments of all rows."""
        return merge(self.parts)

    def without(self, fold: int) -> Moments:
        """Moments of all rows but those of one fold."""
        return merge(self.parts[:fold] + self.parts[fold + 1 :])

    def shares_without(self, fold: int) -> Array:
        """Shares of nonzeros in all rows but those of one fold."""
        n = sum(part.n for part in self.parts) - self.parts[fold].n
        return (self.counts.sum(axis=0) - self.counts[fold]) / n


def merge(parts: Sequence[Moments]) -> Moments:
    """Moments of the rows of all parts together."""

    def stack(field: str) -> Array:
        return np.stack([getattr(part, field) for part in parts])

    n = sum(part.n for part in parts)
    weights = stack("n") / n
    mean = weights @ stack("mean")
    gaps = stack("mean") - mean
    covariance = np.einsum("f,fij->ij", weights, stack("covariance")) + (gaps.T * weights) @ gaps
    if parts[0].label_mean is None:
        return Moments(n, mean, covariance)
    label_mean = weights @ stack("label_mean")
    label_gaps = stack("label_mean") - label_mean
    label_covariance = np.einsum("f,fdk->dk", weights, stack("label_covariance")) + (gaps.T * weights) @ label_gaps
    label_variance = weights @ (stack("label_variance") + label_gaps**2)
    return Moments(n, mean, covariance, label_mean, label_covariance, label_variance)


@dataclass(frozen=True)
class StabilisedFit(LinearFit):
    """The chosen predictors; `shrinkage` is θ and `weight` is α of every label, both of shape (k,)."""

    shrinkage: Array
    weight: Array


@dataclass(frozen=True)
class _System:
    """Source and target moments of the same rows, and the r that goes with them."""

    source: Moments
    target: Moments
    r: Array
    fit_intercept: bool
    _moved: dict[float, Moments] = field(default_factory=dict, repr=False)

    def matrix(self, theta: float, alpha: float) -> Array:
        """M(θ, α)."""
        moved = self.moved(theta)
        if self.fit_intercept:
            return (1 - alpha) * moved.covariance + alpha * self.target.covariance
        return (1 - alpha) * moved.gram + alpha * self.target.gram

    def cross(self, theta: float) -> Array:
        """Cov(X̃, Y) at r_θ; centred, so that adding a constant to the labels moves the intercept alone."""
        moved = self.moved(theta)
        assert moved.label_covariance is not None
        return moved.label_covariance if self.fit_intercept else moved.cross

    def moved(self, theta: float) -> Moments:
        """Source moments moved by r_θ; every α needs them. Of the last θ alone: wide data fill the memory."""
        if theta not in self._moved:
            self._moved.clear()
            self._moved[theta] = self.source.moved(np.where(self.r < 0, theta * self.r, self.r))
        return self._moved[theta]

    def solve(self, theta: float, alpha: float) -> Array:
        """Coefficients of one candidate."""
        return solve_symmetric(self.matrix(theta, alpha), self.cross(theta))


def fit_stabilised(
    source: FoldedMoments, target: FoldedMoments, r: Array, *, gram: Gram = "pooled", fit_intercept: bool = True
) -> StabilisedFit:
    """Fit the candidate of least estimated target risk, one for every label.

    Candidates are the pairs (θ, α) whose M is positive definite on all rows and without each fold; (0, 0) always is.
    With β₀ the fit of (0, 0) and δ = β − β₀, the target risk over that of β₀ is δᵀ E[X̃^tᵀX̃^t] δ − 2 δᵀ g,
    g = E[X̃^tᵀ(Y − X̃^t β₀)]. It is estimated fold by fold, g from the held-out source rows by the moments table: their
    Gram matrix and cross-moment share their sampling error, which cancels in g. The Gram matrix in the small term
    comes from the held-out target rows: a target's is never indefinite, and rows that the candidate itself was fitted
    with would flatter large α.

    Parameters
    ----------
    source, target
        Folded moments, those of the source with labels.
    r : array of shape (d,)
        Relative missingness, estimated from all rows. Fits without a fold use the rows' own estimate, so that the
        error of r̂ counts in the choice.
    gram
        Which α are candidates: all ("pooled"), 0 ("source"), or 1 and, with the first θ, 0 ("target").
    """
    whole = _System(source.merged(), target.merged(), r, fit_intercept)
    n_folds = min(len(source.parts), len(target.parts))
    parts = [_without(source, target, whole, fold) for fold in range(n_folds)] if n_folds > 1 else []
    candidates = _candidates(whole, parts, gram)
    choice = _choose(candidates, source, target, whole, parts)
    solved = {i: whole.solve(*candidates[i]) for i in np.unique(choice)}
    coef = np.stack([solved[i][:, label] for label, i in enumerate(choice)], axis=1)
    label_mean = whole.source.label_mean
    assert label_mean is not None
    # The moved source mean, because its sampling error is shared with the label mean.
    intercept = label_mean - whole.source.moved(r).mean @ coef if fit_intercept else np.zeros_like(label_mean)
    chosen = np.array(candidates)[choice]
    return StabilisedFit(
        coef,
        intercept,
        tuple(whole.matrix(*candidates[i]) for i in solved),
        shrinkage=chosen[:, 0],
        weight=chosen[:, 1],
    )


def _without(source: FoldedMoments, target: FoldedMoments, whole: _System, fold: int) -> _System:
    q_source, q_target = source.shares_without(fold), target.shares_without(fold)
    # A feature seen only in this fold's source rows has no r without them.
    r = np.where(q_source > 0, 1 - q_target / np.where(q_source > 0, q_source, 1), whole.r)
    return _System(source.without(fold), target.without(fold), r, whole.fit_intercept)


def _candidates(whole: _System, parts: Sequence[_System], gram: Gram) -> list[tuple[float, float]]:
    """The pairs (θ, α) to choose from; the first is (0, 0), or (1, 0) where that is well conditioned."""
    if not parts:
        return [(0.0, 0.0)]
    thetas: tuple[float, ...] = SHRINKAGES
    if (whole.r >= 0).all() or is_well_conditioned(
        smallest_eigenvalue(whole.matrix(1, 0)), [smallest_eigenvalue(part.matrix(1, 0)) for part in parts]
    ):
        thetas = (1.0,)
    alphas = {"pooled": WEIGHTS, "source": (0.0,), "target": (1.0,)}[gram]
    pairs = [(theta, alpha) for theta in thetas for alpha in alphas if (theta, alpha) != (thetas[0], 0.0)]
    safe = [p for p in pairs if all(is_positive_definite(system.matrix(*p)) for system in (whole, *parts))]
    return [(thetas[0], 0.0), *safe]


def _choose(
    candidates: Sequence[tuple[float, float]],
    source: FoldedMoments,
    target: FoldedMoments,
    whole: _System,
    parts: Sequence[_System],
) -> Array:
    """Index of the candidate with the least estimated target risk plus its standard error, one a label.

    The error, over folds, keeps a candidate from being chosen for luck. Of equals the first.
    """
    risks = np.zeros((len(parts), len(candidates), whole.cross(0.0).shape[1]))
    if len(candidates) == 1:
        return np.zeros(risks.shape[2], dtype=int)
    for risk, part, held_source, held_target in zip(risks, parts, source.parts, target.parts, strict=False):
        start = part.solve(0.0, 0.0)
        held = _System(held_source, held_target, whole.r, whole.fit_intercept)
        gradient = held.cross(1.0) - held.matrix(1.0, 0.0) @ start
        steps = np.stack([part.solve(*pair) - start for pair in candidates])
        risk[:] = np.einsum("cdk,cdk->ck", steps, held.matrix(1.0, 1.0) @ steps - 2 * gradient)
    error = risks.std(axis=0, ddof=1) / np.sqrt(len(parts))
    return np.argmin(risks.mean(axis=0) + error, axis=0)


def is_well_conditioned(eigenvalue: float, without_folds: Sequence[float]) -> bool:
    """Whether a smallest eigenvalue is `WELL_CONDITIONED` standard errors, by delete-a-fold jackknife, above zero."""
    values = np.asarray(without_folds)
    if not np.isfinite(values).all():
        return False
    error = np.sqrt((len(values) - 1) * values.var())
    return bool(eigenvalue > WELL_CONDITIONED * error)
