"""Wide tables: the same choice from rows as from matrices by fold, in little memory."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, apply_missingness, conjugate
from dams.conjugate import conjugate_gradients
from dams.estimators import stabilise, wide
from dams.estimators.folded_rows import FoldedRows
from dams.estimators.folds import Columns, FoldedMoments
from dams.estimators.stabilise import fit_stabilised
from dams.estimators.wide import deal_rows, fit_wide, make_wide_candidates


def shifted(n=1500, d=12, k=3, seed=0, together=False):
    """Related columns, several labels, rates of both signs; `together`: neighbours are lost as one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 1)) + rng.normal(size=(2 * n, d)) + 1
    Y = X @ rng.normal(size=(d, k)) + rng.normal(size=(2 * n, k)) + 5
    masks = rng.random((2 * n, d)) if not together else np.repeat(rng.random((2 * n, d // 2)), 2, axis=1)
    rates = rng.uniform(0, 0.6, (2, d if not together else d // 2))
    rates = np.repeat(rates, d // rates.shape[1], axis=1)
    source, target = X[:n] * (masks[:n] >= rates[0]), X[n:] * (masks[n:] >= rates[1])
    return source, Y[:n], target, Y[n:]


def both_ways(source, Y, target, monkeypatch, *, gram="pooled", intercept=True, columns=None, weights=(0.0,), ids=None):
    """The fit from moments by fold, with the candidates that a wide table has, and the one from rows."""
    columns = Columns() if columns is None else columns
    monkeypatch.setattr(conjugate, "TOLERANCE", 1e-10)
    candidates = make_wide_candidates(weights, fit_intercept=intercept)
    monkeypatch.setattr(stabilise, "make_candidates", lambda *_, **__: candidates)
    known = {"columns": columns, "groups": ids}
    folds = FoldedMoments.of(source, Y, **known), FoldedMoments.of(target, **known)
    r = 1 - folds[1].counts.sum(axis=0) / source.shape[0] / (folds[0].counts.sum(axis=0) / source.shape[0])
    rows = (source, Y, ids), (target, None, ids)
    return (
        fit_stabilised(*folds, r, gram=gram, fit_intercept=intercept),
        fit_wide(*rows, r, columns, gram=gram, fit_intercept=intercept),
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("gram", ["source", "target"])
def test_the_choice_is_that_of_the_moments_by_fold(gram, make, intercept, monkeypatch):
    weights = (0.0, 1.0) if gram == "target" else (0.0,)
    seen = set()
    for seed in range(6):
        source, Y, target, _ = shifted(n=400, seed=seed)
        narrow, rows = both_ways(
            make(source), Y, make(target), monkeypatch, gram=gram, intercept=intercept, weights=weights
        )
        np.testing.assert_allclose(rows.coef, narrow.coef, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(rows.intercept, narrow.intercept, rtol=1e-6, atol=1e-9)
        for name in ("kind", "shrinkage", "weight", "ridge"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(narrow, name))
        np.testing.assert_allclose(rows.condition, narrow.condition, rtol=1e-6)
        seen |= set(zip(rows.kind, rows.ridge, strict=True))
    assert len(seen) > 1


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_products_without_a_fold_are_those_of_its_moments(make, intercept):
    source, Y, _, _ = shifted(n=60)
    columns = Columns(None, np.arange(12) // 2)
    rows = FoldedRows(make(source), Y, None, columns, intercept=intercept)
    moments = FoldedMoments.of(make(source), Y, columns=columns)
    V = np.random.default_rng(1).normal(size=(12, 10, 3))
    products, cross, whole = rows.multiply_without(V), rows.cross_without(), rows.together_whole()
    for fold in range(10):
        left = moments.without(fold)
        second, label = (left.covariance, left.label_covariance) if intercept else (left.gram, left.cross)
        np.testing.assert_allclose(products[:, fold], second @ V[:, fold], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(cross[:, fold], label, rtol=1e-9, atol=1e-12)
        within = np.where(np.equal.outer(columns.groups, columns.groups), left.gram, 0)
        np.testing.assert_allclose(rows.together_without(fold, whole).toarray(), within, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(rows.means_without[fold], left.mean)
        held = moments.parts[fold]
        np.testing.assert_allclose(rows.cross_of(fold), held.label_covariance if intercept else held.cross, atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_columns_lost_together_are_moved_as_one(make, monkeypatch):
    source, Y, target, _ = shifted(together=True)
    columns = Columns(None, np.arange(12) // 2)
    narrow, rows = both_ways(make(source), Y, make(target), monkeypatch, gram="source", columns=columns)
    np.testing.assert_array_equal(rows.kind, narrow.kind)
    np.testing.assert_allclose(rows.coef, narrow.coef, rtol=1e-6, atol=1e-9)


def test_entries_stored_in_two_parts_count_as_one():
    source, Y, target, _ = shifted()
    whole = [sparse.csr_array(X) for X in (source, target)]
    parts = [
        sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        for X in whole
    ]
    r = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
    expected, found = (fit_wide((here, Y, None), (there, None, None), r) for here, there in (whole, parts))
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)
    assert (expected.kind == "adjusted").any()


def test_the_targets_gram_joins_where_the_moved_one_is_contradicted(monkeypatch):
    formed = []
    second = FoldedRows.second.func
    monkeypatch.setattr(FoldedRows, "second", property(lambda side: formed.append(side.Y is None) or second(side)))
    for together in (False, True):
        formed.clear()
        source, Y, target, _ = shifted(n=4000, k=1, seed=2, together=together)
        r = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
        fit_wide((source, Y, None), (target, None, None), r)
        assert any(formed) == together


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("far", [1e5, 1e6])
def test_means_far_from_zero_change_nothing(far, make, monkeypatch):
    source, Y, target, _ = shifted(k=1)
    always = Columns(np.arange(12) == 0)
    source[:, 0], target[:, 0], Y = far + source[:, 0], far + target[:, 0], far + Y
    options = {"gram": "source", "columns": always, "ids": np.arange(len(source))}
    narrow, rows = both_ways(make(source), Y, make(target), monkeypatch, **options)
    # What was added is taken away without rounding; in a column that is never lost it moves the intercept alone.
    source[:, 0], target[:, 0], Y = source[:, 0] - far, target[:, 0] - far, Y - far
    near, near_rows = both_ways(make(source), Y, make(target), monkeypatch, **options)
    np.testing.assert_allclose(near_rows.coef, near.coef, rtol=1e-12)
    # Rounding grows with mean over spread, and not with its square: 1e-16 of the mean is 1e-10 of the spread at most.
    for found, truth in ((narrow, near), (rows, near_rows)):
        np.testing.assert_allclose(found.coef, truth.coef, rtol=1e-14 * far)
        np.testing.assert_array_equal(found.kind, "adjusted")


def test_rows_that_belong_together_are_held_out_together():
    source, Y, _, _ = shifted(n=300)
    groups = np.arange(300) // 3
    folded = FoldedRows(source, Y, groups)
    assert all(len(np.unique(groups[rows])) * 3 == len(rows) for rows in folded.rows)


def test_an_indefinite_matrix_is_noticed():
    A = np.diag([2.0, 1.0, -1.0])
    B = np.ones((3, 2, 1))
    B[2, 0] = 0
    x, indefinite = conjugate_gradients(lambda V: np.einsum("ij,jfk->ifk", A, V), lambda V: V, B, 0.5 * B)
    np.testing.assert_array_equal(indefinite[:, 0], [False, True])
    np.testing.assert_allclose(x[:, 0, 0], [0.5, 1, 0], atol=1e-8)


@pytest.mark.filterwarnings("ignore:The source has a value in")
def test_singular_tables_are_fitted(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 3)
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, 2000)]
    y = X @ [1.0, 5.0, 9.0, 2.0]
    source = apply_missingness(X[:1000], [0.5, 0.0, 0.2, 0.1], random_state=1)
    target = apply_missingness(X[1000:], [0.1, 0.3, 0.2, 0.4], random_state=2)
    model = ClosedFormRegressor().fit(sparse.csr_array(source), y[:1000], X_target=sparse.csr_array(target))
    assert np.mean((model.predict(target) - y[1000:]) ** 2) / np.var(y[1000:]) < 0.6


def test_a_single_target_row_changes_nothing(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 3)
    source, Y, _, _ = shifted(n=100, k=1)
    model = ClosedFormRegressor().fit(source, Y, X_target=np.ones((1, 12)))
    assert model.choice_ == "source"
    np.testing.assert_allclose(model.predict(source), LinearRegression().fit(source, Y).predict(source))


def test_fewer_rows_than_folds(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 3)
    source, Y, target, _ = shifted(n=200)
    model = ClosedFormRegressor().fit(source, Y, X_target=target[:4] + (target[:4] == 0))
    assert np.isfinite(model.coef_).all()


def test_empty_folds_join_the_first_as_those_of_moments_do(monkeypatch):
    for seed in range(4):
        source, Y, target, _ = shifted(n=200, d=4, seed=seed)
        ids = np.arange(200) % 12
        assert 2 <= len(deal_rows((source, Y, ids), (target, None, ids))[0]) < 10
        narrow, rows = both_ways(source, Y, target, monkeypatch, gram="source", ids=ids)
        np.testing.assert_array_equal(rows.kind, narrow.kind)
        np.testing.assert_allclose(rows.coef, narrow.coef, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:The source has a value in")
@pytest.mark.parametrize("n_groups", [None, 12, 2])
def test_a_wide_table_of_few_rows_has_no_matrix_per_fold(n_groups, monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 20)
    monkeypatch.setattr(FoldedMoments, "of", lambda *_, **__: pytest.fail("a matrix per fold"))
    source, Y, target, _ = shifted(n=60, d=30)
    source[0] += source[0] == 0
    groups = {} if n_groups is None else dict.fromkeys(["groups", "groups_target"], np.arange(60) % n_groups)
    for labels in (Y, Y[:, 0]):
        model = ClosedFormRegressor().fit(source, labels, X_target=target, **groups)
        assert np.isfinite(model.predict(target)).all()
        assert model.rank_ > 0
        assert np.shape(model.choice_) == labels.shape[1:]


def wide_table(n, d, rng, topics=5):
    """Rows of topics, which make columns occur together."""
    shares = rng.gamma(0.3, 1, (topics, d)) + 0.02
    shares *= 20 / shares.sum(axis=1, keepdims=True)
    present = rng.random((2 * n, d)) < np.minimum(shares, 0.8)[rng.integers(0, topics, 2 * n)]
    X = sparse.csr_array(present * (rng.normal(size=(2 * n, d)) + 1))
    y = X @ rng.uniform(0, 1, d) + 0.5 * rng.normal(size=2 * n)
    rates = rng.uniform(0, 0.7, (2, d))
    source = apply_missingness(X[:n], rates[0], random_state=rng)
    return source, y[:n], apply_missingness(X[n:], rates[1], random_state=rng), y[n:]


def test_a_wide_table_is_adapted_in_the_memory_of_a_few_matrices():
    d = 600
    source, y, target, y_target = wide_table(12_000, d, np.random.default_rng(5))
    assert d > wide.WIDE
    tracemalloc.start()
    model = ClosedFormRegressor().fit(source, y, X_target=target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # By fold it were more than sixty.
    assert peak < 12 * 8 * d**2 + 3 * (source.data.nbytes + target.data.nbytes)
    plain = ClosedFormRegressor().fit(source, y, X_target=None)
    errors = [np.mean((m.predict(target) - y_target) ** 2) for m in (model, plain)]
    assert errors[0] < errors[1]
    assert model.choice_ != "source"
