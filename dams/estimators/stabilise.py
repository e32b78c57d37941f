"""A closed form that stays stable: how far to trust the moved source moments, settled without target labels.

Where the target records a feature better than the source (r_j < 0) the moved Gram matrix is Cov of the source minus a
diagonal, the correction for attenuation of errors-in-variables regression. On finite samples it need not be positive
definite, and its inverse explodes. The target's own Gram matrix T is definite, but does not share its sampling error
with the cross-moment c = (1 − r) ⊙ Cov(X̃^s, Y): in a direction in which the target hardly varies, T⁻¹c is noise. So
the closed form is fitted as a step away from a calm predictor β₀,

    β = β₀ + (M + κ W)⁻¹ (c − M β₀),    M = (1 − α) · moved(source, r_θ) + α T,    W_jj = max(1 − r_j, 1) T_jj,

W growing with the variance of c_j. β₀ is the infinite-sample limit of the non-parametric adjustment, θ = α = 0, which
is always positive semi-definite. Negative r are undone feature by feature, by θ_j r_j with
θ_j = r_j²/(r_j² + γ Var(r̂_j)), so that a column of which the source has a handful of values does not hold back the
others; for the same reason β₀ is also tried with a penalty on the columns that the target records better.

Which candidate is taken, if any, is settled for each label by a cross-validated estimate of the *target* risk, which
the moments table gives from held-out source rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dams.estimators.folds import FoldedMoments, pair_folds
from dams.estimators.systems import DAMPINGS, SOURCE, Candidate, Gram, Held, Setting, System, label_mean_of
from dams.least_squares import LinearFit, least_squares, smallest_eigenvalue
from dams.moments import Moments

Array = np.ndarray

# γ: 0 undoes every negative r as a whole; at 32, an r that is 5.7 standard errors below zero is undone by half.
CAUTIONS = (0.0, 32.0)
WEIGHTS = {"pooled": (0.0, 0.2, 0.5, 1.0), "source": (0.0,), "target": (0.0, 1.0)}
RIDGES = (0.01, 0.1, 1.0)
# A matrix is well conditioned if its smallest eigenvalue is so many standard errors above zero.
WELL_CONDITIONED = 16.0
# With so many rows a gain over the source must be two standard errors rather than one; few rows with heavy tails make
# errors that are too small.
FEW_ROWS = 50
# Risks that differ by less, in units of Var(Y), are equal; of equals the first is taken.
ROUNDING = 1e-9


@dataclass(frozen=True)
class StabilisedFit(LinearFit):
    """The chosen predictors; what was chosen has one entry per label."""

    kind: Array
    shrinkage: Array  # the share of Σ|min(r, 0)| that is undone
    weight: Array
    ridge: Array


def fit_stabilised(
    source: FoldedMoments, target: FoldedMoments, r: Array, *, gram: Gram = "pooled", fit_intercept: bool = True
) -> StabilisedFit:
    """Fit the candidate of least estimated target risk, one for every label; least squares on the source if none helps.

    With β₀ the calm predictor and δ = β − β₀, the target risk over that of β₀ is δᵀTδ − 2 δᵀ(c − Gβ₀), T and G two
    estimates of E[X̃^tᵀX̃^t]. It is estimated fold by fold from held-out rows. T is the target's. G is the moved
    source's, which shares its sampling error with c, so that it cancels. But it is right only if columns are lost
    independently or in known groups, the target's whatever is lost together. So what the target's Gram matrix would
    change in the mean over folds is added, as far as it exceeds one standard error; and so is the square of what the
    moved means miss of the target's, the error of the intercept.

    Where both matrices are well conditioned the closed form is a candidate as it is, elsewhere with θ and κ. One is
    left out if its matrix is not positive definite, on all rows or without a fold, or if it would explain more than
    there is, Var(Y) − 2 βᵀc + βᵀTβ < 0: then it fits the noise of c. Of the others, the one of least risk plus one
    standard error over folds is taken, so that none wins by luck, and only if its risk is below that of least squares
    on the source by one standard error, 1 + `FEW_ROWS`/n of them to be exact.

    Parameters
    ----------
    source, target
        Folded moments, those of the source with labels.
    r : array of shape (d,)
        Relative missingness, estimated from all rows. Fits without a fold use the rows' own estimate, so that the
        error of r̂ counts in the choice.
    gram
        Which α are candidates: several ("pooled"), 0 ("source"), or 0 and 1 ("target").
    """
    source, target = pair_folds(source, target)
    setting = Setting(fit_intercept, source.columns.groups)
    counts = source.counts.sum(axis=0), target.counts.sum(axis=0)
    whole = System(source.merged(), target.merged(), counts, r, setting)
    n_folds = min(len(source.parts), len(target.parts))
    parts = [_without(source, target, whole, fold) for fold in range(n_folds)] if n_folds > 1 else []
    held = [Held(whole, pair) for pair in zip(source.parts, target.parts, strict=False)]
    return fit_least_risk(whole, parts, held, gram, min(source.n, target.n))


def keep_source(source: Moments, *, fit_intercept: bool = True) -> StabilisedFit:
    """Fit least squares on the source, where there is no shift to adjust to."""
    fit = least_squares(source, fit_intercept=fit_intercept)
    nothing = np.zeros(fit.coef.shape[1])
    kind = np.full(len(nothing), SOURCE.kind)
    return StabilisedFit(fit.coef, fit.intercept, fit.systems, kind, shrinkage=nothing, weight=nothing, ridge=nothing)


def fit_least_risk(
    whole: System, parts: Sequence[System], held: Sequence[Held | System], gram: Gram, n: int | float
) -> StabilisedFit:
    """Choose among the candidates of the system of all rows, by the systems without a fold and the fold's own rows.

    n is the fewer rows of both domains.
    """
    fit_intercept = whole.setting.fit_intercept
    candidates = make_candidates(gram, _well_conditioned(whole, parts), fit_intercept=fit_intercept)
    found = whole.solve(candidates)
    choice = _choose(candidates, found, whole, parts, held, n)
    chosen = [candidates[i] for i in choice]
    coef = np.stack([found[i, :, label] for label, i in enumerate(choice)], axis=1)
    plain = [c.kind == "source" for c in chosen]
    # The moved source mean, because its sampling error is shared with the label mean.
    means = np.where(plain, whole.source.mean[:, None], whole.moved_mean[:, None])
    label_mean = np.where(plain, label_mean_of(whole.source), whole.label_mean)
    return StabilisedFit(
        coef,
        label_mean - (means * coef).sum(axis=0) if fit_intercept else np.zeros_like(label_mean),
        tuple(matrix for matrix, _ in whole.systems([candidates[i] for i in np.unique(choice)])),
        kind=np.array([c.kind for c in chosen]),
        shrinkage=np.array([whole.share_undone(c) for c in chosen]),
        weight=np.array([c.weight for c in chosen]),
        ridge=np.array([c.ridge for c in chosen]),
    )


def make_candidates(gram: Gram, well: tuple[bool, bool], *, fit_intercept: bool) -> list[Candidate]:
    """All predictors to choose from, in the order of preference between equals.

    `well` says whether the moved source's and the target's matrix are well conditioned. One that is needs no ridge, and
    where both are, the closed form is taken as it is.
    """
    calm = [Candidate("filter", damping=damping) for damping in DAMPINGS]
    plain = [Candidate("recentred"), SOURCE] if fit_intercept else [SOURCE]
    exact = [Candidate("adjusted", weight=weight) for weight in WEIGHTS[gram] if well[weight == 1]]
    steps = () if all(well) else product(CAUTIONS, WEIGHTS[gram], RIDGES, DAMPINGS)
    return [*calm, *plain, *exact, *(Candidate("adjusted", *step) for step in steps)]


def _well_conditioned(whole: System, parts: Sequence[System]) -> tuple[bool, bool]:
    """Whether the moved source's and the target's matrix are; not, where there are no folds to tell."""
    if not parts:
        return False, False
    return (
        is_well_conditioned(*(smallest_eigenvalue(system.moved(1.0)[0]) for system in (whole, *parts))),
        is_well_conditioned(*(smallest_eigenvalue(system.there) for system in (whole, *parts))),
    )


def _choose(
    candidates: Sequence[Candidate],
    found: Array,
    whole: System,
    parts: Sequence[System],
    held: Sequence[Held | System],
    n: int | float,
) -> Array:
    """Index of the chosen candidate, one per label."""
    plain = candidates.index(SOURCE)
    if not parts:
        return np.full(found.shape[2], plain)
    risks = Risks(*np.empty((3, len(parts), *found.shape[::2])))
    for fold, (part, rows) in enumerate(zip(parts, held, strict=False)):
        risks.set_fold(fold, _held_out_risk(candidates, part.solve(candidates), part, rows))
    too_much = _explains_too_much(candidates, found, whole)
    return choose_least_risk(risks, too_much, plain, whole.label_second, n)


@dataclass(frozen=True)
class Risks:
    """Risks of the candidates on held-out rows, each (folds, candidates, k).

    `risk` is the target risk over that of the first candidate; `gap` its change if the target's Gram matrix replaces
    the moved source's; `missed` the square of what the moved means miss of the target's, the error of the intercept.
    """

    risk: Array
    gap: Array
    missed: Array

    def set_fold(self, fold: int, values: tuple[Array, Array, Array]) -> None:
        """Set what one fold says."""
        self.risk[fold], self.gap[fold], self.missed[fold] = values

    def against(self, which: int) -> tuple[Array, Array]:
        """Mean risk over that of one candidate, and its standard error, each (candidates, k).

        The gap and the error of the intercept count as far as they exceed one standard error.
        """
        mean, error = mean_and_error(self.risk - self.risk[:, [which]])
        gap, doubt = mean_and_error(self.gap - self.gap[:, [which]])
        beyond = np.maximum(np.abs(gap) - doubt, 0)
        missed, unsure = mean_and_error(self.missed)
        missed = np.maximum(missed - unsure, 0)
        mean = mean + np.sign(gap) * beyond + missed - missed[which]
        return mean, np.hypot(error, np.where(beyond > 0, doubt, 0))


def choose_least_risk(risks: Risks, unusable: Array, plain: int, explained: Array, n: int | float) -> Array:
    """Index of the candidate of least risk, one per label.

    `plain` is the candidate to beat, `explained` what there is to explain of each label, and n the fewer rows of both
    domains. Candidates without a risk in some fold are unusable too.
    """
    unusable = ~np.isfinite(risks.risk).all(axis=0) | unusable
    rounding = ROUNDING * explained
    risk, error = risks.against(0)
    bound = np.where(unusable, np.inf, risk + error)
    best = np.argmax(bound <= bound.min(axis=0) + rounding, axis=0)
    risk, error = risks.against(plain)
    bound = risk + (1 + FEW_ROWS / n) * error
    helps = np.take_along_axis(bound, best[None], axis=0)[0] < -rounding
    return np.where(helps, best, plain)


def _without(source: FoldedMoments, target: FoldedMoments, whole: System, fold: int) -> System:
    moments = source.without(fold), target.without(fold)
    counts = source.counts_without(fold), target.counts_without(fold)
    q_source, q_target = counts[0] / moments[0].n, counts[1] / moments[1].n
    # A feature seen only in this fold's source rows has no r without them.
    r = np.where(q_source > 0, 1 - q_target / np.where(q_source > 0, q_source, 1), whole.r)
    return System(*moments, counts, r, whole.setting)


def _held_out_risk(
    candidates: Sequence[Candidate], coef: Array, part: System, held: Held | System
) -> tuple[Array, Array, Array]:
    """Return the fields of `Risks` for one fold, from coefficients (candidates, d, k) fitted without it."""
    start, steps = coef[0], coef - coef[0]
    moved, cross = held.moved(1.0)
    gram = held.there
    risk = np.einsum("cdk,cdk->ck", steps, gram @ steps - 2 * (cross - moved @ start))
    gap = 2 * np.einsum("cdk,dk->ck", steps, (gram - moved) @ start)
    missed = np.zeros_like(risk)
    if part.setting.fit_intercept:
        # Two estimates of the bias, as the square of one would count its noise. Of the moved means it is zero unless
        # columns were wrongly said to go together; means of what is never lost say nothing of that. `SOURCE` has the
        # source's own intercept.
        lossy = (part.r != 0).reshape(-1, len(start)).any(axis=0)
        biases = [(lossy * (rows.target.mean - rows.moved_mean)) @ coef for rows in (held, part)]
        missed = biases[0] * biases[1]
        plain = candidates.index(SOURCE)
        biases = [rows.gap_of_means(coef[plain]) for rows in (held, part)]
        risk[plain] += biases[0] * biases[1]
        missed[plain] = 0
    return risk, gap, missed


def mean_and_error(values: Array) -> tuple[Array, Array]:
    """Mean over folds, and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _explains_too_much(candidates: Sequence[Candidate], found: Array, whole: System) -> Array:
    """Which adjusted candidates would have a negative risk on all rows, (candidates, k)."""
    _, cross = whole.moved(1.0)
    left = whole.label_second + np.einsum("cdk,cdk->ck", found, whole.there @ found - 2 * cross)
    return (left < 0) & np.array([c.kind == "adjusted" for c in candidates])[:, None]


def is_well_conditioned(eigenvalue: float, *without_folds: float) -> bool:
    """Whether a smallest eigenvalue is `WELL_CONDITIONED` standard errors, by delete-a-fold jackknife, above zero."""
    values = np.asarray(without_folds)
    if not np.isfinite(values).all():
        return False
    error = np.sqrt((len(values) - 1) * values.var())
    return bool(eigenvalue > WELL_CONDITIONED * error)
