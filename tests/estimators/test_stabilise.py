"""The stable closed form: positive definite, equal to the plain formula where that is sound, and never wild."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, apply_missingness
from dams.estimators.folds import FoldedMoments, assign_folds
from dams.estimators.stabilise import Candidate, fit_stabilised, is_well_conditioned, make_candidates
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


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equals_the_plain_formula_where_the_target_loses_more(fit_intercept):
    source, y, target, _ = shifted([0.1, 0.2, 0.3], [0.5, 0.4, 0.6])
    stable, plain = (
        ClosedFormRegressor(gram="source", stabilise=s, fit_intercept=fit_intercept).fit(source, y, X_target=target)
        for s in (True, False)
    )
    np.testing.assert_allclose(stable.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(stable.intercept_, plain.intercept_, rtol=1e-9, atol=1e-9)
    assert (stable.choice_, stable.shrinkage_) == ("filter", 1)


def test_well_conditioned_solves_the_papers_equation_with_its_own_weight():
    source, y, target, _ = shifted([0.3, 0.2, 0.1], [0.1, 0.4, 0.1], n=20_000)
    model = ClosedFormRegressor().fit(source, y, X_target=target)
    r = model.relative_missingness_.r
    assert r.min() < -0.1
    assert (model.choice_, model.shrinkage_, model.ridge_) == ("adjusted", 1, 0)
    moved, there = Moments.of(source, y[:, None]).moved(r), Moments.of(target)
    M = (1 - model.weight_) * moved.covariance + model.weight_ * there.covariance
    np.testing.assert_allclose(model.coef_, solve_symmetric(M, moved.label_covariance)[:, 0], rtol=1e-8)


def test_an_indefinite_gram_is_not_used():
    source, y, target, _ = shifted([0.9] * 6, [0.0] * 6, n=300, seed=3)
    model = ClosedFormRegressor(gram="source").fit(source, y, X_target=target)
    r = model.relative_missingness_.r
    assert smallest_eigenvalue(Moments.of(source).moved(r).covariance) < 0
    assert model.ridge_ > 0 or model.shrinkage_ < 1


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
        assert smallest_eigenvalue(fit.systems[0]) > 0


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
        np.testing.assert_allclose(both.coef_[k], one.coef_, rtol=1e-7, atol=1e-12)
        for name in ("choice_", "shrinkage_", "weight_", "ridge_"):
            assert getattr(both, name)[k] == getattr(one, name)


def test_sparse_equals_dense():
    source, y, target, _ = shifted([0.8, 0.1, 0.5], [0.1, 0.5, 0.5], n=200)
    dense = ClosedFormRegressor().fit(source, y, X_target=target)
    from_sparse = ClosedFormRegressor().fit(sparse.csr_array(source), y, X_target=sparse.csr_array(target))
    np.testing.assert_allclose(from_sparse.coef_, dense.coef_, rtol=1e-7)


def test_a_single_target_row_changes_nothing():
    source, y, _, _ = shifted([0.5, 0.1], [0.5, 0.1], n=50)
    model = ClosedFormRegressor().fit(source, y, X_target=np.ones((1, 2)))
    assert (model.choice_, model.shrinkage_, model.weight_) == ("source", 0, 0)
    np.testing.assert_allclose(model.predict(source), LinearRegression().fit(source, y).predict(source))


@pytest.mark.filterwarnings("ignore:The source has a value in")
def test_a_feature_seen_in_one_fold_only():
    source, y, target, _ = shifted([0.3, 0.3], [0.1, 0.1], n=100)
    source[1:, 0] = 0
    source[0, 0] = 1
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
    assert is_well_conditioned(1.0, 1.0, 1.01, 0.99)
    assert not is_well_conditioned(0.1, 0.3, 0.1, -0.1)
    assert not is_well_conditioned(np.inf, np.inf, np.inf)


def test_a_standard_error_is_that_of_a_jackknife():
    without = np.array([0.9, 1.0, 1.1, 1.0, 1.0])
    error = np.sqrt(4 / 5 * ((without - 1) ** 2).sum())
    assert is_well_conditioned(16.01 * error, *without)
    assert not is_well_conditioned(15.99 * error, *without)


def test_least_squares_and_the_filter_are_always_candidates():
    for gram in ("pooled", "source", "target"):
        for fit_intercept in (True, False):
            for well in ((False, False), (True, False), (False, True), (True, True)):
                candidates = make_candidates(gram, well, fit_intercept=fit_intercept)
                assert {Candidate("source"), Candidate("filter")} <= set(candidates)
                assert len(set(candidates)) == len(candidates)
                ridges = {c.weight: c.ridge for c in candidates if c.kind == "adjusted"}
                assert all(well) == (set(ridges.values()) == {0})


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_where_nothing_helps_it_is_least_squares_on_the_source(fit_intercept):
    source, y, _, _ = shifted([0.5, 0.2, 0.3], [0, 0, 0], n=100)
    y = y + np.random.default_rng(0).normal(size=100)
    model = ClosedFormRegressor(fit_intercept=fit_intercept).fit(source, y, X_target=source)
    plain = LinearRegression(fit_intercept=fit_intercept).fit(source, y)
    assert (model.choice_, model.shrinkage_, model.weight_, model.ridge_) == ("source", 0, 0, 0)
    np.testing.assert_allclose(model.predict(source), plain.predict(source))


def choose_by_rows(source, Y, target, r, well):
    """The choice written out over rows, a candidate per label; `well` is what must be found of both matrices."""
    candidates = make_candidates("pooled", well, fit_intercept=True)
    folds, folds_target = assign_folds(source, Y), assign_folds(target)

    def moved(X, labels, rates):
        centred = X - X.mean(axis=0)
        kept = 1 - rates
        extra = np.diag(rates * kept * (X**2).mean(axis=0))
        covariance, cross = centred.T @ centred / len(X), centred.T @ (labels - labels.mean(axis=0)) / len(X)
        return np.outer(kept, kept) * covariance + extra, kept[:, None] * cross

    def fit(rows, others, rates, c):
        there = np.cov(others.T, bias=True)
        if c.kind in ("source", "recentred"):
            return np.eye(len(rates)), np.linalg.solve(*moved(*rows, 0 * rates))
        calm, cross = moved(*rows, np.maximum(rates, 0))
        calm = calm + c.damping * np.diag(np.diag(there) * np.maximum(-rates, 0))
        start = np.linalg.solve(calm, cross)
        if c.kind == "filter":
            return calm, start
        shares = [(X != 0).mean(axis=0) for X in (rows[0], others)]
        variance = (1 - rates) ** 2 * ((1 / shares[0] - 1) / len(rows[0]) + (1 / shares[1] - 1) / len(others))
        theta = np.where(rates < 0, rates**2 / (rates**2 + c.caution * variance), 1)
        covariance, cross = moved(*rows, theta * rates)
        M = (1 - c.weight) * covariance + c.weight * there
        solved = M + c.ridge * np.diag(np.diag(there) * np.maximum(1 - rates, 1))
        return solved, start + np.linalg.solve(solved, cross - M @ start)

    usable = np.ones((len(candidates), Y.shape[1]), dtype=bool)
    eigenvalues, risks, gaps, missed = [], [], [], []
    for fold in range(-1, 10):
        held, held_target = folds == fold, folds_target == fold
        rows, others = (source[~held], Y[~held]), target[~held_target]
        rates = 1 - (others != 0).mean(axis=0) / (rows[0] != 0).mean(axis=0)
        matrices, betas = zip(*(fit(rows, others, rates, c) for c in candidates), strict=True)
        usable &= np.array([np.linalg.eigvalsh(M).min() > 0 for M in matrices])[:, None]
        pair = moved(*rows, rates)[0], np.cov(others.T, bias=True)
        eigenvalues.append([smallest_eigenvalue(M) for M in pair])
        if fold == -1:
            cross = moved(*rows, rates)[1]
            for i, (c, beta) in enumerate(zip(candidates, betas, strict=True)):
                left = Y.var(axis=0) - 2 * (beta * cross).sum(axis=0) + ((pair[1] @ beta) * beta).sum(axis=0)
                usable[i] &= (left >= 0) | (c.kind != "adjusted")
            continue
        gram, cross = moved(source[held], Y[held], r)
        there, steps = np.cov(target[held_target].T, bias=True), [beta - betas[0] for beta in betas]
        risk, by_target = (
            np.array([((there @ step - 2 * (cross - G @ betas[0])) * step).sum(axis=0) for step in steps])
            for G in (gram, there)
        )
        plain = candidates.index(Candidate("source"))
        ways = (source[held], target[held_target]), (rows[0], others)
        biases = [(b.mean(axis=0) - a.mean(axis=0)) @ betas[plain] for a, b in ways]
        risk[plain] += biases[0] * biases[1]
        by_target[plain] += biases[0] * biases[1]
        biases = [
            np.stack([(b.mean(axis=0) - (1 - rate) * a.mean(axis=0)) @ beta for beta in betas])
            for (a, b), rate in zip(ways, (r, rates), strict=True)
        ]
        risks.append(risk)
        gaps.append(by_target - risk)
        missed.append(biases[0] * biases[1] * (np.arange(len(candidates)) != plain)[:, None])
    eigenvalues = np.array(eigenvalues)
    assert tuple(eigenvalues[0] > 16 * np.sqrt(9 * eigenvalues[1:].var(axis=0))) == well

    def score(anchor, times):
        rows = [np.array(values) - np.array(values)[:, [anchor]] for values in (risks, gaps)]
        (mean, gap), (error, doubt) = ([f(v) for v in rows] for f in (lambda v: v.mean(0), lambda v: v.std(0, ddof=1)))
        error, doubt = error / np.sqrt(10), doubt / np.sqrt(10)
        sure = np.abs(gap) > doubt
        moved_by = np.where(sure, gap - np.sign(gap) * doubt, 0)
        beyond = np.maximum(np.mean(missed, axis=0) - np.std(missed, axis=0, ddof=1) / np.sqrt(10), 0)
        moved_by = moved_by + beyond - beyond[anchor]
        return mean + moved_by + times * np.sqrt(error**2 + np.where(sure, doubt, 0) ** 2)

    best = np.argmin(np.where(usable, score(0, 1), np.inf), axis=0)
    better = score(plain, 1 + 50 / 300)[best, np.arange(Y.shape[1])] < 0
    return [candidates[i] for i in np.where(better, best, plain)]


@pytest.mark.parametrize("together", [False, True])
def test_the_choice_is_the_one_written_out_over_rows(together):
    rng = np.random.default_rng(0)
    source, _, target, _ = shifted([0.7, 0.6, 0.2, 0.1], [0.2, 0.1, 0.5, 0.3], n=300)
    if together:  # pairs of columns are lost as one, of which the moved source matrix knows nothing
        source[:, 1][source[:, 0] == 0] = 0
        target[:, 3][target[:, 2] == 0] = 0
    coefficients = rng.normal(size=(4, 80))
    Y = source @ coefficients + 2 * rng.normal(size=(300, 80)) * rng.uniform(0, 3, 80)
    r = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
    expected = choose_by_rows(source, Y, target, r, (False, False))
    fit = fit_stabilised(FoldedMoments.of(source, Y), FoldedMoments.of(target), r)
    assert len(set(expected)) > 5
    assert len({c.kind for c in expected}) > 2
    np.testing.assert_array_equal(fit.kind, [c.kind for c in expected])
    np.testing.assert_array_equal(fit.weight, [c.weight for c in expected])
    np.testing.assert_array_equal(fit.ridge, [c.ridge for c in expected])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_another_order_of_rows_gives_the_same_fit(kind):
    rng = np.random.default_rng(0)
    for seed in range(5):
        X, y, target, _ = shifted([0.7, 0.6, 0.2, 0.1], [0.2, 0.1, 0.5, 0.3], n=120, seed=seed)
        y = y + 8 * rng.normal(size=120)
        there = rng.permutation(120)
        first = ClosedFormRegressor().fit(kind(X), y, X_target=kind(target))
        for here in (rng.permutation(120), np.argsort(y)):
            other = ClosedFormRegressor().fit(kind(X[here]), y[here], X_target=kind(target[there]))
            assert (other.choice_, other.weight_, other.ridge_) == (first.choice_, first.weight_, first.ridge_)
            np.testing.assert_allclose(other.coef_, first.coef_, rtol=1e-9)


def test_copies_of_rows_are_no_evidence_where_groups_say_so():
    chosen = {"once": [], "grouped": [], "copied": []}
    rows = np.tile(np.arange(100), 5)
    for seed in range(20):
        source, y, target, _ = shifted([0.7, 0.6, 0.2, 0.1], [0.2, 0.1, 0.5, 0.3], n=100, seed=seed)
        y = y + 20 * np.random.default_rng(seed).normal(size=100)
        chosen["once"].append(ClosedFormRegressor().fit(source, y, X_target=target).choice_)
        copies = source[rows], y[rows], target[rows]
        chosen["copied"].append(ClosedFormRegressor().fit(*copies).choice_)
        grouped = ClosedFormRegressor().fit(*copies, groups=rows, groups_target=rows.astype(str))
        chosen["grouped"].append(grouped.choice_)
    kept = {name: choices.count("source") for name, choices in chosen.items()}
    assert kept["copied"] < 3 < 5 < min(kept["once"], kept["grouped"])


@pytest.mark.parametrize("name", ["groups", "groups_target"])
def test_groups_of_another_length_are_refused(name):
    source, y, target, _ = shifted([0.5, 0.1], [0.1, 0.5], n=50)
    with pytest.raises(ValueError, match=f"{name} must hold one id per row, 50, got 49"):
        ClosedFormRegressor().fit(source, y, X_target=target, **{name: np.arange(49)})


def test_smallest_eigenvalue_ignores_units_and_vanishing_directions():
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    units = np.diag([1e-3, 1e6])
    assert smallest_eigenvalue(units @ A @ units) == pytest.approx(0.5)
    assert smallest_eigenvalue(np.ones((2, 2))) == pytest.approx(2)
    assert smallest_eigenvalue(np.array([[1.0, 2.0], [2.0, 1.0]])) == pytest.approx(-1)
