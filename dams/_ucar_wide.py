"""Checks of `check_ucar` for wide tables: some of the pairs, chosen by how much they can tell, from sparse rows.

All pairs of 2,000 features would be eight million checks. `choose_pairs` takes, for every feature, the others of which
most rows are expected to show both in either domain: the precision of a pair's statistic grows with that number. The
number is n q̂_i q̂_j V, V estimated from both domains together. It weighs what both share, not what tells them apart, so
that the choice leaves the law of the checks under UCAR as it is. Whatever is left out is not tested.

Bounds are looked at for all pairs, and checked where they are not met for certain, as in narrow tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dams._ucar_domains import (
    MIN_EXPECTED,
    N_BINS,
    Blocks,
    Checks,
    count_ranked,
    make_domains,
    rank_values,
    share_checks,
)
from dams._ucar_known import Known, check_given, check_population, check_together
from dams._ucar_statistics import (
    AT_ONCE,
    SLACK,
    PairSums,
    compare_absences,
    compare_bounds,
    compare_pairs,
    may_break,
)
from dams.missingness import canonical_csr
from dams.moments import multiply_sparse

Array = np.ndarray

# With more features, counted twice if they have ranks, pairs are chosen: all are at most a quarter of a million.
WIDE = 700
# Of each feature, so many others are paired with it, besides those that chose it.
PARTNERS = 40
# Bounds and absences that are not met for certain, at most so many of either, those with most rows.
MOST_BOUNDS = 20_000
# Features made dense at a time, where checks need all rows of a feature.
DENSE_AT_ONCE = 32


def is_wide(source: Any, target: Any) -> bool:
    """Whether pairs have to be chosen; features have ranks where a domain shows two different nonzero values."""
    d = source.shape[1]
    if d > WIDE or 2 * d <= WIDE:
        return d > WIDE
    return d + count_ranked(source, target) > WIDE


class WideDomain(Blocks):
    """The rows in blocks, sparse: by row, and by column, the rank of every nonzero; 0 of features without ranks."""

    def __init__(self, X: Any, ranks: Sequence[Array], groups: Array | None = None) -> None:
        super().__init__(X.shape, groups)
        columns = sparse.csc_array((np.concatenate(ranks), X.indices, X.indptr), shape=X.shape)
        self.indptr, self.rows_of, self.ranks_of = columns.indptr, columns.indices, columns.data
        self.by_row = columns.tocsr()

    @cached_property
    def shares(self) -> Array:
        """Shares of nonzeros by block, (blocks, d)."""
        key = self.block[self.rows_of] * self.d + np.repeat(np.arange(self.d), np.diff(self.indptr))
        return np.bincount(key, minlength=len(self.sizes) * self.d).reshape(-1, self.d) / self.per_block

    @cached_property
    def together(self) -> Array:
        """Rows that show both of two features, (d, d)."""
        present = sparse.csr_array(
            (np.ones(self.by_row.nnz), self.by_row.indices, self.by_row.indptr), shape=self.by_row.shape
        )
        return multiply_sparse(present)

    def column(self, j: int) -> tuple[Array, Array]:
        """Rows with a value of a feature, and its ranks."""
        where = slice(self.indptr[j], self.indptr[j + 1])
        return self.rows_of[where], self.ranks_of[where]

    def bins(self, features: Array) -> Array:
        """Share of rows with a value in each bin of ranks, by block; (blocks, features × N_BINS)."""
        out = np.empty((len(self.sizes), len(features), N_BINS))
        for k, j in enumerate(features):
            rows, ranks = self.column(j)
            bin_of = np.floor((ranks + 1) / 2 * N_BINS).astype(int)
            counts = np.bincount(self.block[rows] * N_BINS + bin_of, minlength=len(self.sizes) * N_BINS)
            out[:, k] = counts.reshape(-1, N_BINS) / self.per_block
        return out.reshape(len(out), -1)

    def any_by_block(self, features: Array) -> Array:
        """Share of rows with a value of any of some features, by block."""
        rows = np.unique(np.concatenate([self.column(j)[0] for j in features]))
        return np.bincount(self.block[rows], minlength=len(self.sizes)) / self.per_block

    def presences(self, i: Array, j: Array) -> Array:
        """E[b_i b_j] by block, (blocks, pairs)."""
        return self._sums(i, j, ranked=False)[0][0]

    def products(self, i: Array, j: Array) -> tuple[Array, Array]:
        """E[h_i h_j] by block, (4, blocks, pairs), and E[h_i² h_j²], (4, pairs).

        Both by presence, i by rank, j by rank, both by rank.
        """
        return self._sums(i, j, ranked=True)

    def _sums(self, i: Array, j: Array, *, ranked: bool) -> tuple[Array, Array]:
        kinds = 4 if ranked else 1
        counts = np.diff(self.indptr)
        swap = counts[i] > counts[j]
        # All pairs of the rarer feature are found among the values of its rows.
        rarer, other = np.where(swap, j, i), np.where(swap, i, j)
        out, squares = np.zeros((kinds, len(self.sizes), len(i))), np.zeros((kinds, len(i)))
        place = np.full(self.d, -1)
        order = np.argsort(rarer, kind="stable")
        for pairs in np.split(order, np.flatnonzero(np.diff(rarer[order])) + 1) if len(order) else []:
            rows, own = self.column(rarer[pairs[0]])
            place[other[pairs]] = np.arange(len(pairs))
            beside = self.by_row[rows]
            at = place[beside.indices]
            place[other[pairs]] = -1
            wanted = at >= 0
            row = np.repeat(np.arange(len(rows)), np.diff(beside.indptr))[wanted]
            at, key = at[wanted], self.block[rows[row]] * len(pairs) + at[wanted]
            ones = np.ones(len(at))
            ranks = own[row].astype(float), beside.data[wanted].astype(float)
            for kind, weight in enumerate((ones, ranks[0], ranks[1], ranks[0] * ranks[1])[:kinds]):
                sums = np.bincount(key, weight, minlength=len(self.sizes) * len(pairs))
                out[kind][:, pairs] = sums.reshape(-1, len(pairs)) / self.per_block
                squares[kind, pairs] = np.bincount(at, weight**2, minlength=len(pairs)) / self.n
        if ranked:
            swapped = np.flatnonzero(swap)
            for values in (out, squares):
                values[1:3][..., swapped] = values[2:0:-1][..., swapped].copy()
        return out, squares


def make_wide_domains(
    source: Any, target: Any, groups: tuple[Array | None, Array | None]
) -> tuple[WideDomain, WideDomain, Array]:
    """Both domains with the ranks of their pooled values, and which features have ranks."""
    sides = [_nonzero_columns(X) for X in (source, target)]
    ranks: list[list[Array]] = [[], []]
    ranked = np.zeros(source.shape[1], dtype=bool)
    for j in range(source.shape[1]):
        data = [X.data[X.indptr[j] : X.indptr[j + 1]] for X in sides]
        different, every = rank_values(np.concatenate(data))
        ranked[j] = len(different) > 1
        for found, own in zip(ranks, np.split(every, [len(data[0])]), strict=True):
            found.append((own * ranked[j]).astype(np.float32))
    domains = [WideDomain(X, found, rows) for X, found, rows in zip(sides, ranks, groups, strict=True)]
    return domains[0], domains[1], ranked


def _nonzero_columns(X: Any) -> Any:
    """X by column, without zeros that are stored."""
    columns = (canonical_csr(X) if sparse.issparse(X) else sparse.csr_array(X)).tocsc()
    columns.eliminate_zeros()
    return columns


def choose_pairs(source: WideDomain, target: WideDomain, known: Known) -> tuple[Array, Array]:
    """Pairs i < j of features that are lost independently; for every feature those that most rows should show."""
    every, chosen = np.arange(source.d), []
    for i in range(source.d):
        expected = _expected_together(source, target, i)
        allowed = known.independent(np.full(source.d, i), every) & (every != i) & (expected >= MIN_EXPECTED)
        expected[~allowed] = -1
        best = np.argpartition(-expected, min(PARTNERS, source.d - 1))[:PARTNERS]
        best = best[expected[best] > 0]
        chosen.append(np.stack([np.minimum(i, best), np.maximum(i, best)], axis=1))
    pairs = np.unique(np.concatenate(chosen), axis=0)
    # Pairs of one rarer feature stand side by side: what its rows show is read once.
    rarer = np.where(source.q[pairs[:, 0]] > source.q[pairs[:, 1]], pairs[:, 1], pairs[:, 0])
    pairs = pairs[np.argsort(rarer, kind="stable")]
    return pairs[:, 0], pairs[:, 1]


def _expected_together(source: WideDomain, target: WideDomain, i: int) -> Array:
    """Rows of the domain with fewer that should show feature i and each other, as estimated from both domains."""
    exposure = [domain.n * domain.q[i] * domain.q for domain in (source, target)]
    V = (source.together[i] + target.together[i]) / np.maximum(exposure[0] + exposure[1], 1)
    return V * np.minimum(exposure[0] * source.worth, exposure[1] * target.worth)


def wide_checks(
    source: WideDomain,
    target: WideDomain,
    ranked: Array,
    known: Known,
    pairs: tuple[Array, Array],
    tables: tuple[Any, Any],
    groups: tuple[Array | None, Array | None],
) -> Iterator[Checks]:
    """Every check of two wide domains, about `AT_ONCE` of them at a time; `tables` and `groups` are their rows."""
    for features in _parts(np.flatnonzero(ranked & ~known.always_recorded), AT_ONCE // N_BINS):
        yield _check_values(source, target, features)
    for part in _parts(np.arange(len(pairs[0])), AT_ONCE // 4):
        yield from _check_pairs(source, target, pairs[0][part], pairs[1][part], ranked)
    for j, i in _in_parts(*_close_bounds(source, target, known)):
        yield compare_bounds(source, target, j, i, source.presences(j, i))
    for j, i in _in_parts(*_close_absences(source, target, known)):
        joint = source.shares[:, j] - source.presences(j, i)
        yield compare_absences(source, target, j, i, joint, source.share_of_rows[:, None] - source.shares[:, i])
    yield from _check_exclusive(source, target, known)
    yield from _check_known(tables, groups, known)


def _parts(items: Array, size: int) -> Iterator[Array]:
    for start in range(0, len(items), max(1, size)):
        yield items[start : start + max(1, size)]


def _in_parts(j: Array, i: Array) -> Iterator[tuple[Array, Array]]:
    for part in _parts(np.arange(len(j)), AT_ONCE):
        yield j[part], i[part]


def _check_values(source: WideDomain, target: WideDomain, features: Array) -> Checks:
    j = np.repeat(features, N_BINS)
    return share_checks(
        "values",
        (source, target),
        (j, np.full(len(j), -1)),
        (source.bins(features), target.bins(features)),
        (source.shares[:, j], target.shares[:, j]),
        by_value=True,
    )


def _check_pairs(source: WideDomain, target: WideDomain, i: Array, j: Array, ranked: Array) -> Iterator[Checks]:
    """Checks of some pairs by presence, and by rank of those that have ranks."""
    found = [domain.products(i, j) for domain in (source, target)]
    for kind, by_value in enumerate([(False, False), (True, False), (False, True), (True, True)]):
        use = np.flatnonzero((ranked[i] | (not by_value[0])) & (ranked[j] | (not by_value[1])))
        sums = []
        for products, squares in found:
            product, presence = products[kind][:, use], products[0][:, use]
            sums.append(PairSums(product, presence, product.mean(axis=0), presence.mean(axis=0), squares[kind][use]))
        flags = np.full(len(use), by_value[0]), np.full(len(use), by_value[1])
        yield compare_pairs((source, target), (i[use], j[use]), flags, sums)


def _beside(known: Known, j: Any) -> Array:
    """Features beside a feature that may be lost; none beside one that never is."""
    beside = known.group != known.group[j]
    beside[j] = False
    return beside & ~known.always_recorded[j]


def _close_bounds(source: WideDomain, target: WideDomain, known: Known) -> tuple[Array, Array]:
    """Pairs (j, i) whose bound is not met for certain, by a variance that is rather too large."""
    found = []
    safe = np.where(source.q > 0, source.q, 1)
    for j in np.flatnonzero((target.q > source.q) & (source.q > 0)):
        both = source.together[j]
        enough = _beside(known, j) & (both * source.worth >= MIN_EXPECTED)
        i = np.flatnonzero(enough)
        estimate = np.log(target.q[j] * both[i] / source.n / (source.q[j] * safe[i]))
        events = 1 / both[i] + 1 / (source.n * safe[i]) + 1 / (source.n * source.q[j])
        error = np.sqrt(events / source.worth + 1 / (target.n * target.q[j] * target.worth))
        close = i[estimate > -2 * SLACK * error]
        found.append(np.stack([np.full(len(close), j), close, both[close]], axis=1))
    return _most(found)


def _close_absences(source: WideDomain, target: WideDomain, known: Known) -> tuple[Array, Array]:
    """Pairs (j, i) whose bound given the absence of i is not met for certain."""
    found = []
    for j in np.flatnonzero((source.q > 0) & (target.q > 0)):
        i = np.flatnonzero(_beside(known, j) & (source.q < 1))
        share = source.q[j] - source.together[j, i] / source.n
        close = may_break(source, target, np.full(len(i), j), share, 1 - source.q[i])
        found.append(np.stack([np.full(close.sum(), j), i[close], share[close]], axis=1))
    return _most(found)


def _most(found: list[Array]) -> tuple[Array, Array]:
    """The pairs of the first two columns, those with the largest third one where there are too many."""
    pairs = np.concatenate([np.empty((0, 3)), *found])
    pairs = pairs[np.sort(np.argsort(-pairs[:, 2], kind="stable")[:MOST_BOUNDS])]
    return pairs[:, 0].astype(int), pairs[:, 1].astype(int)


def _check_exclusive(source: WideDomain, target: WideDomain, known: Known) -> Iterator[Checks]:
    """Absences of all features that never occur beside j though chance would bring them together."""
    js, most, seen = [], [], []
    for j in range(source.d):
        never = _beside(known, j)
        for domain in (source, target):
            expected = domain.n * domain.worth * domain.q[j] * domain.q
            never &= (domain.together[j] == 0) & (expected >= MIN_EXPECTED)
        if never.sum() > 1:
            js.append(j)
            most.append(int(np.argmax(np.where(never, source.q, -1))))
            seen.append(source.any_by_block(np.flatnonzero(never)))
    if js:
        some, i = np.array(js), np.array(most)
        absent = source.share_of_rows[:, None] - np.stack(seen, axis=1)
        close = may_break(source, target, some, source.q[some], absent.mean(axis=0))
        some, i = some[close], i[close]
        yield compare_absences(source, target, some, i, source.shares[:, some], absent[:, close])


def _check_known(tables: tuple[Any, Any], groups: tuple[Array | None, Array | None], known: Known) -> Iterator[Checks]:
    """Checks of what is known of the columns, from a few columns at a time as narrow tables."""
    sizes = np.bincount(known.group)
    for group in np.flatnonzero(sizes > 1):
        yield from _narrow(tables, groups, known, np.flatnonzero(known.group == group), check_together)
    recorded = np.array(known.recorded, dtype=int)
    lost = np.flatnonzero(~known.always_recorded)
    for s in recorded:
        yield from _narrow(tables, groups, known, np.array([s]), check_population)
        for some in _parts(lost, DENSE_AT_ONCE):
            yield from _narrow(tables, groups, known, np.sort(np.append(some, s)), check_given)


def _narrow(
    tables: tuple[Any, Any], groups: tuple[Array | None, Array | None], known: Known, features: Array, check: Any
) -> Iterator[Checks]:
    """Checks of a table of some features, under their own numbers."""
    domains = make_domains(tables[0][:, features], tables[1][:, features], groups)
    part = Known(known.always_recorded[features], np.unique(known.group[features], return_inverse=True)[1])
    for found in check(*domains, part):
        second = np.where(found.second < 0, -1, features[found.second])
        yield replace(found, first=features[found.first], second=second)
