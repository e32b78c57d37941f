"""The forest of the fast engine: bins, and trees that are scikit-learn's to the digit where bins hide nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dams.imputation._forest import ClassTarget, NumericTarget, bin_column, grow_forest
from dams.imputation._forest.histograms import TrainingData
from dams.imputation._forest.rounding import rounded_scores

columns_of_numbers = arrays(
    np.float64,
    st.integers(1, 400),
    elements=st.one_of(st.integers(-5, 5).map(float), st.floats(-1e3, 1e3, width=32)),
)


@given(columns_of_numbers, st.integers(2, 255))
@settings(deadline=None, max_examples=60)
def test_bins_cut_a_column_into_ordered_pieces(column, max_bins):
    binned = bin_column(column, max_bins)
    single = column.astype(np.float32)
    assert 1 <= binned.n_bins <= max_bins
    np.testing.assert_array_equal(single[binned.order], binned.ordered)
    for number in range(binned.n_bins):
        members = single[binned.codes == number]
        np.testing.assert_array_equal(np.sort(members), binned.ordered[binned.members(number)])
        assert members.min() == binned.lowest[number]
        assert members.max() == binned.highest[number]
    assert (binned.highest[:-1] < binned.lowest[1:]).all()


def test_few_values_have_a_bin_each():
    column = np.random.default_rng(0).permutation(np.repeat(np.arange(255.0), 3))
    np.testing.assert_array_equal(bin_column(column).codes, column)


def test_a_frequent_value_is_alone_in_its_bin():
    rng = np.random.default_rng(0)
    column = np.concatenate([rng.normal(size=5000), np.full(5000, 0.123)])
    binned = bin_column(column)
    assert (column[binned.codes == binned.codes[-1]] == 0.123).all()
    sizes = np.bincount(binned.codes)
    assert binned.n_bins > 250
    assert np.sort(sizes)[-2] < 40


def test_values_that_differ_by_rounding_are_one():
    assert bin_column(np.array([0.5, 0.5 + 1e-9, 0.5 - 1e-9])).n_bins == 1
    assert bin_column(np.array([1e-3, 1e-3 + 5e-8, 1.0])).n_bins == 2


def drawn_counts(columns, rows, target, n_trees, seed):
    """The bootstrap samples of a forest that is grown with the same seed."""
    return TrainingData(columns, rows, target).bootstrap(n_trees, np.random.default_rng(seed))


def one_tree(X, rows, target, depth, seed):
    """A tree, and how often it has drawn each of the rows."""
    columns = [bin_column(column) for column in X.T]
    tree = grow_forest(columns, rows, target, n_estimators=1, max_depth=depth, rng=np.random.default_rng(seed))
    return tree, drawn_counts(columns, rows, target, 1, seed)[:, 0]


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_a_regression_tree_fits_its_sample_as_scikit_learns_does(depth, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] * X[:, 1] + np.exp(X[:, 2]) + 0.1 * rng.normal(size=150)
    rows = np.sort(rng.permutation(150)[:110])
    tree, drawn = one_tree(X, rows, NumericTarget(y[rows]), depth, seed)
    expected = DecisionTreeRegressor(max_depth=depth).fit(X[rows], y[rows], sample_weight=drawn)
    # Two features may split off the same rows, and lead others to different leaves.
    sample = X[rows][drawn > 0]
    np.testing.assert_allclose(tree.predict(sample.T)[:, 0], expected.predict(sample), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_lie_where_scikit_learn_puts_them(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 1))
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=120)
    tree, drawn = one_tree(x, np.arange(120), NumericTarget(y), 3, seed)
    expected = DecisionTreeRegressor(max_depth=3).fit(x, y, sample_weight=drawn)
    new = rng.normal(size=(2000, 1))
    np.testing.assert_allclose(tree.predict(new.T)[:, 0], expected.predict(new), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_classification_tree_reaches_scikit_learns_impurity(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    classes = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int) + (X[:, 1] > 1)
    tree, drawn = one_tree(X, np.arange(200), ClassTarget(classes, 3), 1, seed)
    expected = DecisionTreeClassifier(max_depth=1).fit(X, classes, sample_weight=drawn)
    ours, theirs = (
        np.average((shares * (1 - shares)).sum(axis=1), weights=drawn)
        for shares in (tree.predict(X.T), expected.predict_proba(X))
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_few_large_values_in_one_bin_are_split_off():
    """5,000 distinct values in 255 bins: the ten that matter share one with others."""
    rng = np.random.default_rng(0)
    x = rng.permutation(5000).astype(float)
    y = np.where(x > 4989.5, 50.0, 0.0) + 0.01 * rng.normal(size=5000)
    columns, rows, target = [bin_column(x)], np.arange(5000), NumericTarget(y)
    large = x[columns[0].codes == columns[0].codes.max()]
    assert large.min() < 4989 < large.max()
    forest = grow_forest(columns, rows, target, n_estimators=8, max_depth=1, rng=np.random.default_rng(1))
    for threshold, drawn in zip(forest.thresholds[0][0], drawn_counts(columns, rows, target, 8, 1).T, strict=True):
        sample = x[drawn > 0]
        assert threshold == (sample[sample < 4989.5].max() + sample[sample > 4989.5].min()) / 2


def test_leaves_hold_the_means_of_the_rows_that_reach_them():
    """With far more values than bins, where splits cut through bins."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = np.exp(3 * np.abs(X[:, 0])) + X[:, 1]
    tree, drawn = one_tree(X, np.arange(4000), NumericTarget(y), 3, 0)
    predicted = tree.predict(X.T)[:, 0]
    leaves = np.unique(predicted)
    assert len(leaves) >= 5
    for leaf in leaves:
        rows = predicted == leaf
        np.testing.assert_allclose(leaf, np.average(y[rows], weights=drawn[rows]), rtol=1e-4)


def test_columns_that_split_alike_are_chosen_at_random():
    x = np.repeat([0.0, 1.0], 50)
    columns = [bin_column(x), bin_column(10 * x), bin_column(-x)]
    rng = np.random.default_rng(0)
    forest = grow_forest(columns, np.arange(100), NumericTarget(x), n_estimators=90, max_depth=1, rng=rng)
    assert np.bincount(forest.features[0].ravel(), minlength=3).min() > 15


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("unit", [0.1, 0.11, 0.27, 3.3])
def test_between_columns_that_split_alike_rounding_decides_as_in_scikit_learn(unit, mirrored):
    decided = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        high = rng.permutation(200) < 80
        # Both columns tell high from low, and have the rows of each in an order of their own.
        X = np.column_stack([200 * high + rng.permutation(200) for _ in range(2)]).astype(float)
        X[:, 1] *= -1 if mirrored else 1
        y = unit * (rng.uniform(100, 103, 200) + 20 * high)
        tree, drawn = one_tree(X, np.arange(200), NumericTarget(y), 1, seed)
        data = TrainingData([bin_column(column) for column in X.T], np.arange(200), NumericTarget(y))
        cuts = [np.count_nonzero(high if (column < 0).any() else ~high) - 1 for column in X.T]
        first, second = rounded_scores(data, y, drawn, np.arange(2), np.array(cuts))
        if first != second:
            expected = DecisionTreeRegressor(max_depth=1, random_state=seed).fit(X, y, sample_weight=drawn)
            assert tree.features[0][0, 0] == expected.tree_.feature[0] == int(second > first)
            decided.append(seed)
    assert len(decided) > 5


def test_rounding_decides_as_in_scikit_learn_where_values_repeat():
    decided = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        # Groups of rows that are alike in everything. Where the last groups are large, scikit-learn sums from behind.
        group = np.repeat(np.arange(8), rng.integers(1, 60, 8))
        high = np.arange(8) < rng.integers(2, 7)
        X = np.column_stack([(8 * high + rng.permutation(8))[group] for _ in range(2)]).astype(float)
        y = rng.uniform(0.1, 5) * (rng.integers(100, 103, 8) + 20 * high)[group]
        counts = rng.integers(1, 4, 8).astype(np.uint8)[group]
        data = TrainingData([bin_column(column) for column in X.T], np.arange(len(y)), NumericTarget(y))
        cuts = np.full(2, np.count_nonzero(~high) - 1)
        first, second = rounded_scores(data, y, counts, np.arange(2), cuts)
        if first != second:
            expected = DecisionTreeRegressor(max_depth=1, random_state=seed).fit(X, y, sample_weight=counts)
            assert expected.tree_.feature[0] == int(second > first)
            decided.append(int(second > first))
    assert len(decided) > 20
    assert 0.2 < np.mean(decided) < 0.8


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_split_scores_as_its_mirror_image_does(kind):
    """One column may have on the left what another has on the right: with rounding one of them would always win."""
    rng = np.random.default_rng(0)
    for n in (7, 92, 3000):
        values, classes = rng.normal(size=n) ** 3, rng.integers(3, size=n)
        target = NumericTarget(values) if kind == "numbers" else ClassTarget(classes, 3)
        sums = np.zeros((target.n_channels, n))
        sums[target.channels, np.arange(n)] = target.amounts * np.bincount(rng.integers(n, size=n), minlength=n)
        left, node = sums.cumsum(axis=1), sums.sum(axis=1, keepdims=True)
        for one, other in zip(target.deviations(left, node)[1], target.deviations(node - left, node)[1], strict=True):
            np.testing.assert_array_equal(one, -other)


def test_a_leaf_of_equal_targets_predicts_them_exactly():
    x = np.repeat([0.0, 1.0, 2.0], 40)
    y = np.array([0.1, -7.3, 1e6 / 7])[x.astype(int)]
    rng = np.random.default_rng(0)
    forest = grow_forest([bin_column(x)], np.arange(120), NumericTarget(y), n_estimators=1, max_depth=3, rng=rng)
    np.testing.assert_array_equal(forest.predict(np.array([[0.0, 1.0, 2.0]]))[:, 0], y[::40])


def test_without_a_feature_to_split_trees_predict_means_of_their_samples():
    y = np.arange(10.0)
    columns, rows, target = [bin_column(np.ones(10))], np.arange(10), NumericTarget(y)
    forest = grow_forest(columns, rows, target, n_estimators=4, max_depth=3, rng=np.random.default_rng(5))
    counts = drawn_counts(columns, rows, target, 4, 5)
    expected = np.average(np.tile(y[:, None], 4), axis=0, weights=counts).mean()
    np.testing.assert_allclose(forest.predict(np.array([[-9.0, 1.0, 9.0]]))[:, 0], expected, rtol=1e-9)


def test_trees_grown_in_groups_are_all_there():
    """Many classes and levels: histograms of all trees at once would not fit, so that they are grown in turn."""
    rng = np.random.default_rng(0)
    classes = rng.permutation(np.repeat(np.arange(40), 5))
    columns = [bin_column(classes + 0.1 * rng.normal(size=200)), bin_column(rng.normal(size=200))]
    forest = grow_forest(
        columns, np.arange(200), ClassTarget(classes, 40), n_estimators=7, max_depth=5, rng=np.random.default_rng(1)
    )
    assert forest.leaves.shape == (32, 7, 40)
    assert [features.shape for features in forest.features] == [(2**level, 7) for level in range(5)]
    shares = forest.predict(np.stack([classes, np.zeros(200)]))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == classes).mean() > 0.4


def test_rows_beyond_what_exact_sums_allow_are_refused():
    with pytest.raises(ValueError, match=r"at most 4,194,303 rows.*got 8,388,608.*inductive"):
        NumericTarget(np.broadcast_to(1.0, (2**23,)))


def test_an_extreme_value_moves_no_other_leaf():
    """It makes the grid of the target coarse: many values share a point, and their mean is still theirs."""
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(11.5, 0.5, 30_000), 1e7)
    target = NumericTarget(values)
    bulk = target.means(target.amounts[None, :-1].sum(axis=1, keepdims=True)).item()
    assert len(np.unique(target.amounts)) < 10
    assert bulk == pytest.approx(values[:-1].mean(), abs=0.01)
    assert target.means(target.amounts[None, -1:]).item() == 1e7


def test_values_that_repeat_inside_a_bin_are_not_cut_apart():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = np.round(rng.normal(size=4000), 2)
        y = x + (x > 0.3) + rng.normal(size=4000)
        tree, drawn = one_tree(x[:, None], np.arange(4000), NumericTarget(y), 1, seed)
        right = x.astype(np.float32) > tree.thresholds[0][0, 0]
        means = [np.average(y[side], weights=drawn[side]) for side in (~right, right)]
        np.testing.assert_allclose(np.ravel(tree.leaves)[:2], means, atol=1e-5)
