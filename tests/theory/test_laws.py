"""Exact moments of discrete laws, and the moments table against them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dams.moments import inverse_rates, move_covariance, move_gram, move_mean, relative_rates
from dams.theory.laws import DiscreteLaw, conditional, mask_probability, masks


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


@pytest.fixture
def law(rng):
    return DiscreteLaw.random(rng, sizes=(2, 3, 4), n_labels=3)


@pytest.fixture
def rates(rng):
    return rng.uniform(0, 0.9, (2, 3))


def test_states_follow_the_layout_of_the_law(law):
    for row, index in zip(law.states(), np.ndindex(2, 3, 4), strict=True):
        assert row.tolist() == [law.supports[j][i] for j, i in enumerate(index)]


def test_moments_are_those_of_a_large_sample(law):
    rng = np.random.default_rng(0)
    n = 400_000
    state, label = np.unravel_index(rng.choice(law.p.size, n, p=law.p.ravel()), (law.p[..., 0].size, 3))
    X, y = law.states()[state], law.labels[label]
    moments = law.moments()
    assert_allclose(moments.mean, X.mean(axis=0), atol=0.02)
    assert_allclose(moments.gram, X.T @ X / n, atol=0.05)
    assert_allclose(moments.cross[:, 0], X.T @ y / n, atol=0.05)
    assert_allclose(moments.covariance, np.cov(X.T), atol=0.05)
    assert_allclose(moments.label_variance, y.var(), rtol=0.02)
    assert_allclose(law.nonzero_shares(), (X != 0).mean(axis=0), atol=0.01)
    assert_allclose(law.conditional_mean().ravel()[0], y[state == 0].mean(), atol=0.1)


def test_moments_table_clean_to_corrupted(law, rates):
    m = rates[0]
    clean, corrupted = law.moments(), law.corrupted(m).moments()
    assert_allclose(move_mean(clean.mean, m), corrupted.mean, atol=1e-12)
    assert_allclose(move_gram(clean.gram, m), corrupted.gram, atol=1e-12)
    assert_allclose(move_covariance(clean.covariance, clean.mean, m), corrupted.covariance, atol=1e-12)
    assert_allclose(move_mean(clean.cross, m), corrupted.cross, atol=1e-12)
    assert_allclose(move_mean(clean.label_covariance, m), corrupted.label_covariance, atol=1e-12)


def test_moments_table_corrupted_to_clean(law, rates):
    m = rates[0]
    clean, corrupted = law.moments(), law.corrupted(m).moments()
    back = inverse_rates(m)
    assert_allclose(move_mean(corrupted.mean, back), clean.mean, atol=1e-9)
    assert_allclose(move_gram(corrupted.gram, back), clean.gram, atol=1e-9)
    assert_allclose(move_covariance(corrupted.covariance, corrupted.mean, back), clean.covariance, atol=1e-9)
    assert_allclose(move_mean(corrupted.cross, back), clean.cross, atol=1e-9)


def test_moments_move_from_source_to_target_and_back(law, rates):
    source, target = (law.corrupted(m).moments() for m in rates)
    for start, end, r in [(source, target, relative_rates(*rates)), (target, source, relative_rates(*rates[::-1]))]:
        moved = start.moved(r)
        assert_allclose(moved.mean, end.mean, atol=1e-9)
        assert_allclose(moved.gram, end.gram, atol=1e-9)
        assert_allclose(moved.cross, end.cross, atol=1e-9)


def test_masks_are_a_law():
    keep = np.array([0.2, 0.7, 1.0])
    probabilities = [mask_probability(mask, keep) for mask in masks(3)]
    assert len(probabilities) == 8
    assert_allclose(sum(probabilities), 1)
    assert_allclose(sum(p * mask for p, mask in zip(probabilities, masks(3), strict=True)), keep)


def test_conditional_is_undefined_where_there_is_nothing_to_condition_on():
    given = conditional(np.array([[0.1, 0.3], [0.0, 0.0]]))
    assert_allclose(given[0], [0.25, 0.75])
    assert np.isnan(given[1]).all()
