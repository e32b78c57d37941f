"""Checks of section 6 and of the appendices behind it: the filter, the bound on r̂, the moments, the closed form."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Literal

import numpy as np

from dams.estimators.adjusted_moments import adjust_moments
from dams.identification import corrupt_law, filter_distance
from dams.least_squares import least_squares
from dams.moments import inverse_rates, move_covariance, move_gram, move_mean, relative_rates
from dams.theory.checks.base import Section, cases, largest, shortfall
from dams.theory.coverage import simulate_coverage
from dams.theory.laws import DiscreteLaw

Array = np.ndarray
SECTION = Section()
_GRAMS: tuple[Literal["pooled", "target", "source"], ...] = ("pooled", "target", "source")


@SECTION.add(
    "Algorithm 1: for m^s ≤ m^t the filtered source is distributed as labelled target data",
    "Section 6; Appendix G",
    "source law lost once more at max(r, 0) against the target's law, nested rates",
)
def _proper_filter(rng: np.random.Generator) -> float:
    return largest(
        corrupt_law(corrupt_law(law.p, m_source), np.maximum(relative_rates(m_source, m_target), 0))
        - corrupt_law(law.p, m_target)
        for law, m_source, m_target in cases(rng, nested=True)
    )


@SECTION.add(
    "Algorithm 1: otherwise it is not",
    "Section 6",
    "shortfall of the total variation distance below 1e-6, nested rates exchanged",
    tolerance=0,
)
def _improper_filter(rng: np.random.Generator) -> float:
    return shortfall(
        filter_distance(corrupt_law(law.p, m_source), relative_rates(m_source, m_target))
        for law, m_target, m_source in cases(rng, nested=True)
    )


@SECTION.add(
    "Theorem 6.1: with probability ≥ 1 − δ, |r̂ − r| ≤ (√(log(4/δ)/2n_t) + (1 − r) √(log(4/δ)/2n_s))/q̂^s",
    "Section 6, Theorem 6.1; Appendix F",
    "shortfall of the share of 2,000 samples below 1 − δ; q from 0.05 to 0.95, n = 100 and 2,000, δ = 0.05 and 0.5",
    tolerance=0,
)
def _bound_on_r(rng: np.random.Generator) -> float:
    return max(
        shortfall(
            simulate_coverage(
                q_source, q_target, [100, 2000], methods=["hoeffding"], confidence=confidence, random_state=rng
            )["coverage"],
            margin=confidence,
        )
        for q_source, q_target, confidence in product((0.05, 0.5, 0.95), (0.05, 0.5, 0.95), (0.5, 0.95))
    )


@SECTION.add(
    "As printed: β^t = E[X̃^tᵀX̃^t]⁻¹ (r ⊙ E[X̃^sᵀY])",
    "Section 6, Proposition 2, Equation 4; Algorithm 2, step 5; Appendix H.1",
    "exact moments of random laws, relative to β^t",
)
def _closed_form_as_printed(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        source, target = law.corrupted(m_source).moments(), law.corrupted(m_target).moments()
        best = np.linalg.solve(target.gram, target.cross)
        printed = np.linalg.solve(target.gram, relative_rates(m_source, m_target)[:, None] * source.cross)
        deviations.append((printed - best) / np.abs(best).max())
    return largest(deviations)


@SECTION.add(
    "Proposition 2, corrected: β^t = E[X̃^tᵀX̃^t]⁻¹ ((1 − r) ⊙ E[X̃^sᵀY])",
    "Section 6, Proposition 2; Appendix H.1",
    "exact moments of random laws, relative to β^t",
)
def _closed_form(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        source, target = law.corrupted(m_source).moments(), law.corrupted(m_target).moments()
        best = np.linalg.solve(target.gram, target.cross)
        moved = np.linalg.solve(target.gram, move_mean(source.cross, relative_rates(m_source, m_target)))
        deviations.append((moved - best) / np.abs(best).max())
    return largest(deviations)


@SECTION.add(
    "Proposition 3: E[X̃^tᵀX̃^t]_ij = (1 − r_i)(1 − r_j) E[X̃^sᵀX̃^s]_ij, E[X̃^tᵀX̃^t]_ii = (1 − r_i) E[X̃^sᵀX̃^s]_ii",
    "Section 6, Proposition 3, Equations 5 and 6; Appendix H.3",
    "exact moments of random laws, r of either sign",
)
def _target_gram(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        source, target = law.corrupted(m_source).moments().gram, law.corrupted(m_target).moments().gram
        keep = 1 - relative_rates(m_source, m_target)
        printed = np.outer(keep, keep) * source
        np.fill_diagonal(printed, keep * np.diagonal(source))
        deviations += [printed - target, move_gram(source, 1 - keep) - target]
    return largest(deviations)


@SECTION.add(
    "Algorithm 2, corrected, gives the optimal linear target predictor",
    "Abstract (iv), Section 6, Algorithm 2",
    "its code on exact moments, M from either domain or both, with intercept and without; relative to β^t",
)
def _algorithm_2(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        source, target = law.corrupted(m_source).moments(), law.corrupted(m_target).moments()
        for gram, fit_intercept in product(_GRAMS, (False, True)):
            moments = adjust_moments(source, target, relative_rates(m_source, m_target), gram=gram)
            best = least_squares(target, fit_intercept=fit_intercept)
            adjusted = least_squares(moments, fit_intercept=fit_intercept)
            size = np.abs(best.coef).max()
            deviations += [(adjusted.coef - best.coef) / size, (adjusted.intercept - best.intercept) / size]
    return largest(deviations)


@SECTION.add(
    "Algorithm 2, corrected, is consistent: its excess target risk vanishes as n grows",
    "Abstract (iv), Section 6, Algorithm 2",
    "excess risk at n = 10⁶ over that at n = 10⁴, means of 20 samples of random laws; 0.01 is the rate of 1/n",
    tolerance=0.1,
)
def _consistency(rng: np.random.Generator) -> float:
    return max(
        _excess_risk(law, m_source, m_target, 10**6, rng) / _excess_risk(law, m_source, m_target, 10**4, rng)
        for law, m_source, m_target in cases(rng)
    )


def _excess_risk(law: DiscreteLaw, m_source: Array, m_target: Array, n: int, rng: np.random.Generator) -> float:
    """Mean excess target risk of algorithm 2 fitted on n rows of either domain, r̂ included."""
    target = law.corrupted(m_target).moments()
    best = least_squares(target).mse(target)
    excess = []
    for _ in range(20):
        domains = [law.corrupted(m) for m in (m_source, m_target)]
        samples = [replace(d, p=rng.multinomial(n, d.p.ravel()).reshape(d.p.shape) / n) for d in domains]
        q_source, q_target = (sample.nonzero_shares() for sample in samples)
        moments = adjust_moments(samples[0].moments(), samples[1].moments(), 1 - q_target / q_source)
        excess.append((least_squares(moments).mse(target) - best).item())
    return float(np.mean(excess))


@SECTION.add(
    "Moments table: E[X̃], E[X̃ᵀX̃], and with them Cov(X̃) and E[X̃ᵀY], from the clean ones",
    "Appendix H.2, moments table",
    "exact moments of random laws",
)
def _moments_of_corrupted(rng: np.random.Generator) -> float:
    deviations = []
    for law, m, _ in cases(rng):
        clean, corrupted = law.moments(), law.corrupted(m).moments()
        moved = clean.moved(m)
        deviations += [
            moved.mean - corrupted.mean,
            moved.covariance - corrupted.covariance,
            moved.cross - corrupted.cross,
            move_gram(clean.gram, m) - corrupted.gram,
        ]
    return largest(deviations)


@SECTION.add(
    "Moments table: E[X] and E[XᵀX], and with them Cov(X), from the corrupted ones",
    "Appendix H.2, moments table",
    "exact moments of random laws, m ≤ 0.9: printed formulas and the map with rate −m/(1 − m)",
)
def _moments_of_clean(rng: np.random.Generator) -> float:
    deviations = []
    for law, m, _ in cases(rng):
        clean, corrupted = law.moments(), law.corrupted(m).moments()
        scale, back = 1 / (1 - m), inverse_rates(m)
        second = corrupted.covariance.diagonal() + corrupted.mean**2
        deviations += [
            scale * corrupted.mean - clean.mean,
            np.outer(scale, scale) * corrupted.gram - np.diag(m * scale**2 * corrupted.gram.diagonal()) - clean.gram,
            np.outer(scale, scale) * corrupted.covariance - np.diag(m * scale**2 * second) - clean.covariance,
            move_mean(corrupted.mean, back) - clean.mean,
            move_gram(corrupted.gram, back) - clean.gram,
            move_covariance(corrupted.covariance, corrupted.mean, back) - clean.covariance,
        ]
    return largest(deviations)


@SECTION.add(
    "As printed: E[X̃ᵀy] = (1 − m) ⊙ Cov(X, y) + (1 − m) ⊙ E[X̃]ᵀE[y], with E[X̃] in place of E[X]",
    "Appendix H.3, clean to corrupted, second line",
    "exact moments of random laws",
)
def _cross_moment_as_printed(rng: np.random.Generator) -> float:
    deviations = []
    for law, m, _ in cases(rng):
        clean, corrupted = law.moments(), law.corrupted(m).moments()
        printed = move_mean(clean.cross + np.outer(corrupted.mean - clean.mean, law.label_mean), m)
        deviations.append(printed - corrupted.cross)
    return largest(deviations)


@SECTION.add(
    "As printed: the diagonal term of E[X̃^tᵀX̃^t] is diag(m_t/(1 − m_t)) ⊙ diag((1 − m_s) E[X̃^sᵀX̃^s])",
    "Appendix H.3, (C) → (T), second line",
    "exact moments of random laws; the next line's m_t(1 − m_t)/(1 − m_s) is right",
)
def _target_gram_as_printed(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        source, target = law.corrupted(m_source).moments().gram, law.corrupted(m_target).moments().gram
        clean = move_gram(source, inverse_rates(m_source))
        extra = m_target / (1 - m_target) * (1 - m_source) * source.diagonal()
        deviations.append(np.outer(1 - m_target, 1 - m_target) * clean + np.diag(extra) - target)
    return largest(deviations)
