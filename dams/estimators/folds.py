"""Folds of rows that follow from what each row holds, wherever it stands, and the moments of each fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dams._rows import variance_of_mean
from dams.missingness import canonical_csr
from dams.moments import Moments
from dams.relative import count_nonzero

Array = np.ndarray
Rows = tuple[Any, Array | None, Array | None]  # covariates, labels, groups of rows

# Standard errors that are clear, of a mean over the folds of both domains: 2.5 % by chance.
CLEARLY = 2.5
N_FOLDS = 10
# Rows of a dense array that are hashed at a time; so many stay in the cache.
BLOCK = 2048


@dataclass(frozen=True)
class Columns:
    """Knowledge of the columns: which are always recorded, and which are lost together.

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

    def variance_of_known(self, X: Any, groups: Any) -> Array | None:
        """Variances of the means of what is always recorded, from sums over groups of rows; None without such."""
        if self.always is None:
            return None
        values = X[:, np.flatnonzero(self.always)]
        return variance_of_mean(values.toarray() if sparse.issparse(values) else values, groups)

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
    # Variances of the means of what is always recorded, where rows belong together; sums over groups need the rows.
    variance_of_known: Array | None = None

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
        known = None if groups is None else columns.variance_of_known(X, groups)
        if n_folds == 1:
            return cls((Moments.of(X, Y),), columns.count_recorded(X)[None], columns, known)
        folds = assign_folds(X, Y, groups=groups, n_folds=n_folds)
        parts, counts = [], []
        for rows in split_folds(folds, n_folds):
            held = X[rows]
            labels = None if Y is None else Y[rows]
            parts.append(Moments.of(held, labels) if len(rows) else _no_moments(X.shape[1], labels))
            counts.append(columns.count_recorded(held))
        return cls(tuple(parts), np.array(counts), columns, known)

    def __add__(self, other: FoldedMoments) -> FoldedMoments:
        """Folded moments of the rows of both, fold by fold."""
        parts = tuple(merge(pair) for pair in zip(self.parts, other.parts, strict=True))
        return replace(self, parts=parts, counts=self.counts + other.counts, variance_of_known=None)

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
    """Moments of the rows of all parts together, by the update of Chan, Golub and LeVeque; parts may be empty."""
    parts = [part for part in parts if part.n] or parts[:1]
    if len(parts) == 1:
        return parts[0]

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


def _no_moments(n_features: int, Y: Array | None) -> Moments:
    """Moments of no rows, which `merge` leaves out."""
    mean, covariance = np.zeros(n_features), np.zeros((n_features, n_features))
    if Y is None:
        return Moments(0, mean, covariance)
    k = Y.shape[1]
    return Moments(0, mean, covariance, np.zeros(k), np.zeros((n_features, k)), np.zeros(k))


def counts_differ(source: FoldedMoments, target: FoldedMoments) -> bool:
    """Whether the mean number of nonzeros in a row clearly differs, by its spread between folds.

    Small differences of rates that are of one sign are clear in all columns together before they are in any alone.
    """
    (here, its), (there, theirs) = (_mean_count(folded) for folded in (source, target))
    return bool(abs(there - here) > CLEARLY * np.hypot(its, theirs))


def _mean_count(folded: FoldedMoments) -> tuple[float, float]:
    """Mean number of nonzeros in a row, and its standard error; infinite where there is but one fold with rows."""
    sizes = np.array([part.n for part in folded.parts], dtype=float)
    sums, sizes = folded.counts.sum(axis=1)[sizes > 0], sizes[sizes > 0]
    mean, n_folds = sums.sum() / sizes.sum(), len(sizes)
    if n_folds < 2:
        return float(mean), float("inf")
    spread = np.square(sums - mean * sizes).sum() * n_folds / (n_folds - 1)
    return float(mean), float(np.sqrt(spread) / sizes.sum())


def pair_folds(source: FoldedMoments, target: FoldedMoments) -> tuple[FoldedMoments, FoldedMoments]:
    """Return both with the folds that have rows in both; rows of other folds join the first of these.

    Tables of a few dozen rows leave folds empty. What is held out must have rows of either domain.
    """
    here, there = (np.array([part.n for part in folded.parts]) for folded in (source, target))
    kept = (here > 0) & (there > 0)
    if kept.all():
        return source, target
    return _join(source, kept), _join(target, kept)


def _join(folded: FoldedMoments, kept: Array) -> FoldedMoments:
    """Keep some folds; the rows of the others join the first of them, or become one fold where none is kept."""
    chosen = np.flatnonzero(kept)
    first = [fold for fold in range(len(kept)) if not kept[fold] or fold in chosen[:1]]
    parts = merge([folded.parts[fold] for fold in first]), *(folded.parts[fold] for fold in chosen[1:])
    counts = np.vstack([folded.counts[first].sum(axis=0), folded.counts[chosen[1:]]])
    return replace(folded, parts=parts, counts=counts)


def deal_rows(source: Rows, target: Rows) -> tuple[list[Array], list[Array]]:
    """Return the rows of every fold of either domain, as `pair_folds` does: none is empty, and few rows have fewer."""
    here, there = (split_folds(assign_folds(X, Y, groups=groups), N_FOLDS) for X, Y, groups in (source, target))
    kept = [fold for fold in range(N_FOLDS) if len(here[fold]) and len(there[fold])]
    if len(kept) == N_FOLDS:
        return here, there
    first = [fold for fold in range(N_FOLDS) if fold not in kept[1:]]
    joined = (np.sort(np.concatenate([side[fold] for fold in first])) for side in (here, there))
    here, there = ([some, *(side[fold] for fold in kept[1:])] for some, side in zip(joined, (here, there), strict=True))
    return here, there


def assign_folds(X: Any, Y: Array | None = None, *, groups: Array | None = None, n_folds: int = N_FOLDS) -> Array:
    """Return the fold of every row, 0 to n_folds − 1, a hash of what the row holds.

    A row's fold follows from its covariates and their places alone: it is the same in another order of rows, in a part
    of the table, and whatever else the table holds, so that folds of parts add up to those of the whole. They are as
    good as random, so that of a few dozen rows some folds may be empty. Copies of a row within a table are told apart
    by their labels and numbered, and all but the first are dealt out by that number: a table of few different rows has
    folds as well. That depends on the table; ids as `groups` make the folds of copies follow from the ids alone.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    Y : array of shape (n, k), or None
        Labels, which number the copies of a row, the first column before the second. Nothing else depends on them: all
        labels that are fitted to X share the folds, in any unit.
    groups : array of shape (n,), or None
        Ids of rows that belong together and share a fold, a hash of the id alone.
    """
    if groups is not None:
        return _to_folds(hash_ids(groups), n_folds)
    numbers = hash_rows(X)
    ordered = np.sort(numbers)
    if (ordered[1:] == ordered[:-1]).any():
        numbers = _tell_copies_apart(numbers, Y)
    return _to_folds(numbers, n_folds)


def split_folds(folds: Array, n_folds: int) -> list[Array]:
    """Positions of the rows of every fold; a small table may have empty ones."""
    sizes = np.bincount(folds, minlength=n_folds)
    return np.split(np.argsort(folds, kind="stable"), np.cumsum(sizes)[:-1])


def hash_rows(X: Any) -> Array:
    """A number of 64 bits for every row, the same for dense rows and those of a CSR matrix.

    The words of the float64 values, times an odd number for each column, summed modulo 2⁶⁴; a zero of either sign adds
    nothing. Upper halves are first mixed into lower ones, since those of whole numbers are zero.
    """
    keys = _mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    if sparse.issparse(X):
        csr = canonical_csr(X)
        return np.asarray(sparse.csr_array((_words(csr.data), csr.indices, csr.indptr), shape=csr.shape) @ keys)
    numbers = np.empty(len(X), dtype=np.uint64)
    for start in range(0, len(X), BLOCK):
        numbers[start : start + BLOCK] = np.einsum("ij,j->i", _words(X[start : start + BLOCK]), keys)
    return numbers


def hash_ids(ids: Any) -> Array:
    """A number of 64 bits for every id: equal whole numbers of any type have one, and equal text."""
    values = np.asarray(ids)
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        values = values.astype(np.int64)
    return pd.util.hash_array(values.astype(np.int64) if values.dtype.kind in "iub" else values.astype(object))


def _words(values: Array) -> Array:
    words = (values + 0.0).view(np.uint64)  # −0 becomes 0
    words ^= words >> np.uint64(32)
    return words


def _tell_copies_apart(numbers: Array, Y: Array | None) -> Array:
    """Give every copy of a row but the first a number of its own, in the order of the labels.

    A copy's number depends on all rows of the table: the copies in another part of it are dealt out anew.
    """
    rows = np.flatnonzero(pd.Series(numbers).duplicated(keep=False))
    # Turned so that the largest is positive, as −y must be fitted by −β.
    labels = [] if Y is None else [-y[rows] if -y.min() > y.max() else y[rows] for y in Y.T]
    rows = rows[np.lexsort([*labels[::-1], numbers[rows]])]
    ordered = numbers[rows]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = (np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))).astype(np.uint64)
    apart = numbers.copy()
    apart[rows] += np.where(place > 0, _mix(place + numbers.sum()), np.uint64(0))
    return apart


def _to_folds(numbers: Array, n_folds: int) -> Array:
    return (_mix(numbers) % np.uint64(n_folds)).astype(np.intp)


def _mix(words: Array) -> Array:
    """Spread words of 64 bits, as splitmix64 does."""
    words = words * np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
