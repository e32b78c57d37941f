"""The rows of both domains as `check_ucar` sees them: presences and ranks by block of rows, and checks made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
# Columns of a table are laid out for products in parts of at most so many bytes.
BYTES_AT_ONCE = 2**24


def rank_values(pooled: Array) -> tuple[Array, Array]:
    """Midranks scaled to (−1, 1): of the different values in order, and of every value."""
    order = np.argsort(pooled)
    ordered = pooled[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], [True][: len(pooled)]))
    del ordered
    counts = np.diff(last, prepend=-1)
    ranks = 2 * (last + 1 - (counts - 1) / 2 - 0.5) / max(len(pooled), 1) - 1
    every = np.empty(len(pooled))
    every[order] = np.repeat(ranks, counts)
    return ranks, every


def _column(X: Any, j: int) -> Array:
    """A whole column of an array or a CSC matrix."""
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


def count_ranked(source: Any, target: Any) -> int:
    """Features of which source and target show more than one nonzero value."""
    found = 0
    for columns in _pooled_columns(source, target):
        pooled = np.concatenate([column[column != 0] for column in columns])
        found += len(pooled) > 0 and bool((pooled != pooled[0]).any())
    return found


def _pooled_columns(source: Any, target: Any) -> Iterator[tuple[Array, Array]]:
    sides = [canonical_csr(side).tocsc() if sparse.issparse(side) else side for side in (source, target)]
    for j in range(source.shape[1]):
        yield _column(sides[0], j), _column(sides[1], j)


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
    """The rows in blocks, by column: presences as flags, and ranks in single precision. `make_domains` fills them.

    What is multiplied are the columns h: the presence of all d features, then the rank of the v that have one. They
    are laid out in full for some blocks at a time, `BYTES_AT_ONCE`. Sums of presences are exact in single precision,
    and those of ranks far more so than the data.

    Attributes
    ----------
    feature : array of shape (d + v,)
        The feature of each column of h.
    rows : int
        Rows of the largest block; shorter ones end in rows without any value.
    flags : array of shape (d, blocks, ⌈rows/8⌉)
        Presences as bits.
    ranks : dict
        Ranks of a feature by its number, shape (blocks, rows); zero where it is absent.
    distinct : dict
        The least different ranks of a feature, as many as tell whether there are more than `N_LEVELS`.
    """

    def __init__(self, shape: tuple[int, int], groups: Array | None = None) -> None:
        super().__init__(shape, groups)
        self.rows = int(self.sizes.max())
        order = np.argsort(self.block, kind="stable")
        first = np.arange(len(self.sizes)) * self.rows - np.cumsum(self.sizes) + self.sizes
        self.place = np.empty(self.n, dtype=np.intp)
        self.place[order] = np.repeat(first, self.sizes) + np.arange(self.n)
        self.flags = np.zeros((self.d, len(self.sizes), -(-self.rows // 8)), dtype=np.uint8)
        self.ranks: dict[int, Array] = {}
        self.distinct: dict[int, Array] = {}

    def add(self, j: int, nonzero: Array, ranks: Array | None) -> None:
        """Take up which rows show a feature, and its ranks there."""
        at = self.place[nonzero]
        present = np.zeros((len(self.sizes), self.rows), dtype=bool)
        present.reshape(-1)[at] = True
        self.flags[j] = np.packbits(present, axis=1)
        if ranks is not None:
            self.ranks[j] = np.zeros(present.shape, dtype=np.float32)
            self.ranks[j].reshape(-1)[at] = ranks

    def present(self, j: int, part: slice = slice(None)) -> Array:
        """Which rows of some blocks show a feature, (blocks, rows)."""
        return np.unpackbits(self.flags[j, part], axis=1, count=self.rows).view(bool)

    @cached_property
    def feature(self) -> Array:
        """The feature of each column of h, (d + v,)."""
        return np.concatenate([np.arange(self.d), np.array(sorted(self.ranks), dtype=int)])

    @cached_property
    def shares(self) -> Array:
        """Shares of nonzeros by block, (blocks, d)."""
        # Laid out by block, as a mean over blocks is summed in the order of memory.
        counts = np.stack([self.present(j).sum(axis=1) for j in range(self.d)], axis=1)
        return np.ascontiguousarray(counts) / self.per_block

    def parts(self) -> Iterator[slice]:
        """Blocks whose columns h are laid out at a time."""
        step = max(1, BYTES_AT_ONCE // (4 * self.rows * len(self.feature)))
        for start in range(0, len(self.sizes), step):
            yield slice(start, start + step)

    def h(self, columns: Array, part: slice) -> Array:
        """Some columns of h in some blocks, (blocks, rows, columns)."""
        out = np.empty((len(columns), len(self.sizes[part]), self.rows), dtype=np.float32)
        for k, j, values in zip(columns, self.feature[columns], out, strict=True):
            values[:] = self.present(j, part) if k < self.d else self.ranks[j][part]
        return out.transpose(1, 2, 0)

    def products(self, columns: Array) -> Array:
        """E[h_c h] of some columns by block, (blocks, columns, d + v)."""
        sums = np.empty((len(self.sizes), len(columns), len(self.feature)), dtype=np.float32)
        for part in self.parts():
            h = np.ascontiguousarray(self.h(np.arange(len(self.feature)), part))
            np.matmul(h[:, :, columns].transpose(0, 2, 1), h, out=sums[part])
        return sums.astype(float) / self.per_block

    def squares(self, columns: Array) -> Array:
        """E[h_c² h²] of some columns, (columns, d + v)."""
        sums = np.zeros((len(columns), len(self.feature)))
        for part in self.parts():
            h = np.ascontiguousarray(self.h(np.arange(len(self.feature)), part))
            some = (h[:, :, columns] ** 2 * np.float32(1 / self.n)).reshape(-1, len(columns))
            sums += some.T @ (h**2).reshape(len(some), -1)
        return sums

    def products_with(self, other: Array, columns: Array) -> Array:
        """Means by block of other columns, (blocks, rows, others), times some of h; (blocks, others, columns)."""
        sums = np.empty((len(self.sizes), other.shape[2], len(columns)), dtype=np.float32)
        for part in self.parts():
            np.matmul(other[part].transpose(0, 2, 1), self.h(columns, part), out=sums[part])
        return sums.astype(float) / self.per_block

    def squares_with(self, other: Array, columns: Array) -> Array:
        """Sums over all rows of other columns times the squares of some of h; (others, columns)."""
        sums = np.zeros((other.shape[2], len(columns)))
        for part in self.parts():
            flat = other[part].reshape(-1, other.shape[2])
            sums += flat.T @ np.square(self.h(columns, part)).reshape(len(flat), -1)
        return sums

    def any_by_block(self, features: Array) -> Array:
        """Share of rows with a value of any of some features, by block."""
        some = np.bitwise_or.reduce(self.flags[features], axis=0)
        return np.unpackbits(some, axis=1).sum(axis=1, dtype=int) / self.per_block

    def bins(self, columns: Array) -> Array:
        """Share of rows with a value in each bin, by block, for some columns of ranks; (blocks, columns, N_BINS)."""
        hits = np.empty((len(self.sizes), len(columns), N_BINS))
        for k, j in enumerate(self.feature[columns]):
            bin_of = np.where(self.present(j), np.floor((self.ranks[j] + 1) / 2 * N_BINS), -1)
            for b in range(N_BINS):
                hits[:, k, b] = (bin_of == b).sum(axis=1)
        return hits / self.per_block

    def levels(self, feature: int) -> Array:
        """Which rows have which level of a feature, (blocks, rows, levels): zero, its values or their quintiles."""
        present = self.present(feature)
        level = present.astype(int)
        if feature in self.distinct:
            distinct, rank = self.distinct[feature], self.ranks[feature]
            if len(distinct) <= N_LEVELS:
                level += np.where(present, np.searchsorted(distinct, rank), 0)
            else:
                level += np.where(present, np.clip((rank + 1) / 2 * N_LEVELS, 0, N_LEVELS - 1).astype(int), 0)
            n_levels = 1 + min(len(distinct), N_LEVELS)
        else:
            n_levels = 2
        real = np.arange(self.rows) < self.sizes[:, None]
        return ((level[:, :, None] == np.arange(n_levels)) & real[:, :, None]).astype(np.float32)


def make_domains(
    source: Any, target: Any, groups: tuple[Array | None, Array | None] = (None, None)
) -> tuple[Domain, Domain]:
    """Both domains, with midranks of the nonzero values of both together, scaled to (−1, 1).

    One feature after another: ranks of all values of all features would take the memory of the tables once more.
    """
    domains = Domain(source.shape, groups[0]), Domain(target.shape, groups[1])
    for j, columns in enumerate(_pooled_columns(source, target)):
        nonzero = [np.flatnonzero(column) for column in columns]
        pooled = np.concatenate([column[rows] for column, rows in zip(columns, nonzero, strict=True)])
        own: Sequence[Array | None] = (None, None)
        if len(pooled) and (pooled != pooled[0]).any():
            different, ranks = rank_values(pooled)
            own = np.split(ranks, [len(nonzero[0])])
            for domain in domains:
                domain.distinct[j] = different[: N_LEVELS + 1].astype(np.float32)
        for domain, rows, found in zip(domains, nonzero, own, strict=True):
            domain.add(j, rows, found)
    return domains


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

    @cached_property
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
