"""Least squares from moments against scikit-learn and numpy on rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from dams import least_squares as solver
from dams.experiments.models import MODELS
from dams.least_squares import LinearFit, least_squares, solve_definite, solve_symmetric, spectrum
from dams.moments import Moments


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_equals_scikit_learn(train, fit_intercept):
    fit = least_squares(train.moments, fit_intercept=fit_intercept)
    reference = LinearRegression(fit_intercept=fit_intercept).fit(train.X, train.Y)
    np.testing.assert_allclose(fit.coef, reference.coef_.T, rtol=1e-7)
    np.testing.assert_allclose(
        fit.intercept, np.broadcast_to(reference.intercept_, fit.intercept.shape), rtol=1e-7, atol=1e-12
    )
    assert fit.rank == train.X.shape[1]
    assert 1 <= fit.condition < np.inf


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_mse_from_moments_equals_the_mean_over_rows(train, held_out, fit_intercept):
    fit = least_squares(train.moments, fit_intercept=fit_intercept)
    by_row = np.mean((held_out.X @ fit.coef + fit.intercept - held_out.Y) ** 2, axis=0)
    np.testing.assert_allclose(fit.mse(held_out.moments), by_row, rtol=1e-8)


def test_a_perfect_fit_has_no_negative_error():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3)) + 1
        moments = Moments.of(X, X @ rng.uniform(0, 10, (3, 5)))
        errors = least_squares(moments).mse(moments)
        assert (errors >= 0).all() and (errors < 1e-10).all()


def test_errors_are_the_mse_of_scikit_learn(train, held_out):
    reference = LinearRegression().fit(train.X, train.Y).predict(held_out.X)
    errors = MODELS["linear"].errors(train, held_out, np.random.default_rng(0))
    np.testing.assert_allclose(errors, np.mean((reference - held_out.Y) ** 2, axis=0), rtol=1e-8)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 8), st.booleans(), st.floats(-1e6, 1e6))
def test_collinear_columns_predict_as_least_squares_do(seed, n, few_rows, constant):
    """A constant, a duplicated and a summed column; also fewer rows than columns."""
    rng = np.random.default_rng(seed)
    rows = n if few_rows else 10 * n
    X = rng.normal(size=(rows, 3))
    X = np.column_stack([X, np.full(rows, constant), X[:, 0], X[:, 1] + X[:, 2], np.zeros(rows)])
    Y = rng.normal(size=(rows, 2))
    fit = least_squares(Moments.of(X, Y))
    assert np.isfinite(fit.coef).all() and np.isfinite(fit.intercept).all()
    design = np.column_stack([np.ones(rows), X])
    reference = design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    np.testing.assert_allclose(X @ fit.coef + fit.intercept, reference, atol=1e-6)
    assert fit.rank <= 3
    np.testing.assert_allclose(fit.coef[[3, 6]], 0, atol=1e-12)


def test_the_rank_does_not_depend_on_units(train):
    scaled = Moments.of(train.X * [1e-9, 1e9, 1, 1e-5, 1e5], train.Y)
    assert least_squares(scaled).rank == train.X.shape[1]


def test_an_indefinite_system_is_solved():
    A, B = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0], [0.0]])
    np.testing.assert_allclose(A @ solve_symmetric(A, B), B)
    np.testing.assert_allclose(spectrum(A), [-1, 3])
    assert LinearFit(B, B[0], (A,)).condition == pytest.approx(3)
    assert solve_definite(A, B) is None


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(-14, 0))
def test_the_factor_of_a_well_posed_system_gives_what_its_eigenvectors_give(seed, d, power):
    """Also where the smallest eigenvalue lies at either side of what counts as well posed."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    A = (basis * np.geomspace(1, 10**power, d)) @ basis.T
    A, B = (A + A.T) / 2, rng.normal(size=(d, 2))
    by_factor = solve_symmetric(A, A @ B)
    np.testing.assert_allclose(A @ by_factor, A @ B, atol=1e-8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "WELL_POSED", np.inf)
        by_eigenvectors = solve_symmetric(A, A @ B)
    np.testing.assert_array_equal(solve_definite(A, A @ B), by_factor)
    if power > -6:
        np.testing.assert_allclose(by_factor, by_eigenvectors, rtol=1e-8, atol=1e-8)


def test_nothing_to_fit_on_gives_the_label_mean():
    Y = np.arange(6.0)[:, None]
    fit = least_squares(Moments.of(np.zeros((6, 2)), Y))
    np.testing.assert_array_equal(fit.coef, np.zeros((2, 1)))
    np.testing.assert_allclose(fit.intercept, 2.5)
    assert fit.rank == 0


def test_least_squares_needs_labels(train):
    with pytest.raises(ValueError, match="labels"):
        least_squares(Moments.of(train.X))
