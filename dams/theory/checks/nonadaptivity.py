"""Checks of sections 3 and 4: missingness shift, the cost of not adapting, indicators, regularisation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dams.identification import corrupt_law
from dams.theory.checks.base import N_CASES, Section, cases, largest, shortfall
from dams.theory.examples import Confounded, Example, Redundant
from dams.theory.indicators import driven_by_observed, is_missingness_shift, label_law, ucar
from dams.theory.laws import conditional
from dams.theory.regularisation import (
    LINEAR,
    LOGISTIC,
    corrupted_fit,
    expected_loss,
    loss,
    penalised_fit,
    quadratic_penalty,
    regulariser,
)

Array = np.ndarray
SECTION = Section()


@SECTION.add(
    "Definition 1: missingness shift is a change of P(ξ | ·)",
    "Section 3",
    "equal mechanisms against unequal ones; wrong answers counted",
    tolerance=0,
)
def _missingness_shift(rng: np.random.Generator) -> float:
    wrong = 0
    for law, m_source, m_target in cases(rng):
        sizes = law.p.shape[:-1]
        wrong += is_missingness_shift(ucar(sizes, m_source), ucar(sizes, m_source))
        wrong += not is_missingness_shift(ucar(sizes, m_source), ucar(sizes, m_target))
    return wrong


_EPSILONS = np.linspace(0, 1, 21)


def _predictors_and_risk(example: Redundant | Confounded) -> list[Any]:
    """Printed formulas less the same quantities worked out from the moments table."""
    return [
        example.beta_source - example.best_predictor(example.m_source),
        example.beta_target - example.best_predictor(example.m_target),
        example.risk_of_source - example.target_risk(example.beta_source),
        example.label_variance - example.target_risk(np.zeros(2)),
    ]


def _random_confounded(rng: np.random.Generator) -> list[Confounded]:
    return [Confounded(*rng.normal(size=3)) for _ in range(N_CASES)]


@SECTION.add(
    "Example 1: β^s, β^t, the excess target risk of β^s and of predicting zero",
    "Section 4, Example 1; Appendix A",
    "printed formulas against the moments table, ε = 0, 0.05, …, 1",
)
def _example_1(rng: np.random.Generator) -> float:
    deviations = []
    for epsilon in _EPSILONS:
        example = Redundant(epsilon, *rng.uniform(0.5, 2, 2))
        best = example.target_risk(example.beta_target)
        deviations += _predictors_and_risk(example)
        deviations.append(example.excess_risk_of_source - (example.target_risk(example.beta_source) - best))
        deviations.append(example.excess_risk_of_zero - (example.target_risk(np.zeros(2)) - best))
    return largest(deviations)


@SECTION.add(
    "Remark 1: as ε → 0, β^s → [0, 1], β^t → [1, 0] and r^t(β^s) → Var(Y)",
    "Section 4, Remark 1; Appendix A",
    "distance from the limits at ε = 1e-6",
    tolerance=1e-4,
)
def _remark_1(rng: np.random.Generator) -> float:
    example = Redundant(1e-6, *rng.uniform(0.5, 2, 2))
    return largest(
        [
            example.best_predictor(example.m_source) - [0, 1],
            example.best_predictor(example.m_target) - [1, 0],
            example.target_risk(example.best_predictor(example.m_source)) - example.label_variance,
        ]
    )


@SECTION.add(
    "Example 2: β^s = [b, c], β^t = [0, ab/(a² + 1) + c], r^t(β^s) = b² + 1, Var(Y) = (b + ac)² + c² + 1",
    "Section 4, Remark 2; Appendix A",
    "printed formulas against the moments table, random a, b, c",
)
def _example_2(rng: np.random.Generator) -> float:
    return largest(deviation for example in _random_confounded(rng) for deviation in _predictors_and_risk(example))


@SECTION.add(
    "Examples 1 and 2: the formulas describe the stated processes",
    "Section 4, Examples 1 and 2",
    "risk of least squares on 100,000 simulated source rows, on as many target rows; relative to r^t(β^s)",
    tolerance=0.05,
)
def _simulated_examples(rng: np.random.Generator) -> float:
    examples: list[Example] = [Redundant(0.1), Redundant(0.4, 2.0, 0.5), Confounded(1.0, 2.0, -1.0)]
    deviations = []
    for example in examples:
        simulated = example.simulated_target_risk(example.simulated_fit(100_000, example.m_source, rng), 100_000, rng)
        deviations.append(simulated / example.target_risk(example.best_predictor(example.m_source)) - 1)
    return largest(deviations)


@SECTION.add(
    "Remark 2: for any τ > 1 some a, b, c have r^t(β^s) > τ Var(Y)",
    "Section 4, Remark 2; Appendix A",
    "shortfall of the ratio, from the moments table, below τ = 2, 10, 10³, 10⁶",
    tolerance=0,
)
def _remark_2(rng: np.random.Generator) -> float:
    shortfalls = []
    for tau in (2.0, 10.0, 1e3, 1e6):
        example = Confounded.worse_than(tau)
        ratio = example.target_risk(example.best_predictor(example.m_source)) / example.label_variance
        shortfalls.append(max(0.0, tau - ratio))
    return max(shortfalls)


def _random_mechanism(rng: np.random.Generator, sizes: tuple[int, ...]) -> Array:
    """Missingness of the features but the last, driven by the last one, which is never lost."""
    table = rng.uniform(0.1, 0.9, (sizes[-1], len(sizes) - 1))
    return driven_by_observed(sizes, [len(sizes) - 1], lambda x: table[x])


@SECTION.add(
    "Proposition 1: with ξ observed P^s(Y | x̃, ξ) = P^t(Y | x̃, ξ), ξ independent of all",
    "Section 4, Proposition 1; Appendix B",
    "all states and masks of random laws",
)
def _indicators_ucar(rng: np.random.Generator) -> float:
    return largest(
        label_law(law.p, ucar(law.p.shape[:-1], m_source), indicators=True)
        - label_law(law.p, ucar(law.p.shape[:-1], m_target), indicators=True)
        for law, m_source, m_target in cases(rng)
    )


@SECTION.add(
    "Proposition 1: with ξ observed P^s(Y | x̃, ξ) = P^t(Y | x̃, ξ), ξ driven by covariates that are never lost",
    "Section 4, Proposition 1; Appendix B",
    "all states and masks of random laws",
)
def _indicators_observed(rng: np.random.Generator) -> float:
    return largest(
        label_law(law.p, _random_mechanism(rng, law.p.shape[:-1]), indicators=True)
        - label_law(law.p, _random_mechanism(rng, law.p.shape[:-1]), indicators=True)
        for law, _, _ in cases(rng)
    )


@SECTION.add(
    "Without indicators covariate shift is violated: P^s(Y | x̃) ≠ P^t(Y | x̃)",
    "Abstract (i), Section 1",
    "shortfall of the largest difference below 1e-6, random laws",
    tolerance=0,
)
def _no_covariate_shift(rng: np.random.Generator) -> float:
    return shortfall(
        largest([conditional(corrupt_law(law.p, m_source)) - conditional(corrupt_law(law.p, m_target))])
        for law, m_source, m_target in cases(rng)
    )


@SECTION.add(
    "Without indicators label shift is violated: P^s(x̃ | Y) ≠ P^t(x̃ | Y)",
    "Section 1",
    "shortfall of the largest difference below 1e-6, random laws",
    tolerance=0,
)
def _no_label_shift(rng: np.random.Generator) -> float:
    def given_label(joint: Array) -> Array:
        return joint / joint.reshape(-1, joint.shape[-1]).sum(axis=0)

    return shortfall(
        largest([given_label(corrupt_law(law.p, m_source)) - given_label(corrupt_law(law.p, m_target))])
        for law, m_source, m_target in cases(rng)
    )


def _regressions(rng: np.random.Generator) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Random (β, X, y, m), with 0/1 labels so that both families can use them."""
    for _ in range(N_CASES):
        yield rng.normal(size=3), rng.normal(size=(20, 3)), rng.integers(0, 2, 20).astype(float), rng.uniform(0, 0.9, 3)


@SECTION.add(
    "Theorem 4.1: expected loss on corrupted data scaled by 1/(1 − m) = clean loss + R(β), for GLMs",
    "Section 4, Theorem 4.1; Appendix C",
    "all masks enumerated, linear and logistic regression; relative to the loss",
)
def _glm(rng: np.random.Generator) -> float:
    deviations = []
    for family, (beta, X, y, m) in product((LINEAR, LOGISTIC), _regressions(rng)):
        expected = expected_loss(beta, X, y, m, family=family)
        clean = loss(beta, X, y, family=family)
        deviations.append((expected - clean - regulariser(beta, X, m, family=family)) / abs(expected))
    return largest(deviations)


@SECTION.add(
    "Theorem 4.1: for linear regression R(β) = ½ Σ_j m_j/(1 − m_j) β_j² Σ_i x_ij²",
    "Section 4, Theorem 4.1; Appendix C",
    "all masks enumerated; relative to R",
)
def _linear_penalty(rng: np.random.Generator) -> float:
    return largest(quadratic_penalty(beta, X, m) / regulariser(beta, X, m) - 1 for beta, X, _, m in _regressions(rng))


@SECTION.add(
    "Theorem 4.1: for other GLMs the quadratic penalty is R(β) to second order",
    "Appendix C",
    "relative deviation for logistic regression at |β| about 0.001",
    tolerance=0.01,
)
def _logistic_penalty(rng: np.random.Generator) -> float:
    family = LOGISTIC
    return largest(
        quadratic_penalty(beta / 1000, X, m, family=family) / regulariser(beta / 1000, X, m, family=family) - 1
        for beta, X, _, m in _regressions(rng)
    )


@SECTION.add(
    "Theorem 4.1: the minimiser on corrupted data is the penalised minimiser on clean data",
    "Section 4, Theorem 4.1; Appendix C",
    "normal equations of the corrupted moments against those of the penalised clean loss",
)
def _minimiser(rng: np.random.Generator) -> float:
    return largest(corrupted_fit(X, y, m) - penalised_fit(X, y, m) for _, X, y, m in _regressions(rng))


@SECTION.add(
    "As printed: R^q(β) = ½ (β ⊙ m/(1 − m))ᵀ diag(I) (β ⊙ m/(1 − m)), without the square root",
    "Appendix C, last display, second line",
    "all masks enumerated; relative to R",
)
def _linear_penalty_as_printed(rng: np.random.Generator) -> float:
    return largest(
        np.square(beta * m / (1 - m)) @ np.square(X).sum(axis=0) / 2 / regulariser(beta, X, m) - 1
        for beta, X, _, m in _regressions(rng)
    )
