"""Folds of rows that depend on what the rows hold, not on their order, and the moments of each fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from dams.missingness import canonical_csr
from dams.moments import Moments
from dams.relative import count_nonzero

Array = np.ndarray

N_FOLDS = 10
# Values are rounded to 2⁻²⁰ of their column's largest and weighted by whole numbers up to 2³¹/d, so that sums over the
# columns are whole numbers below 2⁵³: exact in any order, dense or sparse.
STEPS = 2**20
# Rows of a dense array that are rounded at a time; so many stay in the cache.
BLOCK = 2048


@dataclass(frozen=True)
class Columns:
    """What is known of the columns: which are always recorded, and which are lost together.

    `groups` numbers the group of every column, None where each is lost on its own.
    """

    always: Array | None = None
    groups: Array | None = None

    def count_recorded(self, X: Any) -> Array:
        """Rows that show each column to be recorded, the counts of which r is made.

        Those are the rows in which it is not zero; for columns that are lost together, the rows in which any of them
        is not zero, which makes one r of a group; for a column that is always recorded, all rows, so that r = 0.
        """
        counts = count_nonzero(X)
        for members in self._panels():
            shown = X[:, members] != 0
            rows = shown.sum(axis=1) if sparse.issparse(X) else shown.any(axis=1)
            counts[members] = np.count_nonzero(rows)
        if self.always is not None:
            counts[self.always] = X.shape[0]
        return counts

    def _panels(self) -> list[Array]:
        """The groups of two columns and more."""
        if self.groups is None:
            return []
        sizes = np.bincount(self.groups)
        return [np.flatnonzero(self.groups == group) for group in np.flatnonzero(sizes > 1)]


@dataclass(frozen=True)
class FoldedMoments:
    """Moments of disjoint folds of the rows: any union of folds has its moments without another look at the rows."""

    parts: tuple[Moments, ...]
    counts: Array  # rows in which a column is recorded, (folds, d)
    columns: Columns = field(default_factory=Columns)

    @classmethod
    def of(
        cls,
        X: Any,
        Y: Array | None = None,
        *,
        groups: Array | None = None,
        columns: Columns | None = None,
        n_folds: int = N_FOLDS,
    ) -> FoldedMoments:
        """Put the rows of X (dense or CSR) and of the label columns Y into the folds of `assign_folds`."""
        columns = Columns() if columns is None else columns
        folds = assign_folds(X, Y, groups=groups, n_folds=n_folds)
        parts, counts = [], []
        for rows in split_folds(folds):
            held = X[rows]
            parts.append(Moments.of(held, None if Y is None else Y[rows]))
            counts.append(columns.count_recorded(held))
        return cls(tuple(parts), np.array(counts), columns)

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(part.n for part in self.parts)

    def merged(self) -> Moments:
        """Moments of all rows."""
        return merge(self.parts)

    def without(self, fold: int) -> Moments:
        """Moments of all rows but those of one fold."""
        return merge(self.parts[:fold] + self.parts[fold + 1 :])

    def counts_without(self, fold: int) -> Array:
        """Counts over all rows but those of one fold."""
        return self.counts.sum(axis=0) - self.counts[fold]


def merge(parts: Sequence[Moments]) -> Moments:
    """Moments of the rows of all parts together."""

    def stack(field: str) -> Array:
        return np.stack([getattr(part, field) for part in parts])

    n = sum(part.n for part in parts)
    weights = stack("n") / n
    mean = weights @ stack("mean")
    gaps = stack("mean") - mean
    covariance = np.einsum("f,fij->ij", weights, stack("covariance")) + (gaps.T * weights) @ gaps
    if parts[0].label_mean is None:
        return Moments(n, mean, covariance)
    label_mean = weights @ stack("label_mean")
    label_gaps = stack("label_mean") - label_mean
    label_covariance = np.einsum("f,fdk->dk", weights, stack("label_covariance")) + (gaps.T * weights) @ label_gaps
    label_variance = weights @ (stack("label_variance") + label_gaps**2)
    return Moments(n, mean, covariance, label_mean, label_covariance, label_variance)


def assign_folds(X: Any, Y: Array | None = None, *, groups: Array | None = None, n_folds: int = N_FOLDS) -> Array:
    """Return the fold of every row, 0 to n_folds − 1, at most as many as there are rows or groups.

    Rows are sorted by a number made of their covariates, ties by the labels, and then dealt out by one fixed shuffle.
    So folds are of one size and as good as random, and another order of rows gives the same moments in every fold: only
    rows that are equal can change places. Nor do they depend on the units of the columns, as far as rounding to a
    millionth of a column's largest value allows, nor on their order, unless columns have the same sum. Rows of one
    group, such as those of a patient, share a fold; a group's number is the sum of its rows' numbers.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    Y : array of shape (n, k), or None
        Labels, which decide between rows of equal covariates, the first column before the second.
    groups : array of shape (n,), or None
        Which rows belong together; their names do not matter.
    """
    numbers = _row_numbers(X)
    if groups is not None:
        group = np.unique(groups, return_inverse=True)[1]
        keys = [_sum_by(group, numbers), *(_sum_by(group, _label_numbers(y)) for y in (() if Y is None else Y.T))]
        return _deal(np.lexsort(keys[::-1]), n_folds)[group]
    order = np.argsort(numbers)
    if Y is not None and (np.diff(numbers[order]) == 0).any():
        order = np.lexsort([numbers, *(_label_numbers(y) for y in Y.T)][::-1])
    return _deal(order, n_folds)


def split_folds(folds: Array) -> list[Array]:
    """Positions of the rows of every fold."""
    return np.split(np.argsort(folds, kind="stable"), np.cumsum(np.bincount(folds))[:-1])


def _deal(order: Array, n_folds: int) -> Array:
    """Fold of every item, from a shuffle that is the same for every order of equally many items.

    Equal items stand side by side in `order`. Dealt out in turn they would make folds that are copies of each other,
    and what is held out would be no test.
    """
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = np.random.default_rng(0).permutation(len(order)) % n_folds
    return folds


def _row_numbers(X: Any) -> Array:
    """A whole number for every row that depends on the row, and on the columns as sets of values."""
    if sparse.issparse(X):
        csr = canonical_csr(X)
        largest = np.zeros(csr.shape[1])
        np.maximum.at(largest, csr.indices, np.abs(csr.data))
        factors = _factors(largest)
        weights = _weights(np.bincount(csr.indices, csr.data, minlength=csr.shape[1]), largest)
        rounded = np.rint(csr.data * factors[csr.indices])
        return (sparse.csr_array((rounded, csr.indices, csr.indptr), shape=csr.shape) @ weights).astype(np.int64)
    largest = _largest(X)
    factors, weights = _factors(largest), _weights(np.ones(len(X)) @ X, largest)
    numbers = np.empty(len(X))
    for start in range(0, len(X), BLOCK):
        rounded = X[start : start + BLOCK] * factors
        numbers[start : start + BLOCK] = np.rint(rounded, out=rounded) @ weights
    return numbers.astype(np.int64)


def _largest(X: Array, *, side_by_side: int = 64) -> Array:
    """The largest absolute value of every column; rows side by side, as numpy reduces short ones slowly."""
    n, d = X.shape
    height = n // side_by_side if X.flags.c_contiguous else 0
    parts = [X[height * side_by_side :], X[: height * side_by_side].reshape(height, side_by_side * d)]
    extremes = [np.maximum(part.max(axis=0), -part.min(axis=0)) for part in parts if len(part)]
    return np.concatenate([extreme.reshape(-1, d) for extreme in extremes]).max(axis=0)


def _factors(largest: Array) -> Array:
    """Bring columns to [−STEPS, STEPS]; one that is zero, or as good as, stays."""
    usable = largest > np.finfo(float).tiny * STEPS
    return np.where(usable, STEPS / np.where(usable, largest, 1.0), 0.0)


def _weights(sums: Array, largest: Array) -> Array:
    """Whole numbers that tell columns apart by their sums in units of their largest value, equals by their place.

    A sum's last digits depend on the order of rows. They are far below the 1/256 to which it is rounded.
    """
    whole = np.rint(sums * _factors(largest) / (STEPS / 256)).astype(np.int64)
    order = np.argsort(whole, kind="stable")
    starts = np.flatnonzero(np.diff(whole[order], prepend=whole[order[0]] - 1))
    place = np.empty_like(whole)
    place[order] = np.arange(len(whole)) - np.repeat(starts, np.diff(starts, append=len(whole)))
    mixed = (whole * 1_000_003 + place).astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(29)
    return 1.0 + (mixed % np.uint64(max(2**31 // len(sums), 1))).astype(float)


def _label_numbers(y: Array) -> Array:
    """Labels rounded like a column; turned so that the largest is positive, as −y must be fitted by −β."""
    sign = -1.0 if -y.min() > y.max() else 1.0
    return np.rint(sign * y * _factors(np.abs(y).max(keepdims=True))).astype(np.int64)


def _sum_by(group: Array, numbers: Array) -> Array:
    """Sums over groups, whole numbers that wrap around, so that their order does not matter."""
    sums = np.zeros(group.max() + 1, dtype=np.uint64)
    np.add.at(sums, group, numbers.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03))
    return sums
