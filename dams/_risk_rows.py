"""Labelled source rows turned into weighted rows that stand for labelled target rows, for relative missingness r.

The law of labelled target rows is the source's, moved by one kernel per unit (a column, or columns lost together):
with T_u g(x) = (1 − r_u) g(x) + r_u g(x without u) where x has u, and g(x) where it has not,

    E_t[g(X̃, Y)] = E_s[(T_1 … T_U g)(X̃, Y)].

The product is a sum over what may be deleted from a row, with weights that sum to 1 and are negative where r_u < 0. So
each source row stands for rows of its own with some units deleted, each with a weight, and a mean over the target is a
weighted mean over these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

Array = np.ndarray

# Entries of a table that are made at once: 32 MB.
ENTRIES_AT_ONCE = 4_000_000
# A quarter of the rows that one source row may become is drawn anew, and the rest expanded.
SAMPLES = 4


@dataclass(frozen=True)
class StandIns:
    """Rows that stand for labelled target rows.

    Attributes
    ----------
    X : array of shape (N, d)
    row : array of shape (N,)
        The source row that each was made of.
    weight : array of shape (N,)
        Weights; those of one source row sum to 1, up to what is drawn at random.
    """

    X: Array
    row: Array
    weight: Array


def present_units(X: Array, unit: Array) -> Array:
    """Which units each row has a value of, (n, units)."""
    nonzero = X != 0
    n_units = int(unit.max(initial=-1)) + 1
    if n_units == len(unit):
        return nonzero
    found = np.zeros((len(X), n_units), dtype=bool)
    for column, number in enumerate(unit):
        found[:, number] |= nonzero[:, column]
    return found


def signed_stand_ins(X: Array, r: Array, unit: Array, n_draws: int, rng: np.random.Generator) -> Iterator[StandIns]:
    """Expand rows by the signed kernel, some at a time, and yield what stands for them.

    A row with k units to delete becomes all 2^k rows, exactly, up to a largest k that leaves `n_draws` rows per source
    row on average. Of other rows the units with the largest variance are expanded in this way, and the rest drawn:
    deleted with probability r_u where r_u ≥ 0; with probability |r_u|/(1 + 2|r_u|) and weights ±(1 + 2|r_u|) where
    r_u < 0, which has the least variance of all signed draws. Four such draws per row are stratified, unit by unit. The
    row as it is takes the weight that the others leave of 1: so what no deletion changes has no random error at all.

    Parameters
    ----------
    X : array of shape (n, d)
    r : array of shape (units,) or (n, units)
        Relative missingness, zero where nothing is lost.
    unit : array of shape (d,)
        The number of each column's unit.
    n_draws : int
        Rows that one source row becomes, on average and at most.
    """
    rate = np.broadcast_to(r, (len(X), r.shape[-1]))
    active = present_units(X, unit) & (rate != 0)
    count = active.sum(axis=1)
    depth = _depth(count, n_draws)
    size = np.minimum(count, depth + 1)
    chunk = np.cumsum(2.0**size) * X.shape[1] // ENTRIES_AT_ONCE
    for rows in np.split(np.arange(len(X)), np.flatnonzero(np.diff(chunk)) + 1):
        parts = []
        for k in np.unique(size[rows]).tolist():
            some = rows[size[rows] == k]
            if k <= depth:
                deleted, weight = _expand(rate[some], active[some], k)
            else:
                deleted, weight = _draw(rate[some], active[some], 2**depth, rng)
            parts.append(_apply(X, some, deleted, weight, unit))
        yield StandIns(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _depth(count: Array, n_draws: int) -> int:
    """Most units of a row that are expanded, so that there are `n_draws` rows per row on average."""
    depth = int(np.log2(n_draws))
    while depth < count.max(initial=0) and np.mean(2.0 ** np.minimum(count, depth + 1)) <= n_draws:
        depth += 1
    return depth


def _ranked(rate: Array, active: Array, size: int) -> Array:
    """Positions of the `size` active units of each row that would add most variance if they were drawn."""
    variance = np.where(rate > 0, rate * (1 - rate), 4 * np.abs(rate) * (1 + np.abs(rate)))
    return np.argsort(-np.where(active, variance, -1.0), axis=1, kind="stable")[:, :size]


def _expand(rate: Array, active: Array, size: int) -> tuple[Array, Array]:
    """All ways to delete from `size` units: which are deleted, (n, 2^size, units), and the weights, (n, 2^size)."""
    units = _ranked(rate, active, size)
    patterns = (np.arange(2**size)[:, None] >> np.arange(size)) & 1 == 1
    deleted = np.zeros((len(rate), 2**size, rate.shape[1]), dtype=bool)
    for position in range(size):
        deleted[np.arange(len(rate)), :, units[:, position]] = patterns[:, position]
    chosen = np.take_along_axis(rate, units, axis=1)[:, None, :]
    return deleted, np.where(patterns, chosen, 1 - chosen).prod(axis=2)


def _draw(rate: Array, active: Array, n_draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Expand the units with most variance, draw the others: `n_draws` rows at most, and the row itself as the last."""
    samples = min(SAMPLES, n_draws)
    size = int(np.log2(n_draws // samples))
    deleted, weight = _expand(rate, active, size)
    rest = active.copy()
    np.put_along_axis(rest, _ranked(rate, active, size), False, axis=1)
    size_of = np.abs(rate)
    probability = np.where(rate > 0, rate, size_of / (1 + 2 * size_of))
    # One draw from each of as many strata as samples, in an order of its own for every row and unit.
    shape = (len(rate), deleted.shape[1], samples, rate.shape[1])
    strata = np.broadcast_to(np.arange(samples)[:, None], shape)
    uniform = (rng.permuted(strata, axis=2) + rng.random(shape)) / samples
    lost = (uniform < probability[:, None, None, :]) & rest[:, None, None, :]
    signed = np.where(lost, -1.0, 1.0) * (1 + 2 * size_of)[:, None, None, :]
    factor = np.where(rest & (rate < 0), 1.0, 0.0)[:, None, None, :]
    weights = weight[:, :, None] / samples * np.where(factor > 0, signed, 1.0).prod(axis=3)
    lost |= deleted[:, :, None, :]
    flat = lost.reshape(len(rate), -1, rate.shape[1])
    weights = weights.reshape(len(rate), -1)
    itself = np.zeros((len(rate), 1, rate.shape[1]), dtype=bool)
    return np.concatenate([flat, itself], axis=1), np.column_stack([weights, 1 - weights.sum(axis=1)])


def _apply(X: Array, rows: Array, deleted: Array, weight: Array, unit: Array) -> tuple[Array, Array, Array]:
    """Rows with the deletions made, their source rows, and their weights; without those of weight zero."""
    which, pattern = np.nonzero(weight)
    made = X[rows[which]]
    # Adding zero turns the −0 of a deleted negative value into 0.
    made *= ~deleted[which, pattern][:, unit]
    made += 0.0
    return made, rows[which], weight[which, pattern]
