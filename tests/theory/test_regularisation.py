"""Underreporting as L2 regularisation: exact for linear regression, to second order otherwise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from dams.missingness import apply_missingness
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

SETTINGS = settings(deadline=None, max_examples=30)


@st.composite
def regressions(draw):
    d = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(15, d)) * rng.integers(0, 2, (15, d))
    X[0] = 1
    return rng.normal(size=d), X, rng.integers(0, 2, 15).astype(float), rng.uniform(0, 0.9, d)


@SETTINGS
@given(regressions())
def test_expected_loss_is_clean_loss_plus_penalty(case):
    beta, X, y, m = case
    assert_allclose(expected_loss(beta, X, y, m), loss(beta, X, y) + quadratic_penalty(beta, X, m), rtol=1e-9)
    assert_allclose(regulariser(beta, X, m), quadratic_penalty(beta, X, m), rtol=1e-6, atol=1e-9)


@SETTINGS
@given(regressions())
def test_expected_logistic_loss_is_clean_loss_plus_regulariser(case):
    beta, X, y, m = case
    penalty = regulariser(beta, X, m, family=LOGISTIC)
    assert_allclose(
        expected_loss(beta, X, y, m, family=LOGISTIC), loss(beta, X, y, family=LOGISTIC) + penalty, rtol=1e-9
    )
    # A is convex, so noise in x can only cost.
    assert penalty >= -1e-9


def test_quadratic_penalty_of_logistic_regression_is_right_to_second_order():
    rng = np.random.default_rng(0)
    beta, X, m = rng.normal(size=3), rng.normal(size=(20, 3)), np.array([0.2, 0.5, 0.8])
    gaps = []
    for scale in (1.0, 0.1, 0.01):
        exact = regulariser(scale * beta, X, m, family=LOGISTIC)
        gaps.append(abs(quadratic_penalty(scale * beta, X, m, family=LOGISTIC) / exact - 1))
    assert gaps[0] > 1e-3
    assert gaps[1] < gaps[0] / 5
    assert gaps[2] < gaps[1] / 5


@SETTINGS
@given(regressions())
def test_minimiser_of_the_expected_loss_is_the_penalised_fit(case):
    _, X, y, m = case
    fit = penalised_fit(X, y, m)
    assert_allclose(corrupted_fit(X, y, m), fit, atol=1e-9)
    numeric = minimize(lambda beta: expected_loss(beta, X, y, m), np.zeros(X.shape[1]), method="BFGS", tol=1e-10)
    assert_allclose(numeric.x, fit, atol=1e-4)


def test_least_squares_on_many_corrupted_copies_is_the_penalised_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] += X[:, 0]
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=200)
    m = np.array([0.1, 0.4, 0.7])
    copies = apply_missingness(np.tile(X, (1000, 1)), m, random_state=rng) / (1 - m)
    fit = np.linalg.lstsq(copies, np.tile(y, 1000))[0]
    assert_allclose(fit, penalised_fit(X, y, m), atol=0.02)
    assert abs(fit - penalised_fit(X, y, 0)).max() > 0.2


def test_nothing_lost_nothing_penalised():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    assert quadratic_penalty(np.ones(3), X, 0) == 0
    assert_allclose(penalised_fit(X, y, 0), np.linalg.lstsq(X, y)[0])


def test_linear_loss_is_half_the_squared_error_without_the_labels_square():
    rng = np.random.default_rng(0)
    beta, X, y = rng.normal(size=3), rng.normal(size=(20, 3)), rng.normal(size=20)
    assert_allclose(loss(beta, X, y, family=LINEAR), np.sum((y - X @ beta) ** 2) / 2 - np.sum(y**2) / 2)


@pytest.mark.parametrize("function", [penalised_fit, corrupted_fit])
def test_a_rate_of_one_is_refused(function):
    with pytest.raises(ValueError, match=r"m must lie in \[0, 1\).*got 1 for column 2"):
        function(np.ones((4, 3)), np.ones(4), [0, 0.5, 1])
