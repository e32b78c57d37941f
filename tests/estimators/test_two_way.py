"""The two-way adjustment: its rows have the target's law, and it is the filter where there is nothing to fill."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
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
from dams.estimators.filling import fill_order, fill_probabilities, two_way_draws
from tests.estimators.two_way_laws import WORSE, clean, shifted


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


def test_a_cap_on_rows_keeps_the_targets_share_of_values():
    source, y, target, _ = shifted(n=3000)
    rows = TwoWayFilter(max_rows=400, random_state=0).fit_resample(source, y, X_target=target)[0]
    np.testing.assert_allclose((rows != 0).mean(axis=0), (target != 0).mean(axis=0), atol=0.02)


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


def test_other_choices_give_other_draws():
    source, y, target, _ = shifted(n=300)
    relative = estimate_relative_missingness(source, target)
    shipped, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    for choices, same in ((SHIPPED, True), (Choices(n_folds=3), False), (Choices(most_first=True), False)):
        (rows,) = two_way_draws(source, y, relative, n_draws=1, random_state=0, choices=choices)
        assert np.array_equal(rows, shipped) == same


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_rows_do_not_depend_on_the_number_of_threads_or_draws(n_jobs):
    source, y, target, _ = shifted(n=600)
    relative = estimate_relative_missingness(source, target)
    alone = two_way_draws(source, y, relative, n_draws=1, random_state=0)
    several = two_way_draws(source, y, relative, n_draws=3, random_state=0, n_jobs=n_jobs)
    np.testing.assert_array_equal(several[0], alone[0])
    assert (several[1] != several[0]).any()
