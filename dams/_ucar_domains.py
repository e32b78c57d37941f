"""The rows of both domains as `check_ucar` sees them: presences and ranks by block of rows, and checks made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dams.missingness import canonical_csr

Array = np.ndarray

N_BLOCKS = 250
N_BINS = 10
# Nonzero levels of an always-recorded column: as many as it has values, or quintiles.
N_LEVELS = 5
# As for a chi-squared test: fewer expected events, and the normal approximation fails.
MIN_EXPECTED = 20
MIN_ELSEWHERE = 5


class PooledRanks:
    """Midranks of the nonzero values of both domains together, scaled to (−1, 1); zero stays zero."""

    def __init__(self, source: Any, target: Any):
        self.values: dict[int, Array] = {}
        self.ranks: dict[int, Array] = {}
        sides = [canonical_csr(side).tocsc() if sparse.issparse(side) else side for side in (source, target)]
        for j in range(source.shape[1]):
            pooled = np.concatenate([_stored(side, j) for side in sides])
            values, ranks = rank_values(pooled[pooled != 0])
            if len(values) > 1:
                self.values[j], self.ranks[j] = values, ranks.astype(np.float32)
        self.columns = np.array(sorted(self.values), dtype=int)

    def of(self, j: int, column: Array) -> Array:
        """Ranks of a column that has more than one nonzero value."""
        nonzero = np.flatnonzero(column)
        # In order, as a search from place to place of a long list is slow.
        nonzero = nonzero[np.argsort(column[nonzero])]
        out = np.zeros(len(column), dtype=np.float32)
        out[nonzero] = self.ranks[j][np.searchsorted(self.values[j], column[nonzero])]
        return out


def rank_values(pooled: Array) -> tuple[Array, Array]:
    """Different values, in order, and their midranks scaled to (−1, 1)."""
    values, counts = np.unique(pooled, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return values, 2 * (ranks - 0.5) / max(len(pooled), 1) - 1


def _stored(X: Any, j: int) -> Array:
    """Values of a column, those of a CSC matrix without its zeros."""
    return X.data[X.indptr[j] : X.indptr[j + 1]] if sparse.issparse(X) else X[:, j]


def _column(X: Any, j: int) -> Array:
    """A whole column of an array or a CSC matrix."""
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


class Blocks:
    """The rows of one domain in blocks, whose spread gives all variances.

    What is given by block are sums divided by the mean size of a block, so that their mean over blocks is the mean over
    rows, though sizes differ. Rows that belong together (`groups`, the number of each row's group) share a block.

    Attributes
    ----------
    n, d : int
        Rows and features.
    worth : float
        Independent rows at least, as a share of n: 1 where every row stands alone.
    block : array of shape (n,)
        The block of every row.
    per_block : float
        Rows of a block, on average.
    share_of_rows : array of shape (blocks,)
        Rows of each block, as a multiple of that.
    """

    def __init__(self, shape: tuple[int, int], groups: Array | None = None) -> None:
        self.n, self.d = shape
        self.grouped = groups is not None
        members = np.arange(self.n) if groups is None else groups
        sizes_of_groups = np.bincount(members)
        self.worth = float(self.n / np.square(sizes_of_groups).sum())
        n_blocks = min(N_BLOCKS, len(sizes_of_groups) // 2)
        self.per_block = self.n / n_blocks
        self.block = members % n_blocks
        self.sizes = np.bincount(self.block, minlength=n_blocks)
        self.share_of_rows = self.sizes / self.per_block

    @cached_property
    def shares(self) -> Array:
        """Shares of nonzeros by block, (blocks, d)."""
        raise NotImplementedError

    @cached_property
    def q(self) -> Array:
        """Shares of nonzeros, (d,)."""
        return self.shares.mean(axis=0)

    def with_variance(self, influence: Array, variance: Array, own: Array) -> Array:
        """Scale block averages so that their mean has a given variance.

        `variance` is that of independent rows under UCAR, with what both domains then share estimated from both. A
        domain whose own estimate is off by chance would also misjudge its error, and the largest of many statistics
        finds such cases. Where rows belong together, the blocks' variance keeps its ratio to `own`, that of
        independent rows with this domain's own estimates: so much more (or less) do such rows vary.
        """
        measured = own if self.grouped else influence.var(axis=0, ddof=1) / len(influence)
        return influence * np.sqrt(np.maximum(variance, 0) / np.where(measured > 0, measured, np.inf))


class Domain(Blocks):
    """The rows in blocks, as a dense array.

    Attributes
    ----------
    feature : array of shape (d + v,)
        The feature of each column of h: its presence, for all d, then its rank, for the v that have one.
    h : array of shape (blocks, rows, d + v)
        Short blocks end in rows of zeros. Single precision: sums of presences are exact, and those of ranks far more
        so than the data.
    """

    def __init__(self, X: Any, ranks: PooledRanks, groups: Array | None = None) -> None:
        super().__init__(X.shape, groups)
        self.feature = np.concatenate([np.arange(self.d), ranks.columns])
        # As many as tell whether there are more than levels; all of them would be as large as the table.
        self.distinct = {j: values[: N_LEVELS + 1].copy() for j, values in ranks.ranks.items()}
        order, most = np.argsort(self.block, kind="stable"), self.sizes.max()
        self.h = np.zeros((len(self.sizes), most, len(self.feature)), dtype=np.float32)
        starts = np.repeat(np.arange(len(self.sizes)) * most - np.cumsum(self.sizes) + self.sizes, self.sizes)
        place = np.empty(self.n, dtype=np.intp)
        place[order] = starts + np.arange(self.n)
        columns, rows = X.tocsc() if sparse.issparse(X) else X, self.h.reshape(-1, len(self.feature))
        for k, j in enumerate(self.feature):
            column = _column(columns, j)
            rows[place, k] = column != 0 if k < self.d else ranks.of(j, column)

    @cached_property
    def shares(self) -> Array:
        """Shares of nonzeros by block, (blocks, d)."""
        return self.h[:, :, : self.d].sum(axis=1).astype(float) / self.per_block

    def products(self, columns: Array) -> Array:
        """E[h_c h] of some columns by block, (blocks, columns, d + v)."""
        sums = np.matmul(self.h[:, :, columns].transpose(0, 2, 1), self.h)
        return sums.astype(float) / self.per_block

    def squares(self, columns: Array) -> Array:
        """E[h_c² h²] of some columns, (columns, d + v)."""
        some = (self.h[:, :, columns] ** 2 * np.float32(1 / self.n)).reshape(-1, len(columns))
        return (some.T @ (self.h**2).reshape(len(some), -1)).astype(float)

    def bins(self, columns: Array) -> Array:
        """Share of rows with a value in each bin, by block, for some columns of ranks; (blocks, columns, N_BINS)."""
        observed = self.h[:, :, self.feature[columns]] != 0
        bin_of = np.floor((self.h[:, :, columns] + 1) / 2 * N_BINS)
        hits = [(observed & (bin_of == k)).sum(axis=1) for k in range(N_BINS)]
        return np.stack(hits, axis=-1) / self.per_block

    def levels(self, feature: int) -> Array:
        """Which rows have which level of a feature, (blocks, rows, levels): zero, its values or their quintiles."""
        present = self.h[:, :, feature] != 0
        level = present.astype(int)
        if feature in self.distinct:
            distinct = self.distinct[feature]
            rank = self.h[:, :, self.d + np.searchsorted(self.feature[self.d :], feature)]
            if len(distinct) <= N_LEVELS:
                level += np.where(present, np.searchsorted(distinct, rank), 0)
            else:
                level += np.where(present, np.clip((rank + 1) / 2 * N_LEVELS, 0, N_LEVELS - 1).astype(int), 0)
            n_levels = 1 + min(len(distinct), N_LEVELS)
        else:
            n_levels = 2
        real = np.arange(self.h.shape[1]) < self.sizes[:, None]
        return ((level[:, :, None] == np.arange(n_levels)) & real[:, :, None]).astype(np.float32)


@dataclass(frozen=True)
class Checks:
    """Checks of one kind: estimates that should be zero (or, of bounds, at most zero) and their influences by block."""

    kind: str
    first: Array
    second: Array  # −1 where a check has one feature
    estimate: Array
    influence: tuple[Array, Array]  # source, target: (blocks, checks), mean zero
    # What UCAR expects, which the estimate adds to; None where estimates are logarithms of ratios to it.
    expected: Array | None = None
    # Whether the features enter by the values that they have where present; otherwise by presence.
    by_value: tuple[Array, Array] | None = None

    @property
    def error(self) -> Array:
        """Standard error of every estimate."""
        return np.sqrt(sum(phi.var(axis=0, ddof=1) / len(phi) for phi in self.influence))

    @property
    def z(self) -> Array:
        """Estimates in standard errors."""
        return self.estimate / self.error

    def effect(self, errors: float = 0.0) -> Array:
        """Ratio of the target to what UCAR expects of it, so many standard errors up."""
        moved = self.estimate + errors * self.error
        if self.expected is None:
            return np.exp(moved)
        return 1 + moved / np.where(self.expected > 0, self.expected, np.nan)

    def keep(self, which: Array) -> Checks:
        """The checks that can be judged: enough events, and some spread."""
        with np.errstate(invalid="ignore", divide="ignore"):
            which = which & (self.error > 1e-10 * np.maximum(1, np.abs(self.estimate)))
        source, target = self.influence
        return Checks(
            self.kind,
            self.first[which],
            self.second[which],
            self.estimate[which],
            (source[:, which], target[:, which]),
            None if self.expected is None else self.expected[which],
            None if self.by_value is None else (self.by_value[0][which], self.by_value[1][which]),
        )


def share_checks(
    kind: str,
    domains: tuple[Blocks, Blocks],
    features: tuple[Array, Array],
    parts: tuple[Array, Array],
    wholes: tuple[Array, Array],
    *,
    by_value: bool,
) -> Checks:
    """A part of a whole (shares of rows by block), P(part | whole), target minus source."""
    # Of one layout, so that sums are taken in one order.
    wholes = np.ascontiguousarray(wholes[0]), np.ascontiguousarray(wholes[1])
    counts = [domain.n * whole.mean(axis=0) for domain, whole in zip(domains, wholes, strict=True)]
    hits = [domain.n * part.mean(axis=0) for domain, part in zip(domains, parts, strict=True)]
    pooled = (hits[0] + hits[1]) / np.maximum(counts[0] + counts[1], 1)
    estimates, influences = [], []
    for domain, part, whole, count in zip(domains, parts, wholes, counts, strict=True):
        q = np.where(count > 0, count / domain.n, np.inf)
        estimates.append(part.mean(axis=0) / q)
        influence = (part - estimates[-1] * whole) / q
        variance, own = (p * (1 - p) / (q * domain.n) for p in (pooled, estimates[-1]))
        influences.append(domain.with_variance(influence, variance, own))
    least = np.minimum(counts[0] * domains[0].worth, counts[1] * domains[1].worth)
    return Checks(
        kind,
        *features,
        estimates[1] - estimates[0],
        (-influences[0], influences[1]),
        expected=estimates[0],
        by_value=(np.full(len(pooled), by_value), np.zeros(len(pooled), dtype=bool)),
    ).keep(least * np.minimum(pooled, 1 - pooled) >= MIN_EXPECTED)
