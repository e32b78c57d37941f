"""Folds depend on what rows hold, and on nothing else; their moments add up to those of all rows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from dams.estimators.folds import Columns, FoldedMoments, _largest, assign_folds
from dams.moments import Moments

seeds = st.integers(0, 2**32)
quick = settings(deadline=None, max_examples=25)
FIELDS = ["mean", "covariance", "label_mean", "label_covariance", "label_variance"]


def mixed_rows(seed, n=200, d=4):
    """Gaussian, binary and complete columns with zeros, and a binary label: many rows are alike."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.random((n, d - 2)) < 0.4, rng.integers(1, 3, n)]) * 1.0
    X[:, 0] *= rng.random(n) < 0.3
    return X, rng.integers(0, 2, (n, 1)) * 1.0


def assert_same_moments(got, expected):
    for one, other in zip(got.parts, expected.parts, strict=True):
        assert one.n == other.n
        for field in FIELDS:
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-12)
    np.testing.assert_array_equal(got.counts, expected.counts)


@quick
@given(seed=seeds)
def test_folds_hold_the_same_whatever_the_order_of_rows(seed):
    X, Y = mixed_rows(seed)
    assert len(np.unique(np.column_stack([X, Y]), axis=0)) < len(X)  # equal rows are among them
    order = np.random.default_rng(seed).permutation(len(X))
    assert_same_moments(FoldedMoments.of(X[order], Y[order]), FoldedMoments.of(X, Y))


def test_columns_of_equal_sums_are_told_apart():
    X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 50, axis=0)
    order = np.random.default_rng(0).permutation(100)
    assert_same_moments(FoldedMoments.of(X[order], X[order]), FoldedMoments.of(X, X))
    assert_same_moments(FoldedMoments.of(X[order], np.ones((100, 1))), FoldedMoments.of(X, np.ones((100, 1))))


def test_sorted_rows_give_the_folds_of_shuffled_rows():
    X, Y = mixed_rows(0, n=500)
    order = np.lexsort(np.column_stack([X, Y]).T)
    assert_same_moments(FoldedMoments.of(X[order], Y[order]), FoldedMoments.of(X, Y))


@quick
@given(seed=seeds, factor=st.floats(1e-6, 1e6))
def test_folds_do_not_depend_on_order_or_units_of_columns(seed, factor):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 5)) * (rng.random((150, 5)) < 0.6)
    # Columns are told apart by their sums, in 256ths of the largest value; equals by their place.
    assume(len(np.unique(np.rint(256 * X.sum(axis=0) / np.abs(X).max(axis=0)))) == 5)
    units = factor ** rng.uniform(-1, 1, 5)
    order = rng.permutation(5)
    np.testing.assert_array_equal(assign_folds((X * units)[:, order]), assign_folds(X))


@quick
@given(seed=seeds, factor=st.floats(-1e6, 1e6).filter(lambda c: abs(c) > 1e-6))
def test_folds_do_not_depend_on_the_scale_of_labels(seed, factor):
    X, _ = mixed_rows(seed)
    Y = np.random.default_rng(seed).normal(size=(len(X), 2))
    np.testing.assert_array_equal(assign_folds(X, factor * Y), assign_folds(X, Y))
    # The first label is served the same, whichever others are fitted with it.
    np.testing.assert_array_equal(assign_folds(X, Y), assign_folds(X, Y[:, :1]))


def test_labels_decide_between_rows_of_equal_covariates():
    X, Y = np.ones((40, 1)), np.arange(40.0)[:, None]
    order = np.random.default_rng(0).permutation(40)
    np.testing.assert_array_equal(assign_folds(X[order], Y[order]), assign_folds(X, Y)[order])


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_have_the_folds_of_dense_ones(kind):
    X, Y = mixed_rows(1)
    X[:, 1] = 0
    thin = kind(X)
    np.testing.assert_array_equal(assign_folds(thin, Y), assign_folds(X, Y))
    thin.data[:5] = 0  # stored zeros
    np.testing.assert_array_equal(assign_folds(thin), assign_folds(thin.toarray()))


def test_folds_are_of_one_size_and_no_copies_of_each_other():
    X = np.random.default_rng(0).integers(0, 2, (1000, 2)) * 1.0
    folded = FoldedMoments.of(X)
    assert [part.n for part in folded.parts] == [100] * 10
    means = np.array([part.mean for part in folded.parts])
    expected = np.sqrt(0.25 / 100)
    assert 0.5 * expected < means.std(axis=0, ddof=1).mean() < 1.6 * expected


def test_rows_of_a_group_share_a_fold_whatever_the_groups_are_called():
    rng = np.random.default_rng(0)
    X, Y = mixed_rows(2, n=300)
    groups = rng.integers(0, 40, 300)
    folds = assign_folds(X, Y, groups=groups)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in range(40))
    assert len(np.unique(folds)) == 10
    order, names = rng.permutation(300), rng.permutation(40).astype(str)
    np.testing.assert_array_equal(assign_folds(X[order], Y[order], groups=names[groups][order]), folds[order])


def test_fewer_rows_or_groups_than_folds():
    X = np.random.default_rng(0).normal(size=(6, 2))
    assert sorted(assign_folds(X)) == [0, 1, 2, 3, 4, 5]
    folded = FoldedMoments.of(X, groups=[0, 0, 0, 1, 1, 1])
    assert [part.n for part in folded.parts] == [3, 3]


@settings(deadline=None, max_examples=25)
@given(n=st.integers(6, 40), n_folds=st.integers(2, 5), seed=st.integers(0, 99))
def test_folds_merge_to_the_moments_of_all_rows(n, n_folds, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 3)) + 5, rng.normal(size=(n, 2))
    folded, folds = FoldedMoments.of(X, Y, n_folds=n_folds), assign_folds(X, Y, n_folds=n_folds)
    for got, rows in [(folded.merged(), np.ones(n, bool)), (folded.without(1), folds != 1)]:
        expected = Moments.of(X[rows], Y[rows])
        assert got.n == expected.n
        for field in FIELDS:
            np.testing.assert_allclose(getattr(got, field), getattr(expected, field), atol=1e-12)
    np.testing.assert_array_equal(folded.counts_without(1), (X[folds != 1] != 0).sum(axis=0))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_count_as_recorded_by_what_is_known_of_them(kind):
    X = kind(np.array([[1.0, 0, 0, 1], [0, 2, 0, 0], [0, 0, 0, 1], [3, 3, 0, 0]]))
    columns = Columns(always=np.array([False, False, True, False]), groups=np.array([0, 0, 1, 2]))
    np.testing.assert_array_equal(Columns().count_recorded(X), [2, 2, 0, 2])
    np.testing.assert_array_equal(columns.count_recorded(X), [3, 3, 4, 2])


@pytest.mark.parametrize("shape", [(1, 3), (63, 2), (64, 2), (65, 2), (1000, 5)])
def test_largest_values_of_columns(shape):
    X = np.random.default_rng(0).normal(size=shape)
    for rows in (X, np.asfortranarray(X), X[::-1]):
        np.testing.assert_array_equal(_largest(rows), np.abs(X).max(axis=0))
