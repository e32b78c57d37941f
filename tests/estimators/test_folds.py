"""A row's fold follows from what it holds, wherever it stands; moments of folds add up to those of all rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dams.estimators.folds import Columns, FoldedMoments, assign_folds, hash_ids, hash_rows, merge, pair_folds
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
@given(seed=seeds, cut=st.integers(0, 200))
def test_a_part_of_the_rows_has_the_folds_that_it_has_in_the_whole(seed, cut):
    X = np.random.default_rng(seed).normal(size=(200, 3)) * (np.random.default_rng(seed + 1).random((200, 3)) < 0.9)
    X = X[(X != 0).any(axis=1)]
    folds = assign_folds(X)
    np.testing.assert_array_equal(assign_folds(X[:cut]), folds[:cut])
    np.testing.assert_array_equal(assign_folds(X[::-1]), folds[::-1])
    np.testing.assert_array_equal(assign_folds(np.asfortranarray(X)), folds)
    parts = [FoldedMoments.of(part) for part in (X[:cut], X[cut:]) if len(part)]
    whole = FoldedMoments.of(X)
    for field in ("parts", "counts"):
        assert len(getattr(whole, field)) == 10
    for fold, expected in enumerate(whole.parts):
        got = merge([part.parts[fold] for part in parts])
        assert got.n == expected.n
        np.testing.assert_allclose(got.mean, expected.mean, atol=1e-12)
        np.testing.assert_allclose(got.covariance, expected.covariance, atol=1e-12)


def test_ids_make_folds_of_rows_in_any_unit_and_order_of_columns():
    """What a row holds changes with its units; ids do not."""
    X, ids = np.random.default_rng(0).normal(size=(150, 5)), np.arange(150)
    order = np.random.default_rng(1).permutation(150)
    folds = assign_folds(X, groups=ids)
    np.testing.assert_array_equal(assign_folds(2.54 * X[:, ::-1], groups=ids), folds)
    np.testing.assert_array_equal(assign_folds(X[order], groups=ids[order]), folds[order])
    assert (assign_folds(2.54 * X) != assign_folds(X)).mean() > 0.8


def test_ids_have_one_number_in_any_type():
    numbers = hash_ids([3, 1, 2])
    for kind in (np.int32, np.uint8, np.float64):
        np.testing.assert_array_equal(hash_ids(np.array([3, 1, 2], dtype=kind)), numbers)
    words = np.array(["a", "b", "a"])
    assert hash_ids(words)[0] == hash_ids(words)[2] != hash_ids(words)[1]
    np.testing.assert_array_equal(hash_ids(words), hash_ids(pd.Series(words, dtype="string")))
    np.testing.assert_array_equal(hash_ids(words), hash_ids(pd.Categorical(words)))
    assert len(set(hash_ids([0.5, 1.5, 1.25]))) == 3


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.0, 1.0, 2.0, 3.0], [0.0, 0.5, -0.5]])
def test_rows_of_few_values_are_told_apart(values):
    rng = np.random.default_rng(0)
    X = np.unique(rng.choice(values, (30_000, 24)), axis=0)
    assert len(np.unique(hash_rows(X))) == len(X) > 29_000
    sizes = np.bincount(assign_folds(X), minlength=10)
    assert np.abs(sizes - len(X) / 10).max() < 5 * np.sqrt(len(X) / 10)


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


def test_a_zero_of_either_sign_is_a_zero():
    np.testing.assert_array_equal(hash_rows(np.array([[-0.0, 1.0]])), hash_rows(np.array([[0.0, 1.0]])))


def test_copies_of_few_rows_fill_all_folds_which_are_no_copies_of_each_other():
    X = np.random.default_rng(0).integers(0, 2, (1000, 2)) * 1.0
    folded = FoldedMoments.of(X)
    sizes = [part.n for part in folded.parts]
    assert sum(sizes) == 1000 and 60 < min(sizes) < max(sizes) < 140
    means = np.array([part.mean for part in folded.parts])
    expected = np.sqrt(0.25 / 100)
    assert 0.5 * expected < means.std(axis=0, ddof=1).mean() < 1.6 * expected


def test_copies_in_many_parts_of_a_table_fill_all_folds():
    """The k-th copy of a row has another fold in another part."""
    X = np.tile([[1.0, 0.0], [0.0, 1.0]], (1000, 1))
    X[:, 1] += np.arange(2000) // 50 * 1e-3 * (X[:, 1] != 0)
    sizes = sum(np.bincount(assign_folds(X[start : start + 50]), minlength=10) for start in range(0, 2000, 50))
    assert 120 < sizes.min() < sizes.max() < 300


def test_rows_of_a_group_share_a_fold_that_follows_from_the_group():
    rng = np.random.default_rng(0)
    X, Y = mixed_rows(2, n=300)
    groups = rng.integers(0, 60, 300)
    folds = assign_folds(X, Y, groups=groups)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in range(60))
    assert len(np.unique(folds)) == 10
    order = rng.permutation(300)[:200]
    np.testing.assert_array_equal(assign_folds(X[order], groups=groups[order].astype(float)), folds[order])


def test_folds_without_rows_of_either_domain_are_joined():
    X, Y = mixed_rows(3, n=8)
    source, target = FoldedMoments.of(X, Y), FoldedMoments.of(mixed_rows(4, n=7)[0])
    assert 0 in [part.n for part in source.parts]
    pair = pair_folds(source, target)
    both = sum(bool(a.n and b.n) for a, b in zip(source.parts, target.parts, strict=True))
    assert len(pair[0].parts) == len(pair[1].parts) == max(both, 1)
    for joined, whole in zip(pair, (source, target), strict=True):
        assert all(part.n for part in joined.parts)
        assert joined.n == whole.n
        np.testing.assert_allclose(joined.merged().covariance, whole.merged().covariance, atol=1e-12)
        np.testing.assert_array_equal(joined.counts.sum(axis=0), whole.counts.sum(axis=0))
    alone = pair_folds(FoldedMoments.of(X, Y, groups=np.zeros(8)), FoldedMoments.of(X, groups=np.full(8, 3)))
    assert [len(folded.parts) for folded in alone] == [1, 1]


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
