"""The stabilised closed form for wide tables: `dams.estimators.stabilise` without a d × d matrix per fold.

The choice between predictors needs fits without each fold, and risks on what was held out. Neither needs the second
moments of a fold as a matrix. A risk is made of predictions for the held-out rows, as vᵀCov(X)w = Cov(Xv, Xw). A fit
without a fold is close to the fit of all rows, so conjugate gradients, preconditioned by the factor of the matrix of
all rows, find it in a few steps (`dams.estimators.folded_rows` has the product that a step needs).

Fewer candidates are tried, `make_wide_candidates`, and the target's Gram matrix is only formed where it is asked for,
or where held-out target rows contradict the moved source's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dams.conjugate import Factor, Product, conjugate_gradients
from dams.estimators.folded_rows import FoldedRows
from dams.estimators.folds import Columns, Rows, deal_rows
from dams.estimators.stabilise import Risks, StabilisedFit, choose_least_risk, keep_source, mean_and_error
from dams.estimators.systems import SOURCE, Candidate, Gram, share_undone, shares_to_undo, variance_of_r
from dams.least_squares import solve_definite, solve_symmetric
from dams.moments import Moments, move_covariance, move_gram

Array = np.ndarray

# Tables with more columns are fitted here.
WIDE = 500
# What a step from β₀ is tried with, (γ, κ): all of the closed form, and a cautious one.
STEPS = ((0.0, 0.0), (32.0, 1.0))
# The target's Gram matrix is tried if predictions depart so many standard errors from those of the moved source's.
CONTRADICTED = 3.0


def is_wide(*domains: Rows) -> bool:
    """Whether tables are to be fitted here."""
    return domains[0][0].shape[1] > WIDE


def make_wide_candidates(weights: Sequence[float], *, fit_intercept: bool) -> list[Candidate]:
    """Predictors to choose from, in the order of preference between equals; `weights` are those of an adjusted one."""
    plain = [Candidate("recentred"), SOURCE] if fit_intercept else [SOURCE]
    steps = [Candidate("adjusted", caution, weight, ridge) for weight in weights for caution, ridge in STEPS]
    return [Candidate("filter"), *plain, *steps]


def fit_wide(
    source: Rows,
    target: Rows,
    r: Array,
    columns: Columns | None = None,
    *,
    gram: Gram = "pooled",
    fit_intercept: bool = True,
) -> StabilisedFit:
    """Fit as `fit_stabilised` does, from rows and with fewer candidates.

    Of the steps from β₀, those with (γ, κ) of `STEPS` and α = 0 are tried. α = 1, the target's Gram matrix, joins them
    for gram="target", and for "pooled" if the moved source's is contradicted by held-out target rows.

    `source` and `target` are covariates, labels (None for the target) and groups of rows (or None).
    """
    options: dict[str, Any] = {"columns": columns, "intercept": fit_intercept}
    here, there = deal_rows(source, target)
    if len(here) == 1:
        # No two folds to tell whether anything is better.
        return keep_source(Moments.of(*source[:2]), fit_intercept=fit_intercept)
    fits = _Fits(FoldedRows(*source, **options, rows=here), FoldedRows(*target, **options, rows=there), r)
    candidates = make_wide_candidates((0.0, 1.0) if gram == "target" else (0.0,), fit_intercept=fit_intercept)
    fits.add(candidates)
    if gram == "pooled" and fits.contradicted():
        more = make_wide_candidates((1.0,), fit_intercept=fit_intercept)
        fits.add([candidate for candidate in more if candidate not in candidates])
    choice = fits.choose()
    chosen = [fits.candidates[i] for i in choice]
    coef = np.stack([fits.found[i][:, label] for label, i in enumerate(choice)], axis=1)
    mean, label_mean = fits.source.mean[:, None], fits.source.label_mean
    means = np.where([c.kind == "source" for c in chosen], mean, (1 - r)[:, None] * mean)
    intercept = label_mean - (means * coef).sum(axis=0)
    return StabilisedFit(
        coef,
        intercept if fit_intercept else np.zeros_like(intercept),
        tuple(fits.matrix(fits.candidates[i]) for i in np.unique(choice)),
        kind=np.array([c.kind for c in chosen]),
        shrinkage=np.array([share_undone(r, fits.theta(c.caution), c) for c in chosen]),
        weight=np.array([c.weight for c in chosen]),
        ridge=np.array([c.ridge for c in chosen]),
    )


class _Fits:
    """Candidates with their coefficients on all rows, and their risks on held-out ones."""

    def __init__(self, source: FoldedRows, target: FoldedRows, r: Array):
        self.source, self.target, self.r = source, target, r
        self.n_folds = len(source.sizes)
        self.candidates: list[Candidate] = []
        self.found: list[Array] = []
        self.risks: list[Array] = []  # (folds, k) each
        self.gaps: list[Array] = []
        self.missed: list[Array] = []
        self._cache: dict[Candidate, tuple[Array, Array]] = {}  # coefficients that other candidates use
        counts = source.counts.sum(axis=0), target.counts.sum(axis=0)
        self.variance = variance_of_r(r, counts, (source.n, target.n))
        self.there, self.there_without = target.diagonal_whole(), target.diagonal_without()
        self.cross, self.together = source.cross_whole(), source.together_whole()
        # Without each fold: r, its variance, and what is lost together.
        q = [side.counts.sum(axis=0) - side.counts for side in (source, target)]
        n = [(side.n - side.sizes)[:, None] for side in (source, target)]
        shares = q[0] / n[0], q[1] / n[1]
        self.r_without = np.where(shares[0] > 0, 1 - shares[1] / np.where(shares[0] > 0, shares[0], 1), r)
        self.variance_without = variance_of_r(self.r_without, (q[0], q[1]), (n[0], n[1]))
        self.cross_without = source.cross_without()
        self.together_without = [source.together_without(f, self.together) for f in range(len(source.sizes))]

    def theta(self, caution: float) -> Array:
        return shares_to_undo(self.r, self.variance, caution)

    def rates(self, candidate: Candidate) -> tuple[Array, Array]:
        """The rate by which a candidate moves the source: on all rows, (d,), and without each fold, (folds, d)."""
        if candidate.kind in ("source", "recentred"):
            return np.zeros_like(self.r), np.zeros_like(self.r_without)
        if candidate.kind == "filter":
            return np.maximum(self.r, 0), np.maximum(self.r_without, 0)
        theta = self.theta(candidate.caution)
        inner = shares_to_undo(self.r_without, self.variance_without, candidate.caution)
        return (
            np.where(self.r < 0, theta * self.r, self.r),
            np.where(self.r_without < 0, inner * self.r_without, self.r_without),
        )

    def ridge(self, candidate: Candidate) -> tuple[Array, Array]:
        """κ W on all rows and without each fold."""
        whole = candidate.ridge * self.there * np.maximum(1 - self.r, 1)
        return whole, candidate.ridge * self.there_without * np.maximum(1 - self.r_without, 1)

    def matrix(self, candidate: Candidate) -> Array:
        """M + κ W of all rows."""
        rate, _ = self.rates(candidate)
        groups, second = self.source.columns.groups, self.source.second
        if candidate.weight == 1:
            matrix = self.target.second.copy()
        elif not rate.any():
            matrix = second.copy()
        elif self.source.intercept:
            matrix = move_covariance(second, self.source.mean, rate, groups=groups)
        else:
            matrix = move_gram(second, rate, groups=groups)
        matrix.flat[:: len(matrix) + 1] += self.ridge(candidate)[0]
        return matrix

    def product(self, candidate: Candidate, *, ridged: bool) -> Product:
        """Multiply by M, or M + κ W, without each fold."""
        _, rates = self.rates(candidate)
        keep, extra = (1 - rates).T[:, :, None], (rates * (1 - rates)).T[:, :, None]
        ridge = self.ridge(candidate)[1].T[:, :, None]

        def moved(V: Array) -> Array:
            if candidate.weight == 1:
                return self.target.multiply_without(V)
            out = keep * self.source.multiply_without(keep * V)
            if rates.any():
                shared = [part @ V[:, f] for f, part in enumerate(self.together_without)]
                out += extra * np.stack(shared, axis=1)
            return out

        return (lambda V: moved(V) + ridge * V) if ridged and candidate.ridge else moved

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Fit candidates on all rows and without each fold, and estimate their risks."""
        coefs = [self.fit(candidate) for candidate in candidates]
        self.candidates.extend(candidates)
        self.found.extend(whole for whole, _ in coefs)
        risks, gaps, missed = self.held_out_risk(candidates, np.stack([without for _, without in coefs]))
        self.risks.extend(risks)
        self.gaps.extend(gaps)
        self.missed.extend(missed)

    def fit(self, candidate: Candidate) -> tuple[Array, Array]:
        """Coefficients on all rows, (d, k), and without each fold, (d, folds, k)."""
        if candidate.kind == "source" and Candidate("recentred") in self._cache:
            return self._cache[Candidate("recentred")]
        matrix = self.matrix(candidate)
        rate, rates = self.rates(candidate)
        cross = (1 - rate)[:, None] * self.cross
        crosses = (1 - rates).T[:, :, None] * self.cross_without
        factor = Factor(matrix)
        if candidate.kind != "adjusted":
            whole = factor.solve(cross) if factor.exact else solve_symmetric(matrix, cross)
            start = np.repeat(whole[:, None], crosses.shape[1], axis=1)
            without, _ = conjugate_gradients(self.product(candidate, ridged=False), factor.solve, crosses, start)
            self._cache[candidate] = whole, without
            return whole, without
        calm, calm_without = self._cache[Candidate("filter")]
        right = cross - (matrix @ calm - self.ridge(candidate)[0][:, None] * calm)
        step = factor.solve(right) if factor.exact else solve_definite(matrix, right)
        if step is None or not factor.definite:
            return np.full_like(calm, np.nan), np.full_like(calm_without, np.nan)
        left = crosses - self.product(candidate, ridged=False)(calm_without)
        start = np.repeat(step[:, None], crosses.shape[1], axis=1)
        steps, indefinite = conjugate_gradients(self.product(candidate, ridged=True), factor.solve, left, start)
        steps[:, indefinite] = np.nan
        return calm + step, calm_without + steps

    def held_out_risk(self, candidates: Sequence[Candidate], coefs: Array) -> tuple[Array, Array, Array]:
        """Return what `dams.estimators.stabilise.Risks` holds, each (candidates, folds, k).

        Coefficients have the shape (candidates, d, folds, k).
        """
        source, target, r = self.source, self.target, self.r
        keep = 1 - r
        n_candidates, d, _, k = coefs.shape
        risks, gaps, missed = np.zeros((3, n_candidates, self.n_folds, k))
        start_of_all = self._cache[Candidate("filter")][1]
        for fold in range(self.n_folds):
            start = start_of_all[:, fold]
            steps = coefs[:, :, fold] - start
            flat = np.concatenate([start[None], steps]).transpose(1, 0, 2).reshape(d, -1)
            predicted = source.predict(fold, keep[:, None] * flat).reshape(source.sizes[fold], n_candidates + 1, k)
            there = target.predict(fold, flat).reshape(target.sizes[fold], n_candidates + 1, k)
            cross = keep[:, None] * source.cross_of(fold)
            shared = (r * keep)[:, None] * (source.together[fold] @ start)
            moved = np.einsum("nck,nk->ck", predicted[:, 1:], predicted[:, 0]) / source.sizes[fold]
            moved += np.einsum("cdk,dk->ck", steps, shared)
            quadratic = np.einsum("nck,nck->ck", there[:, 1:], there[:, 1:]) / target.sizes[fold]
            risks[:, fold] = quadratic - 2 * (np.einsum("cdk,dk->ck", steps, cross) - moved)
            both = np.einsum("nck,nk->ck", there[:, 1:], there[:, 0]) / target.sizes[fold]
            gaps[:, fold] = 2 * (both - moved)
            if source.intercept:
                # Errors of the intercepts, as in `dams.estimators.stabilise`.
                plain = np.array([candidate == SOURCE for candidate in candidates])[:, None]
                means = source.means[fold], source.means_without[fold]
                there_means = target.means[fold], target.means_without[fold]
                # Means of what is never lost say nothing of the moved ones.
                moved_means = tuple(
                    np.where(r == 0, there, kept * mean)
                    for kept, mean, there in zip((keep, 1 - self.r_without[fold]), means, there_means, strict=True)
                )
                as_is, adjusted = (
                    np.prod([(a - b) @ coefs[:, :, fold] for a, b in zip(there_means, guess, strict=True)], axis=0)
                    for guess in (means, moved_means)
                )
                risks[:, fold] += np.where(plain, as_is, 0.0)
                missed[:, fold] = np.where(plain, 0.0, adjusted)
        return risks, gaps, missed

    def contradicted(self) -> bool:
        """Whether held-out target rows contradict the moved source's second moments, for any label."""
        gaps = np.stack(self.gaps, axis=1)
        gap, doubt = mean_and_error(gaps - gaps[:, [self.candidates.index(SOURCE)]])
        return bool((np.abs(gap) > CONTRADICTED * doubt).any())

    def choose(self) -> Array:
        """Index of the chosen candidate, one per label."""
        plain = self.candidates.index(SOURCE)
        found = np.stack(self.found)
        Y = self.source.Y
        assert Y is not None
        explained = Y.var(axis=0) if self.source.intercept else np.square(Y).mean(axis=0)
        adjusted = np.array([c.kind == "adjusted" for c in self.candidates])
        flat = found.transpose(1, 0, 2).reshape(found.shape[1], -1)
        predicted = np.asarray(self.target.X @ flat)
        spread = predicted.var(axis=0) if self.source.intercept else np.square(predicted).mean(axis=0)
        cross = (1 - self.r)[:, None] * self.cross
        quadratic = spread.reshape(len(found), -1) - 2 * np.einsum("cdk,dk->ck", found, cross)
        too_much = (explained + quadratic < 0) & adjusted[:, None]
        risks = Risks(*(np.stack(values, axis=1) for values in (self.risks, self.gaps, self.missed)))
        return choose_least_risk(risks, too_much, plain, explained, min(self.source.n, self.target.n))
