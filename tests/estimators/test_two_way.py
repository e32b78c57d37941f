"""The two-way adjustment: its rows have the target's law, and it is the filter where there is nothing to fill."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeRegressor

from dams import (
    ClosedFormRegressor,
    FilteredEstimator,
    TwoWayEstimator,
    TwoWayFilter,
    apply_missingness,
    estimate_relative_missingness,
)
from dams.estimators._choices import SHIPPED, Choices
from dams.estimators._conditional import ConditionalLaw
from dams.estimators._linear import Columns, ridge
from dams.estimators.filling import fill_order, fill_probabilities, two_way_draws

BETTER, WORSE = [0.6, 0.1, 0.5], [0.1, 0.4, 0.2]


def clean(n=3000, seed=0):
    """A 0/1 column, a column of few values and one of many, all dependent, and a label."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    X = np.column_stack([z > 0, np.round(z + rng.normal(size=n)) + 7, z + rng.normal(size=n) + 5])
    return X, X @ [3.0, 1.0, 2.0] + rng.normal(size=n)


def shifted(n=3000, seed=0, m_source=BETTER, m_target=WORSE):
    X, y = clean(2 * n, seed)
    source = apply_missingness(X[:n], m_source, random_state=seed + 1)
    target = apply_missingness(X[n:], m_target, random_state=seed + 2)
    return source, y[:n], target, y[n:]


def law_of_first(table, labels, folds, **options):
    """The law of the first column of a table of shape (n, d), and the table as the law sees it."""
    columns = Columns(table.T.copy(), labels, folds)
    return ConditionalLaw(columns, np.array([0]), table[:, :1], folds, seed=0, **options), columns.table


def test_second_moments_with_the_label_become_the_targets():
    source, y, target, y_target = shifted(n=6000)
    draws = [TwoWayFilter(random_state=k).fit_resample(source, y, X_target=target) for k in range(3)]
    rows, labels = np.vstack([X for X, _ in draws]), np.concatenate([labels for _, labels in draws])

    def moments(X, y):
        Z = np.column_stack([X, X != 0, y])
        return Z.T @ Z / len(Z)

    there, before, after = moments(target, y_target), moments(source, y), moments(rows, labels)
    relative = np.abs(after - there) / np.abs(there)
    assert (np.abs(before - there) / np.abs(there)).max() > 0.5
    assert relative.max() < 0.08


def test_the_number_of_nonzeros_is_the_targets():
    source, y, target, _ = shifted()
    rows, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    np.testing.assert_allclose((rows != 0).mean(axis=0), (target != 0).mean(axis=0), atol=0.02)


def test_source_values_are_kept_and_only_recorded_values_filled_in():
    source, y, target, _ = shifted(m_target=[0.1, 0.05, 0.2])
    adjusted = TwoWayFilter(random_state=0)
    rows, labels = adjusted.fit_resample(source, y, X_target=target)
    assert adjusted.filled_.all()
    np.testing.assert_array_equal(rows[source != 0], source[source != 0])
    np.testing.assert_array_equal(labels, y)
    for j in range(3):
        assert set(rows[:, j]) <= set(source[:, j])


def test_filled_values_depend_on_the_rest_as_the_observed_ones_do():
    source, y, target, _ = shifted(n=4000)
    rows, labels = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    filled = (source[:, 2] == 0) & (rows[:, 2] != 0)
    observed = source[:, 2] != 0
    slopes = [np.polyfit(labels[which], rows[which, 2], 1)[0] for which in (filled, observed)]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.15)


def test_equals_the_filter_bit_for_bit_where_there_is_nothing_to_fill():
    source, y, target, _ = shifted(m_source=[0.1, 0.2, 0.0], m_target=[0.5, 0.6, 0.3])
    base = DecisionTreeRegressor(random_state=0)
    one_way = FilteredEstimator(base, n_draws=3, random_state=7).fit(source, y, X_target=target)
    two_way = TwoWayEstimator(base, n_draws=3, random_state=7).fit(source, y, X_target=target)
    np.testing.assert_array_equal(two_way.predict(target), one_way.predict(target))
    assert not two_way.filter_.filled_.any()


def test_without_target_it_is_the_base_estimator():
    source, y, _, _ = shifted(n=500)
    base = DecisionTreeRegressor(random_state=0)
    np.testing.assert_array_equal(
        TwoWayEstimator(base).fit(source, y, X_target=None).predict(source), base.fit(source, y).predict(source)
    )


@pytest.mark.filterwarnings("ignore:The target records")
def test_closes_most_of_the_gap_between_source_and_oracle():
    source, y, target, y_target = shifted(n=4000)
    X, y_test = clean(8000, seed=50)
    test = apply_missingness(X, WORSE, random_state=51)

    def error(model):
        return np.mean((model.predict(test) - y_test) ** 2)

    tree = DecisionTreeRegressor(min_samples_leaf=30, random_state=0)
    oracle, unadjusted = error(tree.fit(target, y_target)), error(tree.fit(source, y))
    one_way, two_way = (
        np.mean([error(kind(tree, n_draws=1, random_state=k).fit(source, y, X_target=target)) for k in range(3)])
        for kind in (FilteredEstimator, TwoWayEstimator)
    )
    assert two_way < one_way
    assert unadjusted - two_way > 0.6 * (unadjusted - oracle)


def test_with_a_linear_base_it_agrees_with_the_closed_form():
    source, y, target, y_target = shifted(n=4000)
    two_way = TwoWayEstimator(LinearRegression(), random_state=0).fit(source, y, X_target=target)
    closed = ClosedFormRegressor().fit(source, y, X_target=target)
    assert two_way.score(target, y_target) == pytest.approx(closed.score(target, y_target), abs=0.01)


@pytest.mark.parametrize("names", [np.array([0, 1]), np.array(["ill", "well"])])
def test_classifiers(names):
    source, y, target, y_target = shifted()
    labels, labels_target = names[(y > 20).astype(int)], names[(y_target > 20).astype(int)]
    model = TwoWayEstimator(RandomForestClassifier(10, random_state=0), n_draws=1, random_state=0)
    model.fit(source, labels, X_target=target)
    assert model.filter_.filled_.any()
    assert model.score(target, labels_target) > 0.8
    assert list(model.classes_) == list(names)
    assert model.predict_proba(target).shape == (len(target), 2)


def test_several_labels():
    source, y, target, _ = shifted(n=1000)
    model = TwoWayEstimator(LinearRegression(), random_state=0)
    assert model.fit(source, np.column_stack([y, -y]), X_target=target).predict(target).shape == (1000, 2)


def test_frames_stay_frames_and_sparse_stays_sparse():
    source, y, target, _ = shifted(n=600)
    frames = [pd.DataFrame(A, columns=["a", "b", "c"]) for A in (source, target)]
    frames[0].index = range(7, 607)
    dense, labels = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    frame, _ = TwoWayFilter(random_state=0).fit_resample(frames[0], y, X_target=frames[1][["c", "a", "b"]])
    matrix, _ = TwoWayFilter(random_state=0).fit_resample(sparse.csr_array(source), y, X_target=target)
    assert list(frame.columns) == ["a", "b", "c"] and list(frame.index) == list(range(7, 607))
    np.testing.assert_array_equal(frame.to_numpy(), dense)
    np.testing.assert_array_equal(matrix.toarray(), dense)
    np.testing.assert_array_equal(labels, y)


def test_a_cap_that_no_table_reaches_changes_nothing():
    source, y, target, _ = shifted(n=800)
    every, capped = (
        TwoWayFilter(max_rows=m, random_state=0).fit_resample(source, y, X_target=target)[0] for m in (None, 800)
    )
    np.testing.assert_array_equal(capped, every)


def test_trees_learn_from_as_many_rows_as_the_cap_says():
    source, y, target, _ = shifted(n=3000)
    rows = TwoWayFilter(max_rows=400, random_state=0).fit_resample(source, y, X_target=target)[0]
    np.testing.assert_allclose((rows != 0).mean(axis=0), (target != 0).mean(axis=0), atol=0.02)
    folds = np.arange(3000) % 2
    law, table = law_of_first(source[:, [2, 0, 1]], y[:, None], folds, max_rows=400)
    assert law._forest.estimators_[0].tree_.weighted_n_node_samples[0] == 400
    assert [tree.tree_.n_node_samples[0] for tree in law._classifiers] == [400, 400]
    zeros = np.flatnonzero(source[:, 2] == 0)
    donors = law.donors(table, zeros, np.random.default_rng(0))
    # Only rows that the forest learned from, all of which have a value; the two folds judge each other.
    assert len(np.unique(donors)) <= 400 and (source[donors, 2] != 0).all()


def test_a_cap_leaves_a_rare_value_its_donors():
    """A sample of rows would hold a tenth of them."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.where(np.arange(5000) % 50 == 0, rng.normal(size=5000), 0), rng.normal(size=5000)])
    law, table = law_of_first(rows, rng.normal(size=(5000, 1)), np.arange(5000) % 2, max_rows=500)
    assert len(np.unique(law.donors(table, np.flatnonzero(rows[:, 0] == 0), rng))) > 90


@pytest.mark.parametrize("max_rows", [99, 0, 2.5])
def test_a_cap_below_a_hundred_is_refused(max_rows):
    source, y, target, _ = shifted(n=300)
    with pytest.raises(ValueError, match="'max_rows' parameter of TwoWayFilter must be an int in the range"):
        TwoWayFilter(max_rows=max_rows).fit_resample(source, y, X_target=target)


def test_sparse_rows_are_dense_once_per_draw():
    rng = np.random.default_rng(0)
    X = (rng.random((12_000, 60)) < 0.05).astype(float)
    source, target = (sparse.csr_array(apply_missingness(X, m, random_state=k)) for k, m in enumerate((0.1, 0.1)))
    y = X[:, 0] + rng.normal(size=len(X))
    # One feature to fill.
    source[:, [1]] = source[:, [1]].multiply(rng.random((12_000, 1)) < 0.5)
    source.eliminate_zeros()
    tracemalloc.start()
    rows, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows.nnz < 60_000
    # The standardised table, and what folds copy of it; with rows and scaling made dense it was more than four.
    assert peak < 3 * 8 * X.size


def test_same_seed_same_rows():
    source, y, target, _ = shifted(n=600)
    first, second, other = (
        TwoWayFilter(random_state=seed).fit_resample(source, y, X_target=target)[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_a_feature_seen_once_in_the_source():
    source, y, target, _ = shifted(n=400)
    source[:, 0] = 0
    source[5, 0] = 1
    with pytest.warns(
        UserWarning, match=r"a value in 1 of 400 rows of column 0, which the target has at least 10 times as"
    ):
        rows, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    assert (rows[:, 0] != 0).mean() == pytest.approx((target[:, 0] != 0).mean(), abs=0.1)


def test_numbers_held_as_objects_are_no_classes():
    source, y, target, _ = shifted(n=400)
    rows = [
        TwoWayFilter(random_state=0).fit_resample(source, labels, X_target=target)[0]
        for labels in (y, y.astype(object), pd.Series(y, dtype=object))
    ]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_source_rows_are_not_changed_in_place():
    source, y, target, _ = shifted(n=400)
    before = source.copy()
    TwoWayEstimator(LinearRegression(), random_state=0).fit(source, y, X_target=target)
    np.testing.assert_array_equal(source, before)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=30).flatmap(
        lambda p: st.tuples(st.just(np.array(p)), st.floats(0, len(p)))
    )
)
def test_fill_probabilities_sum_to_what_is_expected(case):
    probability, expected = case
    chances = fill_probabilities(probability, expected)
    assert chances.sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert (chances >= 0).all() and (chances <= 1).all()
    below = chances < 1
    odds = (probability / (1 - probability))[below]
    np.testing.assert_allclose(chances[below] * odds.max(initial=0), odds * chances[below].max(initial=0), atol=1e-9)


def test_fill_probabilities_are_the_formulas_where_the_probability_is_right():
    rng = np.random.default_rng(0)
    pi, r = rng.uniform(0.1, 0.5, 200_000), -0.4
    zero = rng.random(len(pi)) >= pi
    chances = fill_probabilities(pi[zero], -r * (~zero).sum())
    np.testing.assert_allclose(chances, -r * pi[zero] / (1 - pi[zero]), rtol=0.02)


def test_the_conditional_law_is_calibrated_on_rows_it_has_not_seen():
    X, y = clean(4000)
    source = apply_missingness(X, [0.3, 0.3, 0.3], random_state=1)
    law, table = law_of_first(source, (y[:, None] - y.mean()) / y.std(), np.arange(4000) % 2)
    probability = law.probability(table, np.arange(4000))
    for low, high in [(0, 0.2), (0.2, 0.45), (0.45, 1)]:
        rows = (probability > low) & (probability <= high)
        assert probability[rows].mean() == pytest.approx((source[rows, 0] != 0).mean(), abs=0.06)


def test_n_draws_must_be_positive():
    source, y, target, _ = shifted(n=100)
    with pytest.raises(ValueError, match="'n_draws'"):
        TwoWayEstimator(LinearRegression(), n_draws=0).fit(source, y, X_target=target)


def test_a_single_feature_can_be_filled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1)) + 2
    y = X[:, 0] + 0.1 * rng.normal(size=600)
    source, target = (apply_missingness(X, m, random_state=k) for k, m in enumerate((0.6, 0.1)))
    filled, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    assert np.mean(filled != 0) == pytest.approx(np.mean(target != 0), abs=0.05)
    assert np.isin(filled, source).all()


def test_a_law_that_fills_no_row_draws_nothing():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    rows[:, 0] = 0
    rows[:4, 0] = [1.0, 2.0, 3.0, 4.0]
    law, table = law_of_first(rows, labels, np.arange(40) % 2)
    assert law.donors(table, np.array([], dtype=int), rng).shape == (0,)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_keep_their_kind(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    source, target = (apply_missingness(X, m, random_state=k) for k, m in enumerate((0.6, 0.1)))
    rows, _ = TwoWayFilter(random_state=0).fit_resample(kind(source), X[:, 0], X_target=kind(target))
    assert type(rows) is kind and rows.shape == (400, 3)


@pytest.mark.parametrize("unit", [1e-9, 1e40])
def test_filled_values_do_not_depend_on_units(unit):
    source, y, target, _ = shifted(n=1000)
    rows, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    power = 2.0 ** np.round(np.log2(unit))  # changes no digit, so that all draws are the same
    scaled, _ = TwoWayFilter(random_state=0).fit_resample(source * power, y, X_target=target * power)
    np.testing.assert_array_equal(scaled / power, rows)


def test_columns_keep_their_types():
    source, y, target, _ = shifted(n=1000)

    def frame(X):
        grades = pd.Categorical(X[:, 1].astype(int), categories=sorted(set(X[:, 1].astype(int))))
        return pd.DataFrame({"seen": X[:, 0].astype(bool), "grade": grades, "level": pd.array(X[:, 2], "Float64")})

    rows, _ = TwoWayFilter(random_state=0).fit_resample(frame(source), y, X_target=frame(target))
    assert [str(dtype) for dtype in rows.dtypes] == ["bool", "category", "Float64"]
    plain, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    np.testing.assert_array_equal(rows.astype(float).to_numpy(), plain)


def test_categories_without_a_zero_get_one_where_a_value_is_lost():
    source, y, target, _ = shifted(n=1000, m_source=[0.6, 0.0, 0.0], m_target=[0.1, 0.4, 0.0])
    frames = [pd.DataFrame(X).astype({1: int}) for X in (source, target)]
    frames[0][1] = frames[0][1].astype("category")
    assert 0 not in frames[0][1].cat.categories
    rows, _ = TwoWayFilter(random_state=0).fit_resample(frames[0], y, X_target=frames[1])
    assert rows[1].cat.categories[0] == 0
    assert rows[1].notna().all()


def test_features_with_least_to_fill_come_first():
    r = np.array([0.3, -2.0, -0.1, 0.0, -0.5])
    assert list(fill_order(r)) == [2, 4, 1]
    assert list(fill_order(r, most_first=True)) == [1, 4, 2]


def test_no_row_is_judged_by_trees_that_saw_it():
    """There is nothing to learn, and trees that knew their own rows would tell zeros from values all the same."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(600, 11)), rng.normal(size=(600, 1))
    rows[:, 0] = rng.random(600) < 0.5
    law, table = law_of_first(rows, labels, rng.permutation(600) % 2)
    assert abs(roc_auc_score(rows[:, 0], law.probability(table, np.arange(600))) - 0.5) < 0.08
    in_sample, table = law_of_first(rows, labels, np.zeros(600, dtype=int))
    assert roc_auc_score(rows[:, 0], in_sample.probability(table, np.arange(600))) > 0.65


def test_other_choices_give_other_draws():
    source, y, target, _ = shifted(n=300)
    relative = estimate_relative_missingness(source, target)
    shipped, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    for choices, same in ((SHIPPED, True), (Choices(n_folds=3), False), (Choices(most_first=True), False)):
        (rows,) = two_way_draws(source, y, relative, n_draws=1, random_state=0, choices=choices)
        assert np.array_equal(rows, shipped) == same


def test_what_the_other_features_leave_of_a_label_is_seen():
    """A value that a sum of many features is set off against: trees alone would need very many splits."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 21))
    rows[:, 0] = rng.random(4000) < 0.5
    labels = rows.sum(axis=1, keepdims=True)
    law, table = law_of_first(rows, labels, rng.permutation(4000) % 2)
    assert roc_auc_score(rows[:, 0], law.probability(table, np.arange(4000))) > 0.99


def test_columns_that_trees_do_not_see_count_through_the_regression():
    """Each of 40 features tells little, so that any dozen of them tells much less than all."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 41))
    rows[:, 0] = rng.random(6000) < 1 / (1 + np.exp(-rows[:, 1:].sum(axis=1)))
    law, table = law_of_first(rows, rng.normal(size=(6000, 1)), rng.permutation(6000) % 2)
    assert roc_auc_score(rows[:, 0], law.probability(table, np.arange(6000))) > 0.93


def test_trees_see_the_columns_most_correlated_with_what_they_learn():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 30))
    related = [1, 3, 5, 20]
    rows[:, 0] = (rows[:, related] @ [1, 1, 1, -1] > 0) & (rng.random(4000) < 0.9)
    labels, folds = rng.normal(size=(4000, 1)), np.arange(4000) % 2
    few, _ = law_of_first(rows[:, : related[-1] + 1][:, [0, *related]], labels, folds, choices=Choices(n_columns=2))
    assert len(few._for_probability) == 2
    # Of a wide table, half.
    law, _ = law_of_first(rows, labels, folds, choices=Choices(n_columns=2))
    assert len(law._for_probability) == 15
    assert set(related) <= set(law._for_probability)


def test_donors_are_rows_with_a_value_that_is_near_what_the_rest_tells():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3))
    truth = rows[:, 1] + 5
    rows[:, 0] = np.where(rng.random(3000) < 0.5, truth, 0)
    law, table = law_of_first(rows, rng.normal(size=(3000, 1)), np.arange(3000) % 2)
    zeros = np.flatnonzero(rows[:, 0] == 0)
    values = rows[law.donors(table, zeros, rng), 0]
    assert (values != 0).all()
    assert np.abs(values - truth[zeros]).mean() < 0.1


def test_moments_follow_a_column_that_changes():
    rng = np.random.default_rng(0)
    table, labels, folds = rng.normal(size=(4, 50)), rng.normal(size=(50, 2)), np.arange(50) % 3
    columns = Columns(table, labels, folds)
    table[[1, 3]] = rng.normal(size=(2, 50))
    columns.refresh(np.array([1, 3]))
    for kept, anew in zip(columns.by_fold, Columns(table, labels, folds).by_fold, strict=True):
        np.testing.assert_allclose(kept, anew, atol=1e-12)


def test_ridge_is_scikit_learns():
    rng = np.random.default_rng(0)
    table, labels = rng.normal(size=(4, 50)) + 3, rng.normal(size=(50, 1))
    columns, target = Columns(table, labels, np.zeros(50, dtype=int)), rng.normal(size=(50, 2))
    seen = np.array([0, 2, 4])
    weights = ridge(columns.by_fold[0], seen, columns.products(target)[0])
    model = Ridge().fit(np.column_stack([table.T, labels])[:, seen], target)
    np.testing.assert_allclose(weights[seen].T, model.coef_)
    np.testing.assert_allclose(weights[-1], model.intercept_)
    assert not weights[[1, 3]].any()


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_rows_do_not_depend_on_the_number_of_threads_or_draws(n_jobs):
    source, y, target, _ = shifted(n=600)
    relative = estimate_relative_missingness(source, target)
    alone = two_way_draws(source, y, relative, n_draws=1, random_state=0)
    several = two_way_draws(source, y, relative, n_draws=3, random_state=0, n_jobs=n_jobs)
    np.testing.assert_array_equal(several[0], alone[0])
    assert (several[1] != several[0]).any()
