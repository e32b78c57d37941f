"""Checks of section 5: what is identified from corrupted laws, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dams.identification import (
    corrupt_law,
    could_have_produced,
    indistinguishable_pair,
    is_reachable,
    recover_law,
    transport_law,
)
from dams.moments import relative_rates
from dams.theory.checks.base import Section, cases, largest
from dams.theory.indicators import observed_law, ucar
from dams.theory.laws import conditional, corrupt_by_enumeration, masks

Array = np.ndarray
SECTION = Section()


def _pairs(values: tuple[float, ...], d: int = 3) -> Iterator[tuple[Array, Array]]:
    points = [np.array(point) for point in product(values, repeat=d)]
    return product(points, points)


@SECTION.add(
    "Definition 2: b is m-reachable from a iff some mask ξ has b = a ⊙ ξ",
    "Section 5, Definition 2",
    "all pairs from {0, 1, −2}³ against all masks; disagreements counted",
    tolerance=0,
)
def _reachability(rng: np.random.Generator) -> float:
    return sum(
        bool(is_reachable(a, b)) != any(np.array_equal(b, a * mask) for mask in masks(3))
        for a, b in _pairs((0.0, 1.0, -2.0))
    )


@SECTION.add(
    "Remark 3: if a ⇝ b, zeros of a are zeros of b and entries nonzero in both agree; for binary data a ⇝ b iff a ⪰ b",
    "Section 5, Remark 3",
    "all pairs from {0, 1, −2}³ and from {0, 1}³; counterexamples counted",
    tolerance=0,
)
def _reachability_characters(rng: np.random.Generator) -> float:
    counterexamples = 0
    for a, b in _pairs((0.0, 1.0, -2.0)):
        both = (a != 0) & (b != 0)
        counterexamples += bool(is_reachable(a, b)) and not (
            bool(np.all(b[a == 0] == 0)) and np.array_equal(a[both], b[both])
        )
    return counterexamples + sum(bool(is_reachable(a, b)) != bool(np.all(a >= b)) for a, b in _pairs((0.0, 1.0)))


@SECTION.add(
    "Equation 1: p̃ as a sum over all z ⇝ x",
    "Section 5, Equation 1",
    "the sum as printed and the product of small matrices, both against X̃ = X ⊙ ξ with all masks enumerated",
)
def _equation_1(rng: np.random.Generator) -> float:
    deviations = []
    for law, m, _ in cases(rng):
        d = law.n_features
        truth = observed_law(law.p, ucar(law.p.shape[:-1], m)).sum(axis=tuple(range(d, 2 * d)))
        deviations += [corrupt_by_enumeration(law, m) - truth, corrupt_law(law.p, m) - truth]
    return largest(deviations)


@SECTION.add(
    "Lemma 5.1: given m < 1, p is identified from p̃",
    "Section 5, Lemma 5.1; Appendix D",
    "recovered law against the clean one, m ≤ 0.9",
)
def _clean_from_corrupted(rng: np.random.Generator) -> float:
    return largest(recover_law(corrupt_law(law.p, m), m) - law.p for law, m, _ in cases(rng))


@SECTION.add(
    "Remark 4: the rates are not identified: Bernoulli(½) at m = ½ and Bernoulli(¼) at m = 0 look alike",
    "Section 5, Remark 4",
    "difference of the corrupted laws, the rates being ½ apart",
)
def _unidentifiable(rng: np.random.Generator) -> float:
    (law_a, m_a), (law_b, m_b) = indistinguishable_pair()
    seen = corrupt_law(law_a, m_a)
    both_possible = could_have_produced(seen, m_a) and could_have_produced(seen, m_b) and abs(m_a - m_b).min() >= 0.5
    return largest([seen - corrupt_law(law_b, m_b)]) if both_possible else 1.0


@SECTION.add(
    "Remark 5: (1 − m^t)/(1 − m^s) = P^t(X̃ ≠ 0)/P^s(X̃ ≠ 0) = 1 − r",
    "Section 5, Remark 5, Equation 2",
    "shares of nonzeros of random laws",
)
def _relative_missingness(rng: np.random.Generator) -> float:
    return largest(
        law.corrupted(m_target).nonzero_shares() / law.corrupted(m_source).nonzero_shares()
        - (1 - relative_rates(m_source, m_target))
        for law, m_source, m_target in cases(rng)
    )


@SECTION.add(
    "Theorem 5.2: p̃^t from p̃^s and r alone, r of either sign",
    "Section 5, Theorem 5.2, Equation 3; Appendix E",
    "the sum as printed and the product of small matrices, both against the law corrupted at m^t",
)
def _source_to_target(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        source, r = law.corrupted(m_source), relative_rates(m_source, m_target)
        truth = corrupt_law(law.p, m_target)
        deviations += [transport_law(source.p, r) - truth, corrupt_by_enumeration(source, r) - truth]
    return largest(deviations)


@SECTION.add(
    "The optimal target predictor E[Y | x̃^t] is identified though the rates are not",
    "Abstract (iii), Section 5",
    "conditional means of the transported law against those of the target, in standard deviations of Y",
    tolerance=1e-6,
)
def _optimal_predictor(rng: np.random.Generator) -> float:
    deviations = []
    for law, m_source, m_target in cases(rng):
        r = 1 - law.corrupted(m_target).nonzero_shares() / law.corrupted(m_source).nonzero_shares()
        carried = conditional(transport_law(law.corrupted(m_source).p, r)) @ law.labels
        deviations.append((carried - law.corrupted(m_target).conditional_mean()) / np.std(law.labels))
    return largest(deviations)
