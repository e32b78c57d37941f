"""Examples 1 and 2: printed formulas against moments, and both against simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dams.theory.examples import Confounded, Redundant

SETTINGS = settings(deadline=None, max_examples=50)
COEFFICIENTS = st.floats(-5, 5)


@SETTINGS
@given(st.floats(0, 1), st.floats(0.1, 5), st.floats(0.1, 5))
def test_redundant_formulas_follow_from_the_moments(epsilon, sigma_z, sigma_y):
    example = Redundant(epsilon, sigma_z, sigma_y)
    # Least squares drops a feature observed with less than the rounding of a float.
    if 1e-9 < epsilon < 1 - 1e-9:
        assert_allclose(example.beta_source, example.best_predictor(example.m_source), atol=1e-5)
        assert_allclose(example.beta_target, example.best_predictor(example.m_target), atol=1e-5)
    best = example.target_risk(example.beta_target)
    assert_allclose(example.risk_of_target, best, rtol=1e-9)
    assert_allclose(example.risk_of_source, example.target_risk(example.beta_source), rtol=1e-9)
    assert_allclose(example.excess_risk_of_source, example.target_risk(example.beta_source) - best, atol=1e-9)
    assert_allclose(example.excess_risk_of_zero, example.target_risk(np.zeros(2)) - best, atol=1e-9)


@SETTINGS
@given(COEFFICIENTS, COEFFICIENTS, COEFFICIENTS)
def test_confounded_formulas_follow_from_the_moments(a, b, c):
    example = Confounded(a, b, c)
    assert_allclose(example.beta_source, example.best_predictor(example.m_source), atol=1e-9)
    assert_allclose(example.beta_target, example.best_predictor(example.m_target), atol=1e-9)
    assert_allclose(example.risk_of_source, example.target_risk(example.beta_source), atol=1e-9)
    assert_allclose(example.label_variance, example.target_risk(np.zeros(2)), atol=1e-9)


@pytest.mark.parametrize("example", [Redundant(0.2, 1.5, 0.5), Confounded(-0.5, 1.0, 2.0)], ids=["1", "2"])
def test_samplers_draw_the_stated_process(example):
    n = 400_000
    X, y = example.sample_domain(n, np.zeros(2), random_state=0)
    assert_allclose(X.T @ X / n, example.gram, atol=0.03)
    assert_allclose(X.T @ y / n, example.cross, atol=0.03)
    assert_allclose(y.var(), example.label_variance, rtol=0.02)
    corrupted, _ = example.sample_domain(n, example.m_target, random_state=0)
    assert_allclose((corrupted == 0).mean(axis=0), example.m_target, atol=0.01)


@pytest.mark.parametrize("example", [Redundant(0.1), Redundant(0.7), Confounded(1.0, 2.0, -1.0)])
def test_simulated_risk_is_on_the_curve(example):
    beta = example.simulated_fit(200_000, example.m_source, random_state=0)
    assert_allclose(beta, example.beta_source, atol=0.02)
    assert_allclose(example.simulated_target_risk(beta, 200_000, random_state=1), example.risk_of_source, rtol=0.03)


def test_same_seed_same_sample():
    example = Redundant(0.1)
    once, again, other = (example.sample_domain(50, example.m_source, seed)[0] for seed in (3, 3, 4))
    assert (once == again).all()
    assert (once != other).any()


def test_source_predictor_becomes_useless_as_epsilon_vanishes():
    limit = Redundant(0.0, 2.0, 1.0)
    assert limit.beta_source.tolist() == [0, 1]
    assert limit.beta_target.tolist() == [1, 0]
    assert limit.risk_of_source == limit.label_variance == 5
    assert limit.excess_risk_of_source == limit.excess_risk_of_zero == 4


def test_domains_agree_at_one_half():
    assert Redundant(0.5).excess_risk_of_source == 0


def test_cancelling_effects_give_the_printed_ratio():
    example = Confounded.cancelling(3.0, 0.5)
    assert example.a == -6
    assert_allclose(example.risk_ratio, (3**2 + 1) / (0.5**2 + 1))


@pytest.mark.parametrize("tau", [1.5, 10, 1e6])
def test_source_predictor_can_be_worse_than_the_mean_by_any_factor(tau):
    example = Confounded.worse_than(tau)
    assert example.target_risk(example.best_predictor(example.m_source)) > tau * example.label_variance


def test_refusals():
    with pytest.raises(ValueError, match=r"epsilon is a missingness rate and must lie in \[0, 1\], got 1.5"):
        Redundant(1.5)
    with pytest.raises(ValueError, match="c must not be zero"):
        Confounded.cancelling(1.0, 0.0)
