"""The stable closed form: positive definite, equal to the plain formula where that is sound, and never wild."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dams import ClosedFormRegressor, apply_missingness
from dams.estimators.stabilise import (
    SHRINKAGES,
    WEIGHTS,
    FoldedMoments,
    _candidates,
    _System,
    _without,
    fit_stabilised,
    is_well_conditioned,
)
from dams.least_squares import smallest_eigenvalue, solve_symmetric
from dams.moments import Moments


def shifted(m_source, m_target, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(2 * n, 1))
    X = factor + 0.5 * rng.normal(size=(2 * n, len(m_source))) + 1
    y = X @ np.arange(1.0, len(m_source) + 1)
    source = apply_missingness(X[:n], m_source, random_state=rng)
    target = apply_missingness(X[n:], m_target, random_state=rng)
    return source, y[:n], target, y[n:]


def normalised_error(model, X, y):
    return np.mean((model.predict(X) - y) ** 2) / np.var(y)


@settings(deadline=None, max_examples=25)
@given(n=st.integers(6, 40), n_folds=st.integers(2, 5), seed=st.integers(0, 99))
def test_folds_merge_to_the_moments_of_all_rows(n, n_folds, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 3)) + 5, rng.normal(size=(n, 2))
    folded = FoldedMoments.of(X, Y, n_folds=n_folds)
    for got, rows in [(folded.merged(), np.ones(n, bool)), (folded.without(1), np.arange(n) % n_folds != 1)]:
        expected = Moments.of(X[rows], Y[rows])
        assert got.n == expected.n
        for field in ["mean", "covariance", "label_mean", "label_covariance", "label_variance"]:
            np.testing.assert_allclose(getattr(got, field), getattr(expected, field), atol=1e-12)


def test_shares_of_nonzeros_without_a_fold():
    X = np.array([[1.0, 0], [0, 0], [2, 3], [0, 4]])
    folded = FoldedMoments.of(X, n_folds=2)
    np.testing.assert_allclose(folded.shares_without(0), [0, 0.5])
    np.testing.assert_allclose(folded.shares_without(1), [1, 0.5])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equals_the_plain_formula_where_the_target_loses_more(fit_intercept):
    source, y, target, _ = shifted([0.1, 0.2, 0.3], [0.5, 0.4, 0.6])
    stable, plain = (
        ClosedFormRegressor(gram="source", stabilise=s, fit_intercept=fit_intercept).fit(source, y, X_target=target)
        for s in (True, False)
    )
    np.testing.assert_allclose(stable.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(stable.intercept_, plain.intercept_, rtol=1e-9, atol=1e-9)
    assert stable.shrinkage_ == 1


def test_well_conditioned_solves_the_papers_equation_with_its_own_weight():
    source, y, target, _ = shifted([0.3, 0.2, 0.1], [0.1, 0.4, 0.1], n=20_000)
    model = ClosedFormRegressor().fit(source, y, X_target=target)
    r = model.relative_missingness_.r
    assert r.min() < -0.1 and model.shrinkage_ == 1
    moved, there = Moments.of(source, y[:, None]).moved(r), Moments.of(target)
    M = (1 - model.weight_) * moved.covariance + model.weight_ * there.covariance
    np.testing.assert_allclose(model.coef_, solve_symmetric(M, moved.label_covariance)[:, 0], rtol=1e-8)


def test_an_indefinite_gram_is_not_used():
    source, y, target, _ = shifted([0.9] * 6, [0.0] * 6, n=300, seed=3)
    model = ClosedFormRegressor(gram="source").fit(source, y, X_target=target)
    r = model.relative_missingness_.r
    assert smallest_eigenvalue(Moments.of(source).moved(r).covariance) < 0
    assert model.shrinkage_ < 1


@pytest.mark.parametrize("gram", ["pooled", "source"])
def test_the_plain_formula_explodes_where_the_stable_one_does_not(gram):
    plain, stable, unadjusted = [], [], []
    for seed in range(10):
        source, y, target, y_target = shifted([0.5] * 6, [0.0] * 6, n=300, seed=seed)
        for errors, model in [
            (plain, ClosedFormRegressor(gram=gram, stabilise=False)),
            (stable, ClosedFormRegressor(gram=gram)),
        ]:
            errors.append(normalised_error(model.fit(source, y, X_target=target), target, y_target))
        unadjusted.append(normalised_error(ClosedFormRegressor().fit(source, y, X_target=None), target, y_target))
    assert max(plain) > 2
    assert max(stable) < 0.5 * min(unadjusted)


@pytest.mark.parametrize("gram", ["pooled", "source", "target"])
def test_the_chosen_matrix_is_positive_definite(gram):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        source, y, target, _ = shifted(*rng.uniform(0, 0.9, (2, 5)), n=150, seed=seed)
        folds = FoldedMoments.of(source, y[:, None]), FoldedMoments.of(target)
        r = 1 - folds[1].counts.sum(0) / folds[0].counts.sum(0)
        fit = fit_stabilised(*folds, r, gram=gram)
        system = _System(folds[0].merged(), folds[1].merged(), r, True)
        assert smallest_eigenvalue(system.matrix(fit.shrinkage[0], fit.weight[0])) > 0


def test_a_constant_added_to_the_labels_moves_the_intercept_alone():
    source, y, target, _ = shifted([0.6, 0.1, 0.3], [0.1, 0.5, 0.3], n=300)
    near, far = (ClosedFormRegressor().fit(source, y + c, X_target=target) for c in (0.0, 1e4))
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    np.testing.assert_allclose(far.intercept_ - near.intercept_, 1e4, rtol=1e-6)
    plain = [ClosedFormRegressor(stabilise=False).fit(source, y + c, X_target=target).coef_ for c in (0.0, 1e4)]
    assert np.abs(plain[1] - plain[0]).max() > 1


def test_labels_are_fitted_one_by_one():
    source, y, target, _ = shifted([0.8, 0.1, 0.7, 0.2], [0.1, 0.5, 0.1, 0.2], n=200)
    Y = np.column_stack([y, source[:, 0], -(y**2)])
    both = ClosedFormRegressor().fit(source, Y, X_target=target)
    for k in range(3):
        one = ClosedFormRegressor().fit(source, Y[:, k], X_target=target)
        np.testing.assert_allclose(both.coef_[k], one.coef_, rtol=1e-7)
        assert (both.shrinkage_[k], both.weight_[k]) == (one.shrinkage_, one.weight_)


def test_sparse_equals_dense():
    source, y, target, _ = shifted([0.8, 0.1, 0.5], [0.1, 0.5, 0.5], n=200)
    dense = ClosedFormRegressor().fit(source, y, X_target=target)
    from_sparse = ClosedFormRegressor().fit(sparse.csr_array(source), y, X_target=sparse.csr_array(target))
    np.testing.assert_allclose(from_sparse.coef_, dense.coef_, rtol=1e-7)


def test_a_single_target_row_leaves_the_safe_candidate():
    source, y, _, _ = shifted([0.5, 0.1], [0.5, 0.1], n=50)
    model = ClosedFormRegressor().fit(source, y, X_target=np.ones((1, 2)))
    assert (model.shrinkage_, model.weight_) == (0, 0)


def test_a_feature_seen_in_one_fold_only():
    source, y, target, _ = shifted([0.3, 0.3], [0.1, 0.1], n=100)
    source[np.arange(100) % 5 != 2, 0] = 0
    assert np.isfinite(ClosedFormRegressor().fit(source, y, X_target=target).coef_).all()


def test_collinear_dummies():
    rng = np.random.default_rng(0)
    X = np.eye(3)[rng.integers(0, 3, 2000)]
    y = X @ [1.0, 5.0, 9.0]
    source = apply_missingness(X[:1000], [0.5, 0.0, 0.2], random_state=1)
    target = apply_missingness(X[1000:], [0.1, 0.3, 0.2], random_state=2)
    model = ClosedFormRegressor().fit(source, y[:1000], X_target=target)
    assert normalised_error(model, target, y[1000:]) < 0.6


def test_conditioning_is_judged_in_standard_errors():
    assert is_well_conditioned(1.0, [1.0, 1.01, 0.99])
    assert not is_well_conditioned(0.1, [0.3, 0.1, -0.1])
    assert not is_well_conditioned(np.inf, [np.inf, np.inf])


def test_a_standard_error_is_that_of_a_jackknife():
    without = np.array([0.9, 1.0, 1.1, 1.0, 1.0])
    error = np.sqrt(4 / 5 * ((without - 1) ** 2).sum())
    assert is_well_conditioned(8.01 * error, without)
    assert not is_well_conditioned(7.99 * error, without)


def test_candidates_are_positive_definite_without_any_fold():
    source, y, target, _ = shifted([0.9] * 6, [0.0] * 6, n=300, seed=3)
    folded = FoldedMoments.of(source, y[:, None]), FoldedMoments.of(target)
    r = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
    whole = _System(folded[0].merged(), folded[1].merged(), r, True)
    systems = [whole, *(_without(*folded, whole, fold) for fold in range(10))]
    candidates = _candidates(whole, systems[1:], "pooled")
    assert 1 < len(candidates) < len(SHRINKAGES) * len(WEIGHTS)
    for pair in candidates[1:]:
        assert min(smallest_eigenvalue(system.matrix(*pair)) for system in systems) > 0


def choose_by_rows(source, Y, target, r, candidates):
    """The choice of θ and α, written out over rows: estimated target risk plus its standard error over folds."""

    def moved(X, labels, rates):
        centred = X - X.mean(axis=0)
        kept = 1 - rates
        extra = np.diag(rates * kept * (X**2).mean(axis=0))
        covariance, cross = centred.T @ centred / len(X), centred.T @ labels / len(X)
        return np.outer(kept, kept) * covariance + extra, kept[:, None] * cross

    def fit(rows, others, rates, theta, alpha):
        covariance, cross = moved(*rows, np.where(rates < 0, theta * rates, rates))
        return np.linalg.solve((1 - alpha) * covariance + alpha * np.cov(others.T, bias=True), cross)

    risks = []
    for fold in range(10):
        held, held_target = np.arange(len(source)) % 10 == fold, np.arange(len(target)) % 10 == fold
        rows, others = (source[~held], Y[~held]), target[~held_target]
        rates = 1 - (others != 0).mean(axis=0) / (rows[0] != 0).mean(axis=0)
        start = fit(rows, others, rates, 0, 0)
        covariance, cross = moved(source[held], Y[held] - Y[held].mean(axis=0), r)
        gradient, there = cross - covariance @ start, np.cov(target[held_target].T, bias=True)
        steps = [fit(rows, others, rates, *pair) - start for pair in candidates]
        risks.append([((there @ step - 2 * gradient) * step).sum(axis=0) for step in steps])
    return np.argmin(np.mean(risks, axis=0) + np.std(risks, axis=0, ddof=1) / np.sqrt(10), axis=0)


def test_the_choice_is_the_one_written_out_over_rows():
    rng = np.random.default_rng(0)
    source, _, target, _ = shifted([0.7, 0.6, 0.2, 0.1], [0.2, 0.1, 0.5, 0.3], n=300)
    coefficients = rng.normal(size=(4, 60))
    Y = source @ coefficients + 2 * rng.normal(size=(300, 60)) * rng.uniform(0, 3, 60)
    r = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
    folded = FoldedMoments.of(source, Y), FoldedMoments.of(target)
    whole = _System(folded[0].merged(), folded[1].merged(), r, True)
    candidates = _candidates(whole, [_without(*folded, whole, fold) for fold in range(10)], "pooled")
    expected = np.array(candidates)[choose_by_rows(source, Y, target, r, candidates)]
    fit = fit_stabilised(*folded, r)
    assert len(np.unique(expected, axis=0)) > 3
    np.testing.assert_array_equal(np.column_stack([fit.shrinkage, fit.weight]), expected)


def test_smallest_eigenvalue_ignores_units_and_vanishing_directions():
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    units = np.diag([1e-3, 1e6])
    assert smallest_eigenvalue(units @ A @ units) == pytest.approx(0.5)
    assert smallest_eigenvalue(np.ones((2, 2))) == pytest.approx(2)
    assert smallest_eigenvalue(np.array([[1.0, 2.0], [2.0, 1.0]])) == pytest.approx(-1)
