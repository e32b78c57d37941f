"""Discrete laws under missingness: corrupt, recover, transport; what the rates could have been."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dams.identification import (
    corrupt_law,
    could_have_produced,
    filter_distance,
    indistinguishable_pair,
    is_reachable,
    possible_rates,
    recover_law,
    total_variation,
    transport_law,
)
from dams.moments import relative_rates
from dams.theory.laws import DiscreteLaw, corrupt_by_enumeration

SETTINGS = settings(deadline=None, max_examples=60)


@st.composite
def laws(draw, max_features=4):
    """Random laws of features with one to four values, some states of probability zero."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_features)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    law = DiscreteLaw.random(rng, sizes, draw(st.integers(1, 3)))
    law.p[rng.random(law.p.shape) < draw(st.sampled_from([0.0, 0.5]))] = 0
    law.p[(0,) * law.p.ndim] += 1 - law.p.sum()
    return law


@st.composite
def laws_with_rates(draw, n_rates=1):
    law = draw(laws())
    rates = st.lists(st.floats(0, 0.9), min_size=law.n_features, max_size=law.n_features).map(np.array)
    return (law, *(draw(rates) for _ in range(n_rates)))


@pytest.mark.parametrize(
    ("a", "b", "reachable"),
    [
        ([1, 1, 1], [1, 1, 1], True),
        ([1, 1, 7], [1, 1, 0], True),
        ([1, 1, 0], [1, 1, 1], False),
        ([1, 2], [2, 0], False),
        ([0, 0], [0, 0], True),
        ([-1, 3], [0, 3], True),
    ],
)
def test_reachability(a, b, reachable):
    assert bool(is_reachable(a, b)) is reachable


def test_reachability_broadcasts():
    assert is_reachable([[1, 1], [1, 0], [2, 1]], [1, 0]).tolist() == [True, True, False]


@SETTINGS
@given(laws_with_rates())
def test_corruption_is_the_papers_sum(case):
    law, m = case
    assert_allclose(corrupt_law(law.p, m), corrupt_by_enumeration(law, m), atol=1e-12)


@SETTINGS
@given(laws_with_rates())
def test_corruption_gives_a_law(case):
    law, m = case
    corrupted = corrupt_law(law.p, m)
    assert corrupted.min() >= 0
    assert_allclose(corrupted.sum(), 1, atol=1e-12)
    # The label is never lost.
    features = tuple(range(law.n_features))
    assert_allclose(corrupted.sum(axis=features), law.p.sum(axis=features), atol=1e-12)


@SETTINGS
@given(laws_with_rates())
def test_recovery_undoes_corruption(case):
    law, m = case
    assert_allclose(recover_law(corrupt_law(law.p, m), m), law.p, atol=1e-9)


@SETTINGS
@given(laws_with_rates(n_rates=2))
def test_transport_leads_from_source_to_target(case):
    law, m_source, m_target = case
    source, r = corrupt_law(law.p, m_source), relative_rates(m_source, m_target)
    moved = transport_law(source, r)
    assert_allclose(moved, corrupt_law(recover_law(source, m_source), m_target), atol=1e-9)
    assert_allclose(moved, corrupt_law(law.p, m_target), atol=1e-9)
    assert_allclose(moved, corrupt_by_enumeration(law.corrupted(m_source), r), atol=1e-9)
    assert moved.min() >= -1e-9
    assert_allclose(transport_law(moved, relative_rates(m_target, m_source)), source, atol=1e-9)


def test_transport_with_a_wrong_r_keeps_the_mass_but_not_the_sign():
    source = np.array([[0.1], [0.9]])
    moved = transport_law(source, -0.2)
    assert_allclose(moved[:, 0], [-0.08, 1.08])


def test_a_rate_of_one_loses_the_feature():
    law = DiscreteLaw.random(np.random.default_rng(0))
    corrupted = corrupt_law(law.p, [1, 0, 1])
    assert corrupted[1:].sum() == 0
    assert_allclose(corrupted[0, :, 0], law.p.sum(axis=(0, 2)))


def test_arguments_are_left_alone():
    law = DiscreteLaw.random(np.random.default_rng(0)).p
    before = law.copy()
    corrupt_law(law, 0.5), recover_law(law, 0.5), transport_law(law, -0.5)
    assert (law == before).all()


@pytest.mark.parametrize("n_labels", [1, 2])
def test_a_million_states_are_small_work(n_labels):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(2**20 * n_labels)).reshape((2,) * 20 + (n_labels,))
    m = rng.uniform(0, 0.9, 20)
    tracemalloc.start()
    start = time.perf_counter()
    recovered = recover_law(corrupt_law(p, m), m)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 4
    assert peak < 500e6
    assert_allclose(recovered, p, atol=1e-12)


def test_the_papers_pair_looks_alike():
    (law_a, m_a), (law_b, m_b) = indistinguishable_pair()
    assert (law_a[1], law_b[1], m_a, m_b) == (0.5, 0.25, 0.5, 0)
    assert_allclose(corrupt_law(law_a, m_a), corrupt_law(law_b, m_b), atol=1e-15)


@SETTINGS
@given(laws_with_rates())
def test_the_true_rates_and_all_below_are_possible(case):
    law, m = case
    corrupted = corrupt_law(law.p, m)
    assert (possible_rates(corrupted) >= m - 1e-9).all()
    assert could_have_produced(corrupted, m)
    assert could_have_produced(corrupted, m / 2)
    assert could_have_produced(corrupted, 0)


@SETTINGS
@given(laws())
def test_the_largest_rate_of_a_feature_is_sharp(law):
    for j, largest in enumerate(possible_rates(law.p)):
        alone = np.zeros(law.n_features)
        alone[j] = min(largest, 0.999)
        assert could_have_produced(law.p, alone)
        if largest < 0.9:
            alone[j] = largest + 0.05
            # A state of tiny probability may hide the negative entry from the default tolerance.
            assert not could_have_produced(law.p, alone, tolerance=0)


def test_possible_rates_are_not_a_box():
    p_tilde = np.array([[1, 1], [1, 0]])[..., None] / 3
    assert_allclose(possible_rates(p_tilde), [0.5, 0.5])
    assert could_have_produced(p_tilde, [0.5, 0])
    assert could_have_produced(p_tilde, [0, 0.5])
    assert not could_have_produced(p_tilde, [0.5, 0.5])
    # With odds o = m/(1 − m), the recovered P(0, 0) is (1 − o_1 − o_2)/3.
    assert could_have_produced(p_tilde, [0.25, 0.4])
    assert not could_have_produced(p_tilde, [0.26, 0.4])


def test_independent_features_allow_the_whole_box():
    p_tilde = np.multiply.outer([0.6, 0.4], [0.3, 0.7])[..., None]
    assert_allclose(possible_rates(p_tilde), [0.6, 0.3])
    assert could_have_produced(p_tilde, [0.6, 0.3])


def test_a_feature_never_seen_could_have_any_rate():
    assert_allclose(possible_rates(np.array([[0.5, 0.5], [0, 0]])), [1])


@SETTINGS
@given(laws_with_rates(n_rates=2))
def test_the_filter_is_proper_where_rates_are_nested(case):
    law, one, other = case
    m_source, m_target = np.minimum(one, other), np.maximum(one, other)
    r = relative_rates(m_source, m_target)
    assert filter_distance(corrupt_law(law.p, m_source), r) == 0
    assert_allclose(corrupt_law(corrupt_law(law.p, m_source), r), corrupt_law(law.p, m_target), atol=1e-9)


def test_distance_of_an_improper_filter():
    # One binary feature: the filter leaves q^s where the target has q^s (1 − r).
    assert_allclose(filter_distance(np.array([[0.7], [0.3]]), -0.5), 0.3 * 0.5)


@SETTINGS
@given(laws_with_rates(n_rates=2))
def test_distance_is_at_least_that_of_any_features_share_of_nonzeros(case):
    law, m_source, m_target = case
    source, r = law.corrupted(m_source), relative_rates(m_source, m_target)
    missed = source.nonzero_shares() * np.maximum(-r, 0)
    assert filter_distance(source.p, r) >= missed.max() - 1e-9


def test_total_variation():
    assert total_variation([0.5, 0.5], [1, 0]) == 0.5
    assert total_variation([1, 0], [0, 1]) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: corrupt_law([0.5, 0.5], 0.1), r"two axes or more; got shape \(2,\).*law\[\.\.\., None\]"),
        (lambda: corrupt_law([[0.5], [np.nan]], 0.1), "p must hold finite probabilities"),
        (lambda: corrupt_law([[0.5], [0.5]], [0.1, 0.2]), r"m must be .* one rate per feature \(1\), .* shape \(2,\)"),
        (lambda: corrupt_law([[0.5], [0.5]], 1.5), r"m must be in \[0, 1\], got 1.5 for feature 0"),
        (lambda: corrupt_law([[0.5], [0.5]], -0.5), r"m must be in \[0, 1\], got -0.5 for feature 0"),
        (lambda: recover_law([[0.5], [0.5]], 1), r"m must lie in \[0, 1\): .* got 1 for column 0"),
        (lambda: transport_law([[0.5], [0.5]], 1.5), "r must be finite and at most 1, got 1.5 for feature 0"),
        (lambda: transport_law([[0.5], [0.5]], -np.inf), "r must be finite and at most 1, got -inf"),
        (lambda: filter_distance([[0.5], [0.5]], 1.5), "r must be finite and at most 1"),
        (
            lambda: possible_rates([[1.5], [-0.5]]),
            "p_tilde must be a law, with no negative entry; its smallest is -0.5",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
