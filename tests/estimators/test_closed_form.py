"""The closed form finds the target's optimum in large samples, and respects the symmetries of least squares."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, FreeRates, NestedRates, apply_missingness
from dams.estimators.adjusted_moments import adjust_moments
from dams.least_squares import least_squares
from dams.moments import Moments
from dams.relative import count_nonzero, from_counts

ROWS = 200_000
seeds = st.integers(0, 2**32)
grams = st.sampled_from(["pooled", "target", "source"])
quick = settings(deadline=None, max_examples=30)
# Rows of `small_shift` that fall into the same folds whatever they hold.
IDS = {"groups": np.arange(120), "groups_target": np.arange(120)}
# Laws drawn at random may lose nearly all of a column in the source, of which fits then warn.
pytestmark = pytest.mark.filterwarnings("ignore:The source has a value in")


def clean_law(seed, rows, *, labels=1):
    """Binary, skewed and Gaussian columns that share a factor, d = 8; labels linear with noise."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(rows, 1))
    binary = (factor + rng.normal(size=(rows, 3)) > rng.normal(size=3)).astype(float)
    skewed = np.exp(0.4 * factor + 0.5 * rng.normal(size=(rows, 2)))
    gaussian = 0.7 * factor + rng.normal(size=(rows, 3)) + rng.normal(size=3)
    X = np.hstack([binary, skewed, gaussian])
    Y = 3 + X @ rng.uniform(0.5, 2, (8, labels)) + rng.normal(size=(rows, labels))
    return X, Y


def corrupt(X, m_source, m_target):
    """First half corrupted as source, second half as target."""
    half = len(X) // 2
    return apply_missingness(X[:half], m_source, random_state=1), apply_missingness(X[half:], m_target, random_state=2)


def small_shift(seed, rows=120, labels=1):
    """A source, its labels and a target, both with every column observed."""
    rng = np.random.default_rng(seed)
    X, Y = clean_law(seed, 2 * rows, labels=labels)
    X[:5] = X[-5:] = np.arange(1, 9)  # a few rows that make sure no column is lost altogether
    source, target = corrupt(X, *FreeRates(0.6).sample(8, rng))
    source[:5], target[-5:] = X[:5], X[-5:]
    return source, Y[:rows], target


def relative_error(found, true):
    return np.linalg.norm(found - true) / np.linalg.norm(true)


@pytest.fixture(scope="module", params=[NestedRates(0.5, 0.5), FreeRates(0.7)], ids=["nested", "free"])
def large(request):
    """Source, labels, target, and the optimum that the clean sample's moments give under the target's rates."""
    X, Y = clean_law(3, ROWS)
    m_source, m_target = request.param.sample(8, np.random.default_rng(4))
    source, target = corrupt(X, m_source, m_target)
    return source, Y[: ROWS // 2, 0], target, least_squares(Moments.of(X, Y).moved(m_target))


@pytest.mark.parametrize("gram", ["pooled", "target", "source"])
@pytest.mark.parametrize("stabilise", [True, False])
def test_large_samples_give_the_target_optimum(large, gram, stabilise):
    source, y, target, optimum = large
    model = ClosedFormRegressor(gram=gram, stabilise=stabilise).fit(source, y, X_target=target)
    assert relative_error(model.coef_, optimum.coef[:, 0]) < 0.03
    assert model.intercept_ == pytest.approx(optimum.intercept[0], rel=0.03)
    # Without adjustment one is far off, so the closeness above is earned.
    assert relative_error(LinearRegression().fit(source, y).coef_, optimum.coef[:, 0]) > 0.1


def test_r_in_place_of_one_minus_r_is_wrong(large):
    """Algorithm 2 prints r ⊙ E[XᵀY]; the derivation gives (1 − r) ⊙ E[XᵀY]."""
    source, y, target, optimum = large
    labelled, unlabelled = Moments.of(source, y[:, None]), Moments.of(target)
    r = from_counts(count_nonzero(source), count_nonzero(target), len(source), len(target)).r
    adjusted = adjust_moments(labelled, unlabelled, r)
    gram = np.block([[np.ones((1, 1)), adjusted.mean[None]], [adjusted.mean[:, None], adjusted.gram]])
    label_mean = labelled.label_mean[:, None]

    def solve(factor):
        return np.linalg.solve(gram, np.vstack([label_mean, factor[:, None] * labelled.cross]))[1:, 0]

    assert relative_error(solve(1 - r), optimum.coef[:, 0]) < 0.03
    assert relative_error(solve(r), optimum.coef[:, 0]) > 0.5


def test_the_plain_formula_is_the_system_with_a_column_of_ones():
    """M of algorithm 2, written out with the intercept as a column that is never lost."""
    source, Y, target = small_shift(0)
    model = ClosedFormRegressor(stabilise=False).fit(source, Y[:, 0], X_target=target)
    n_source, n_target = len(source), len(target)
    keep = np.append(1.0, 1 - model.relative_missingness_.r)
    Xs, Xt = (np.column_stack([np.ones(len(X)), X]) for X in (source, target))
    gram_source = Xs.T @ Xs / n_source
    moved = np.outer(keep, keep) * gram_source
    np.fill_diagonal(moved, keep * np.diagonal(gram_source))
    M = (n_source * moved + Xt.T @ Xt) / (n_source + n_target)
    beta = np.linalg.solve(M, keep * (Xs.T @ Y[:, 0] / n_source))
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), beta, rtol=1e-6)


@pytest.mark.parametrize("gram", ["target", "source"])
def test_the_gram_comes_from_where_it_is_said_to(gram):
    source, Y, target = small_shift(1)
    model = ClosedFormRegressor(gram=gram, fit_intercept=False, stabilise=False).fit(source, Y[:, 0], X_target=target)
    r = model.relative_missingness_.r
    M = {"target": target.T @ target / len(target), "source": Moments.of(source).moved(r).gram}[gram]
    np.testing.assert_allclose(M @ model.coef_, (1 - r) * (source.T @ Y[:, 0] / len(source)), rtol=1e-6)
    assert model.intercept_ == 0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("stabilise", [True, False])
def test_label_columns_together_equal_one_by_one(fit_intercept, stabilise):
    source, Y, target = small_shift(2, labels=3)
    options = {"fit_intercept": fit_intercept, "stabilise": stabilise}
    together = ClosedFormRegressor(**options).fit(source, Y, X_target=target)
    assert together.coef_.shape == (3, 8)
    assert together.predict(target).shape == (len(target), 3)
    for k in range(3):
        alone = ClosedFormRegressor(**options).fit(source, Y[:, k], X_target=target)
        assert alone.coef_.shape == (8,)
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(np.broadcast_to(together.intercept_, 3)[k], alone.intercept_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(together.predict(target)[:, k], alone.predict(target), rtol=1e-7)


@pytest.mark.parametrize("stabilise", [True, False])
def test_sparse_equals_dense(stabilise):
    source, Y, target = small_shift(3)
    dense = ClosedFormRegressor(stabilise=stabilise).fit(source, Y[:, 0], X_target=target)
    thin = ClosedFormRegressor(stabilise=stabilise)
    thin.fit(sparse.csr_matrix(source), Y[:, 0], X_target=sparse.csc_matrix(target))
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-6)
    np.testing.assert_allclose(thin.predict(sparse.csr_matrix(target)), dense.predict(target), rtol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@quick
@given(seed=seeds)
def test_without_a_target_it_is_ordinary_least_squares(seed, fit_intercept):
    source, Y, _ = small_shift(seed)
    model = ClosedFormRegressor(fit_intercept=fit_intercept).fit(source, Y[:, 0], X_target=None)
    reference = LinearRegression(fit_intercept=fit_intercept).fit(source, Y[:, 0])
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-5, atol=1e-8)
    assert model.intercept_ == pytest.approx(reference.intercept_, rel=1e-5, abs=1e-8)
    assert model.relative_missingness_ is None


@quick
@given(seed=seeds, gram=grams, stabilise=st.booleans(), fit_intercept=st.booleans())
def test_the_source_as_its_own_target_is_ordinary_least_squares(seed, gram, stabilise, fit_intercept):
    source, Y, _ = small_shift(seed)
    model = ClosedFormRegressor(gram=gram, stabilise=stabilise, fit_intercept=fit_intercept)
    model.fit(source, Y[:, 0], X_target=source)
    reference = LinearRegression(fit_intercept=fit_intercept).fit(source, Y[:, 0])
    np.testing.assert_array_equal(model.relative_missingness_.r, np.zeros(8))
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-5, atol=1e-8)


@settings(quick, max_examples=15)
@given(seed=seeds)
def test_equal_rates_give_relative_missingness_near_zero(seed):
    X, Y = clean_law(seed, 20_000)
    rates = np.random.default_rng(seed).uniform(0, 0.6, 8)
    source, target = corrupt(X, rates, rates)
    model = ClosedFormRegressor().fit(source, Y[:10_000, 0], X_target=target)
    # The finite-sample bound at a level that thirty laws of eight features never miss.
    counts = count_nonzero(source), count_nonzero(target)
    bound = from_counts(*counts, 10_000, 10_000, method="hoeffding", confidence=1 - 1e-7)
    np.testing.assert_array_equal(model.relative_missingness_.r, bound.r)
    assert (bound.lower <= 0).all() and (bound.upper >= 0).all()
    common = bound.q_source > 0.3
    assert (np.abs(bound.r[common]) < 0.2).all()


@quick
@given(seed=seeds, gram=grams, stabilise=st.booleans(), exponents=st.lists(st.integers(-6, 6), min_size=8, max_size=8))
def test_columns_in_other_units_have_coefficients_in_other_units(seed, gram, stabilise, exponents):
    source, Y, target = small_shift(seed)
    units = 2.0 ** np.array(exponents)
    plain, scaled = (ClosedFormRegressor(gram=gram, stabilise=stabilise) for _ in range(2))
    plain.fit(source, Y[:, 0], X_target=target, **IDS)
    scaled.fit(source * units, Y[:, 0], X_target=target * units, **IDS)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-5, atol=1e-7)
    assert scaled.intercept_ == pytest.approx(plain.intercept_, rel=1e-5, abs=1e-6)


@quick
@given(seed=seeds, gram=grams, stabilise=st.booleans(), order=st.permutations(range(8)))
def test_permuted_columns_have_permuted_coefficients(seed, gram, stabilise, order):
    source, Y, target = small_shift(seed)
    plain, permuted = (ClosedFormRegressor(gram=gram, stabilise=stabilise) for _ in range(2))
    plain.fit(source, Y[:, 0], X_target=target, **IDS)
    permuted.fit(source[:, order], Y[:, 0], X_target=target[:, order], **IDS)
    np.testing.assert_allclose(permuted.coef_, plain.coef_[order], rtol=1e-5, atol=1e-7)


@quick
@given(seed=seeds, gram=grams, stabilise=st.booleans(), factor=st.floats(-1e3, 1e3).filter(lambda c: abs(c) > 1e-3))
def test_scaled_labels_have_scaled_coefficients(seed, gram, stabilise, factor):
    source, Y, target = small_shift(seed)
    plain, scaled = (ClosedFormRegressor(gram=gram, stabilise=stabilise) for _ in range(2))
    plain.fit(source, Y[:, 0], X_target=target)
    scaled.fit(source, factor * Y[:, 0], X_target=target)
    size = np.abs(plain.coef_).max()
    np.testing.assert_allclose(scaled.coef_ / factor, plain.coef_, rtol=1e-5, atol=1e-7 * size)
    assert scaled.intercept_ / factor == pytest.approx(plain.intercept_, rel=1e-5, abs=1e-6)


def test_a_feature_the_target_never_shows_has_no_coefficient():
    source, Y, target = small_shift(5)
    target[:, 2] = 0
    with pytest.warns(UserWarning, match="target holds only zeros in column 2"):
        model = ClosedFormRegressor().fit(source, Y[:, 0], X_target=target)
    assert model.coef_[2] == pytest.approx(0, abs=1e-12)
    assert model.rank_ == 7


def test_what_belongs_to_an_earlier_fit_with_a_target_goes_with_it():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 2)).astype(float), rng.normal(size=200)
    model = ClosedFormRegressor().fit(X, y, X_target=X[::2])
    fitted = ("choice_", "shrinkage_", "weight_", "ridge_")
    assert all(hasattr(model, name) for name in fitted)
    model.fit(X, y, X_target=None)
    assert not any(hasattr(model, name) for name in fitted)


PANEL = ["sodium", "potassium"]


def panel_shift(n=20_000):
    """Two columns lost as one, one lost on its own, and a 0/1 column that is never lost but has another mix."""
    rng = np.random.default_rng(0)
    X = 0.7 * rng.normal(size=(2 * n, 1)) + rng.normal(size=(2 * n, 4)) + 1
    X[:, 0] = X[:, 0] > 1
    X[:n, 3], X[n:, 3] = rng.random(n) < 0.3, rng.random(n) < 0.6
    y = X @ [3.0, 2.0, 1.0, 4.0] + rng.normal(size=2 * n)
    kept = rng.random((2 * n, 2)) >= np.where(np.arange(2 * n)[:, None] < n, [0.6, 0.2], [0.1, 0.5])
    X[:, :3] *= kept[:, [0, 0, 1]]
    frames = [pd.DataFrame(rows, columns=[*PANEL, "lactate", "male"]) for rows in (X[:n], X[n:])]
    return frames[0], y[:n], frames[1], y[n:]


@pytest.mark.parametrize("stabilise", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_what_is_known_of_columns_is_used(stabilise, named):
    source, y, target, y_target = panel_shift()
    always, groups = (["male"], [PANEL]) if named else ([False, False, False, True], [[0, 1]])
    known = ClosedFormRegressor(gram="source", stabilise=stabilise, always_recorded=always, column_groups=groups)
    relative = known.fit(source, y, X_target=target).relative_missingness_
    assert relative.r[3] == relative.lower[3] == relative.upper[3] == 0
    # One r for the panel, from the rows in which any of it is recorded.
    shown = [(rows[PANEL] != 0).any(axis=1).mean() for rows in (source, target)]
    np.testing.assert_allclose(relative.r[:2], 1 - shown[1] / shown[0])
    np.testing.assert_allclose(relative.q_source, (source != 0).mean())
    silent = ClosedFormRegressor(gram="source", stabilise=False).fit(source, y, X_target=target)
    oracle = LinearRegression().fit(target, y_target)
    error, careless, best = (1 - model.score(target, y_target) for model in (known, silent, oracle))
    assert error < best + 0.003 < best + 0.05 < careless


@pytest.mark.parametrize("stabilise", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_another_mix_of_what_is_always_recorded_does_not_mislead(stabilise, seed):
    """Three quarters women against half, coded as two columns, and losses of both signs elsewhere."""
    rng, n = np.random.default_rng(seed), 8_000

    def place(women, rates):
        sex, z = rng.random(n) < women, rng.normal(size=n)
        X = np.column_stack([np.abs(z + rng.normal(size=n)), z + rng.normal(size=n) > 0, np.exp(0.3 * z), 1 + 0 * z])
        y = 2 * sex + X @ [1.0, 2.0, 1.5, 1.0] + rng.normal(size=n)
        X *= rng.random(X.shape) >= rates
        return pd.DataFrame(np.column_stack([sex, ~sex, X]), columns=["woman", "man", *"abcd"]), y

    rates = [0.5, 0.1, 0.6, 0.1]
    source, y = place(0.52, [0.1, 0.6, 0.3, 0.5])
    (target, y_target), (held_out, y_held_out) = place(0.75, rates), place(0.75, rates)
    known = ClosedFormRegressor(stabilise=stabilise, always_recorded=["woman", "man"]).fit(source, y, X_target=target)
    oracle = LinearRegression().fit(target, y_target)
    assert known.score(held_out, y_held_out) > oracle.score(held_out, y_held_out) - 0.005


def test_without_groups_and_always_recorded_nothing_changes():
    source, Y, target = small_shift(7)
    for stabilise in (True, False):
        plain, empty = (
            ClosedFormRegressor(stabilise=stabilise, always_recorded=always, column_groups=groups)
            for always, groups in [(None, None), ([], [[2], []])]
        )
        np.testing.assert_array_equal(
            plain.fit(source, Y, X_target=target).coef_, empty.fit(source, Y, X_target=target).coef_
        )


def test_a_column_is_not_always_recorded_and_lost_with_others():
    source, y, target, _ = panel_shift(100)
    model = ClosedFormRegressor(always_recorded=["male"], column_groups=[["male", "lactate"]])
    with pytest.raises(ValueError, match="'male': named in always_recorded and in column_groups"):
        model.fit(source, y, X_target=target)
    with pytest.raises(ValueError, match="always_recorded names 'mael'"):
        ClosedFormRegressor(always_recorded=["mael"]).fit(source, y, X_target=None)
