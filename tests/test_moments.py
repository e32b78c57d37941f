"""The moments table against the expectation over every mask, and moments of samples against their definitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dams.moments import (
    MANY_COLUMNS,
    Moments,
    inverse_rates,
    move_covariance,
    move_gram,
    move_mean,
    multiply_sparse,
    relative_rates,
)

D, K = 3, 2
rate = st.floats(0, 0.95)
rates = st.lists(rate, min_size=D, max_size=D).map(np.array)
seeds = st.integers(0, 2**32)


def law(seed, rows=6):
    """A discrete law: rows X, labels Y and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1, 2, (rows, D)) * (rng.random((rows, D)) < 0.7)
    return X, rng.normal(size=(rows, K)), rng.dirichlet(np.ones(rows))


def moments_over_all_masks(X, Y, weights, m):
    """E[X̃], E[X̃ᵀX̃] and E[X̃ᵀY] summed over all 2^d masks."""
    mean, gram, cross = np.zeros(D), np.zeros((D, D)), np.zeros((D, K))
    for mask in product((0, 1), repeat=D):
        kept = np.array(mask)
        probability = np.prod(np.where(kept, 1 - m, m))
        corrupted = X * kept
        mean += probability * weights @ corrupted
        gram += probability * corrupted.T @ (weights[:, None] * corrupted)
        cross += probability * corrupted.T @ (weights[:, None] * Y)
    return mean, gram, cross


@settings(deadline=None, max_examples=40)
@given(seeds, rates)
def test_moves_equal_the_expectation_over_all_masks(seed, m):
    X, Y, weights = law(seed)
    clean_mean, clean_gram, clean_cross = moments_over_all_masks(X, Y, weights, np.zeros(D))
    mean, gram, cross = moments_over_all_masks(X, Y, weights, m)
    np.testing.assert_allclose(move_mean(clean_mean, m), mean, atol=1e-12)
    np.testing.assert_allclose(move_mean(clean_cross, m), cross, atol=1e-12)
    np.testing.assert_allclose(move_gram(clean_gram, m), gram, atol=1e-12)
    clean_covariance = clean_gram - np.outer(clean_mean, clean_mean)
    moved = move_covariance(clean_covariance, clean_mean, m)
    np.testing.assert_allclose(moved, gram - np.outer(mean, mean), atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(seeds, rate, rate)
def test_columns_that_are_lost_together_move_as_one(seed, together, alone):
    """Against the expectation over the masks of two groups, {0, 2} and {1}."""
    X, Y, weights = law(seed)
    groups, m = np.array([4, 1, 4]), np.array([together, alone, together])
    mean, gram = np.zeros(D), np.zeros((D, D))
    for first, second in product((0, 1), repeat=2):
        probability = np.prod(np.where([first, second], [1 - together, 1 - alone], [together, alone]))
        corrupted = X * [first, second, first]
        mean += probability * weights @ corrupted
        gram += probability * corrupted.T @ (weights[:, None] * corrupted)
    clean_mean, clean_gram, _ = moments_over_all_masks(X, Y, weights, np.zeros(D))
    covariance = clean_gram - np.outer(clean_mean, clean_mean)
    np.testing.assert_allclose(move_gram(clean_gram, m, groups=groups), gram, atol=1e-12)
    moved = move_covariance(covariance, clean_mean, m, groups=groups)
    np.testing.assert_allclose(moved, gram - np.outer(mean, mean), atol=1e-12)
    np.testing.assert_array_equal(Moments(9, clean_mean, covariance).moved(m, groups=groups).covariance, moved)


def test_groups_of_one_column_change_nothing():
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(50, 3)), np.array([0.3, -0.5, 0.2])
    moments = Moments.of(X)
    np.testing.assert_allclose(moments.moved(r, groups=np.arange(3)).gram, moments.moved(r).gram)


def test_a_group_has_one_rate():
    with pytest.raises(ValueError, match="lost together have one rate"):
        move_gram(np.eye(3), np.array([0.1, 0.2, 0.1]), groups=np.array([0, 0, 1]))


@settings(deadline=None, max_examples=40)
@given(seeds, rates)
def test_inverse_rates_undo_the_map(seed, m):
    X, _, weights = law(seed)
    mean, gram, _ = moments_over_all_masks(X, X[:, :K], weights, np.zeros(D))
    back = inverse_rates(m)
    np.testing.assert_allclose(move_mean(move_mean(mean, m), back), mean, atol=1e-9)
    np.testing.assert_allclose(move_gram(move_gram(gram, m), back), gram, atol=1e-9)
    covariance = gram - np.outer(mean, mean)
    moved = move_covariance(covariance, mean, m)
    np.testing.assert_allclose(move_covariance(moved, move_mean(mean, m), back), covariance, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(seeds, rates, rates)
def test_source_to_target_equals_the_way_through_the_clean_law(seed, m_source, m_target):
    X, _, weights = law(seed)
    mean, gram, _ = moments_over_all_masks(X, X[:, :K], weights, np.zeros(D))
    r = relative_rates(m_source, m_target)
    np.testing.assert_allclose(1 - r, (1 - m_target) / (1 - m_source))
    np.testing.assert_allclose(move_mean(move_mean(mean, m_source), r), move_mean(mean, m_target), atol=1e-9)
    np.testing.assert_allclose(move_gram(move_gram(gram, m_source), r), move_gram(gram, m_target), atol=1e-9)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 4)) * rng.normal(3, 1, (40, 4))
    return X, rng.normal(2, 1, (40, K))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array], ids=["dense", "matrix", "array"])
def test_moments_of_a_sample_equal_their_definitions(sample, make):
    X, Y = sample
    moments = Moments.of(make(X), Y)
    n = len(X)
    assert moments.n == n
    np.testing.assert_allclose(moments.mean, X.sum(axis=0) / n)
    np.testing.assert_allclose(moments.covariance, np.cov(X, rowvar=False, ddof=0), atol=1e-12)
    np.testing.assert_allclose(moments.gram, X.T @ X / n)
    np.testing.assert_allclose(moments.cross, X.T @ Y / n)
    np.testing.assert_allclose(moments.label_mean, Y.mean(axis=0))
    np.testing.assert_allclose(moments.label_variance, Y.var(axis=0))
    np.testing.assert_allclose(moments.label_covariance, (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)) / n, atol=1e-12)
    assert all(isinstance(part, np.ndarray) for part in (moments.mean, moments.covariance, moments.label_covariance))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("number", [np.float64, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_product_of_a_wide_sparse_table_is_taken_in_parts(kind, number, index, monkeypatch):
    monkeypatch.setattr("dams.moments.ENTRIES_AT_ONCE", 1000)
    X = np.random.default_rng(0).integers(-20, 20, (300, MANY_COLUMNS + 5)).astype(number)
    X[np.abs(X) < 18] = 0
    table = kind(X)
    table.indices, table.indptr = table.indices.astype(index), table.indptr.astype(index)
    product = multiply_sparse(table)
    assert table.nnz > 10_000
    assert isinstance(product, np.ndarray) and product.dtype == float
    np.testing.assert_array_equal(product, X.T @ X)


@pytest.mark.parametrize(("offset", "digits"), [(1e2, 11), (1e5, 10), (1e7, 7)])
def test_a_column_far_from_zero_keeps_its_digits(offset, digits):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1000, 1))
    there, here = Moments.of(noise + offset, noise + offset), Moments.of(noise, noise)
    for name in ("covariance", "label_covariance", "label_variance"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=10.0**-digits)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [0.1, 1 / 3, -7.7, 1e6 + 0.1, 1e-9])
@pytest.mark.parametrize("rows", [7, 1000, 30_000])
def test_a_constant_column_varies_with_nothing(make, value, rows):
    X = np.column_stack([np.random.default_rng(0).normal(size=rows), np.full(rows, value)])
    covariance = Moments.of(make(X)).covariance
    np.testing.assert_array_equal(covariance[1], [0, 0])
    np.testing.assert_array_equal(covariance[:, 1], [0, 0])
    assert covariance[0, 0] > 0


def test_pooling_leaves_a_constant_column_constant():
    """The two means differ by rounding, which is no variance between samples."""
    first, second = np.full((7, 1), 0.1), np.full((1000, 1), 0.1)
    assert first.mean() != second.mean()
    assert Moments.of(first).pooled(Moments.of(second)).covariance.item() == 0


def test_cross_moments_need_labels(sample):
    with pytest.raises(ValueError, match="without labels"):
        _ = Moments.of(sample[0]).cross


def test_pooled_moments_are_those_of_the_stacked_rows(sample):
    X, _ = sample
    first, second = X[:13], 2 * X[13:] + 1
    pooled = Moments.of(first).pooled(Moments.of(second))
    stacked = Moments.of(np.vstack([first, second]))
    assert pooled.n == stacked.n
    np.testing.assert_allclose(pooled.mean, stacked.mean)
    np.testing.assert_allclose(pooled.covariance, stacked.covariance)
    np.testing.assert_allclose(pooled.gram, stacked.gram)


def test_moved_moments_follow_the_table_and_leave_the_labels_alone(sample):
    X, Y = sample
    moments = Moments.of(X, Y)
    r = np.array([0.5, -0.4, 0.0, 1.0])
    moved = moments.moved(r)
    np.testing.assert_allclose(moved.mean, move_mean(moments.mean, r))
    np.testing.assert_allclose(moved.gram, move_gram(moments.gram, r), atol=1e-12)
    np.testing.assert_allclose(moved.cross, move_mean(moments.cross, r), atol=1e-12)
    np.testing.assert_array_equal(moved.label_mean, moments.label_mean)
    np.testing.assert_array_equal(moved.label_variance, moments.label_variance)
    assert moved.n == moments.n
    assert Moments.of(X).moved(r).label_covariance is None


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_columns_far_from_zero_keep_their_digits(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(500) < 0.3, 1.7e9 + 600 * rng.normal(size=500), rng.normal(size=500)]).astype(float)
    Y = rng.normal(size=(500, 1))
    found, expected = Moments.of(kind(X), Y), Moments.of(X, Y)
    for name in ("mean", "covariance", "label_covariance"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_column_that_moves_to_a_constant_varies_with_nothing(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=3000), rng.random(3000) < 0.7])
    r = np.array([0.2, 1 - 1 / X[:, 1].mean()])
    moved = Moments.of(X, rng.normal(size=(3000, 1))).moved(r)
    assert (moved.covariance[1] == 0).all()
    assert moved.covariance[0, 0] > 0
