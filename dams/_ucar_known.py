"""Checks that use what is known of the columns: some are always recorded, some are lost together.

S: a column that both places always record. Its law may differ, since the populations may (`population`, which says
nothing about loss). Given its value, the rest must still agree: P(X̃_j ≠ 0 | S = s), target over source, is 1 − r_j for
every s, and the law of the nonzero values of j given S = s is one. Both hold whatever the mix of S, where
E[b_j b_S]/(q_j q_S) need not.

Columns lost together share a mask. Given that any of them is observed, which ones are has one law (`together`); and the
other checks hold for columns of different groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dams._ucar_domains import MIN_ELSEWHERE, MIN_EXPECTED, Checks, Domain, share_checks

Array = np.ndarray


@dataclass(frozen=True)
class Known:
    """Which columns are always recorded, (d,), and the number of each column's group, (d,)."""

    always_recorded: Array
    group: Array

    @property
    def recorded(self) -> list[int]:
        """Positions of what is always recorded."""
        return [int(s) for s in np.flatnonzero(self.always_recorded)]

    @classmethod
    def nothing(cls, d: int) -> Known:
        """Each column may be lost, on its own."""
        return cls(np.zeros(d, dtype=bool), np.arange(d))

    def independent(self, i: Array, j: Array) -> Array:
        """Which pairs of features are lost, both, and independently."""
        lost = ~(self.always_recorded[i] | self.always_recorded[j])
        return lost & (self.group[i] != self.group[j])


def check_together(source: Domain, target: Domain, known: Known) -> Iterator[Checks]:
    """P(X̃_j ≠ 0 | any of its group), target minus source."""
    for group in np.flatnonzero(np.bincount(known.group) > 1):
        j = np.flatnonzero(known.group == group)
        wholes = [np.repeat(domain.any_by_block(j)[:, None], len(j), axis=1) for domain in (source, target)]
        parts = source.shares[:, j], target.shares[:, j]
        features = j, np.full(len(j), -1)
        yield share_checks("together", (source, target), features, parts, (wholes[0], wholes[1]), by_value=False)


def check_population(source: Domain, target: Domain, known: Known) -> Iterator[Checks]:
    """P(S = s), target minus source, for every level s of what is always recorded."""
    for s in known.recorded:
        parts = [domain.levels(s).sum(axis=1) / domain.per_block for domain in (source, target)]
        # The shares of all levels sum to 1; of two levels one says all.
        parts = [part[:, 1:] if part.shape[1] == 2 else part for part in parts]
        wholes = [np.repeat(domain.share_of_rows[:, None], parts[0].shape[1], axis=1) for domain in (source, target)]
        features = np.full(parts[0].shape[1], s), np.full(parts[0].shape[1], -1)
        by_level = features[0].size > 1
        yield share_checks(
            "population", (source, target), features, (parts[0], parts[1]), (wholes[0], wholes[1]), by_value=by_level
        )


def check_given(source: Domain, target: Domain, known: Known) -> Iterator[Checks]:
    """Checks of lost columns, given each level of a column that is always recorded."""
    lost = np.flatnonzero(~known.always_recorded[source.feature])
    if not lost.size:
        return
    for s in known.recorded:
        levels = source.levels(s), target.levels(s)
        yield _presence_given(source, target, s, lost[lost < source.d], levels)
        if (lost >= source.d).any():
            yield _values_given(source, target, s, lost[lost >= source.d], levels)


def _presence_given(source: Domain, target: Domain, s: int, j: Array, levels: tuple[Array, Array]) -> Checks:
    """L_k = log P^t(X̃_j ≠ 0 | S = k)/P^s(X̃_j ≠ 0 | S = k), which is log(1 − r_j) for every k, against its mean over k.

    The variance of L_k is Σ (1 − π)/(n P(S = k) π) over both domains, with π = P(X̃_j ≠ 0 | S = k) estimated from both.
    """
    domains = (source, target)
    joint = [domain.products_with(level, j) for domain, level in zip(domains, levels, strict=True)]
    size = [level.sum(axis=1).astype(float) / domain.per_block for domain, level in zip(domains, levels, strict=True)]
    rows = [domain.n * part.mean(axis=0)[:, None] for domain, part in zip(domains, size, strict=True)]
    seen = [domain.n * part.mean(axis=0) for domain, part in zip(domains, joint, strict=True)]

    def shared(ratio: Array) -> list[Array]:
        """P(X̃_j ≠ 0 | S = k) of both domains where their ratio is the same for every k."""
        base = (seen[0] + seen[1]) / np.maximum(rows[0] + ratio * rows[1], 1e-300)
        return [np.clip(base, 0, 1), np.clip(ratio * base, 0, 1)]

    with np.errstate(divide="ignore", invalid="ignore"):
        usable = (seen[0] > 0) & (seen[1] > 0)
        for domain, n_rows, p in zip(domains, rows, shared(target.q[j] / source.q[j]), strict=True):
            usable &= domain.worth * n_rows * p >= MIN_EXPECTED
            usable &= domain.worth * n_rows * (1 - p) >= MIN_ELSEWHERE
        own = [np.where(usable, part / n_rows, 0.5) for part, n_rows in zip(seen, rows, strict=True)]
    L = np.log(own[1] / own[0])
    weight = usable * (rows[0] + rows[1])
    weight /= np.maximum(weight.sum(axis=0), 1)
    mean = (weight * L).sum(axis=0)
    influences = []
    for domain, part, in_level, n_rows, p, under_ucar in zip(
        domains, joint, size, rows, own, shared(np.exp(mean)), strict=True
    ):
        safe = np.where(usable, n_rows, np.inf)
        phi = domain.n * (part / p - in_level[:, :, None]) / safe
        phi = phi - (weight * phi).sum(axis=1, keepdims=True)
        variances = []
        for share in (np.where(usable, under_ucar, 0.5), p):
            of_level = (1 - share) / (safe * np.maximum(share, 1e-300))
            variances.append(of_level * (1 - 2 * weight) + (weight**2 * of_level).sum(axis=0))
        flat = phi.reshape(len(phi), -1)
        influences.append(domain.with_variance(flat, *(variance.ravel() for variance in variances)))
    # Of two levels one says all.
    several = usable.sum(axis=0) > 1
    only_two = usable.sum(axis=0) == 2
    last = usable & (np.cumsum(usable[::-1], axis=0)[::-1] == 1)
    wanted = several & np.where(only_two, last, usable)
    n_levels = len(L)
    return Checks(
        "pairs",
        np.tile(j, n_levels),
        np.full(n_levels * len(j), s),
        (L - mean).ravel(),
        (-influences[0], influences[1]),
    ).keep(wanted.ravel())


def _values_given(source: Domain, target: Domain, s: int, columns: Array, levels: tuple[Array, Array]) -> Checks:
    """E[rank of X̃_j | X̃_j ≠ 0, S = k], target minus source, for some columns of ranks."""
    domains, j = (source, target), source.feature[columns]
    means, influences, squares, seen, rank = [], [], [], [], []
    for domain, level in zip(domains, levels, strict=True):
        present, ranks = domain.products_with(level, j), domain.products_with(level, columns)
        squares.append(domain.squares_with(level, columns))
        seen.append(domain.n * present.mean(axis=0))
        rank.append(domain.n * ranks.mean(axis=0))
        safe = np.where(seen[-1] > 0, seen[-1], np.inf)
        means.append(rank[-1] / safe)
        influences.append(domain.n * (ranks - means[-1] * present) / safe)
    total = np.maximum(seen[0] + seen[1], 1)
    square = (squares[0] + squares[1]) / total
    variance = square - ((rank[0] + rank[1]) / total) ** 2
    scaled = []
    for domain, influence, n_seen, mean, own in zip(domains, influences, seen, means, squares, strict=True):
        safe = np.where(n_seen > 0, n_seen, np.inf)
        of_mean = variance / safe, (own / safe - mean**2) / safe
        scaled.append(domain.with_variance(influence.reshape(len(influence), -1), *(v.ravel() for v in of_mean)))
    enough = np.minimum(seen[0] * source.worth, seen[1] * target.worth) >= MIN_EXPECTED
    n_levels = len(square)
    return Checks(
        "pairs",
        np.tile(j, n_levels),
        np.full(n_levels * len(j), s),
        (means[1] - means[0]).ravel(),
        (-scaled[0], scaled[1]),
        expected=square.ravel(),
        by_value=(np.ones(enough.size, dtype=bool), np.zeros(enough.size, dtype=bool)),
    ).keep(enough.ravel())
