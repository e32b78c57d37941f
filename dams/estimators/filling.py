"""Source rows with values filled in where the target records better, and deleted where it records less.

Which zeros are filled, and with what, is learned column by column (`dams.estimators._conditional`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from dams.estimators._base import draw_streams, label_columns
from dams.estimators._choices import SHIPPED, Choices
from dams.estimators._conditional import ConditionalLaw
from dams.estimators._linear import Columns
from dams.estimators._source_rows import Filled, SourceRows
from dams.relative import RelativeMissingness

Array = np.ndarray
# Draws of an experiment; whoever fits one model can afford more. docs/two_way.md has what more and fewer are worth.
N_DRAWS = 3
# Rows that a tree learns from by default.
MAX_ROWS: int | None = None


def two_way_draws(
    X: Any,
    y: Array,
    relative: RelativeMissingness,
    *,
    together: Array | None = None,
    n_draws: int = N_DRAWS,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    max_rows: int | None = MAX_ROWS,
    choices: Choices = SHIPPED,
) -> list[Any]:
    """Return `n_draws` copies of the source rows X, each filled and filtered to the target's rates on its own.

    The laws behind the filled values are learned once, and draw k does not depend on how many there are. `together`
    numbers the groups of columns that are lost as one. X is an array or CSR, and so are the copies. A table of 8 n d
    bytes per draw is dense in any case: the columns as they stand in that draw, which trees and regressions see.
    """
    learning, streams = draw_streams(random_state, n_draws)
    together = np.arange(X.shape[1]) if together is None else together
    rows = SourceRows(X)
    fills: list[Filled] = []
    if relative.improper.any():
        # With anchors, r of every row.
        r = np.where(relative.improper, relative.r if relative.anchored is None else relative.at(X), 0.0)
        fills += _fill(
            rows,
            label_columns(y),
            r,
            together,
            learning,
            streams,
            n_jobs=n_jobs,
            verbose=verbose,
            max_rows=max_rows,
            choices=choices,
        )
    return list(rows.copies(fills, relative.filter_rates_at(X), together, streams))


def fill_probabilities(probability: Array, expected: float, strength: Array | None = None) -> Array:
    """Probabilities of turning zeros into values: proportional to π/(1 − π), at most 1, summing to `expected`.

    In theory the factor is −r_j. Fixing the sum instead keeps the number of nonzeros at the target's, however π errs.
    `strength` is −r_j of each row, above 0, where it differs from row to row.
    """
    odds = probability / (1 - probability)
    if strength is not None:
        odds = odds * strength
    descending = np.sort(odds)[::-1]
    # With the k largest at 1, the rest share what remains; the least k that leaves no probability above 1.
    remaining = np.cumsum(descending[::-1])[::-1]
    factors = (expected - np.arange(len(odds))) / remaining
    fits = np.flatnonzero(factors * descending <= 1)
    return np.minimum(odds * factors[fits[0]], 1.0) if fits.size else np.ones_like(odds)


def fill_order(r: Array, *, most_first: bool = False) -> Array:
    """Features to fill, those with the least to fill first: what is learned early rests on what was recorded."""
    negative = np.flatnonzero(r < 0)
    least_first = negative[np.argsort(-r[negative], kind="stable")]
    return least_first[::-1] if most_first else least_first


def _fill(
    X: SourceRows,
    labels: Array,
    r: Array,
    together: Array,
    learning: np.random.Generator,
    streams: list[np.random.Generator],
    *,
    n_jobs: int | None,
    verbose: int,
    max_rows: int | None,
    choices: Choices,
) -> Iterator[Filled]:
    """Fill the features with r_j < 0 in a copy of X per stream, each given the others as they stand in that copy."""
    folds = learning.permutation(X.shape[0]) % choices.n_folds
    start = time.perf_counter()
    _, first = np.unique(together, return_index=True)
    overall = r if r.ndim == 1 else np.minimum(r, 0).mean(axis=0)
    order = fill_order(overall[first], most_first=choices.most_first)
    table = X.standardised()
    tables = [table, *(table.copy() for _ in streams[1:])]
    # All copies have the same law, so what is learned from one serves all.
    learned_from = Columns(tables[0], labels, folds)
    for number, group in enumerate(order, start=1):
        columns = np.flatnonzero(together == group)
        values = X.columns(columns)
        zeros, expected, strength = _to_fill(r[..., columns[0]], values)
        seed = int(learning.integers(2**31))
        law = ConditionalLaw(
            learned_from, columns, values, folds, seed=seed, n_jobs=n_jobs, max_rows=max_rows, choices=choices
        )
        fill = delayed(_fill_feature)
        filled = Parallel(n_jobs=n_jobs, require="sharedmem")(
            fill(table, columns, zeros, law, expected, strength, rng)
            for table, rng in zip(tables, streams, strict=True)
        )
        learned_from.refresh(columns)
        yield from ((copy, columns, rows, donors) for copy, (rows, donors) in enumerate(filled))
        if verbose:
            print(
                f"[TwoWayFilter] feature {number} of {len(order)}, column {columns[0]}: {expected:.0f} of "
                f"{len(zeros)} zeros filled, {time.perf_counter() - start:.1f} s"
            )


def _to_fill(r: Array, values: Array) -> tuple[Array, float, Array | None]:
    """Rows with a zero that may be filled, how many of them will be, and −r of each where r differs from row to row."""
    zeros = np.flatnonzero(~values.any(axis=1))
    if r.ndim == 0:
        return zeros, -float(r) * (len(values) - len(zeros)), None
    strength = np.maximum(-r, 0)
    expected = float(strength.sum() - strength[zeros].sum())
    zeros = zeros[strength[zeros] > 0]
    return zeros, expected, strength[zeros]


def _fill_feature(
    table: Array,
    columns: Array,
    zeros: Array,
    law: ConditionalLaw,
    expected: float,
    strength: Array | None,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Fill one feature of one table, in place, in as many rows as are expected to be lost in the source alone.

    Returns the rows that are filled, and their donors.
    """
    rows = zeros[rng.random(len(zeros)) < fill_probabilities(law.probability(table, zeros), expected, strength)]
    donors = law.donors(table, rows, rng)
    table[np.ix_(columns, rows)] = table[np.ix_(columns, donors)]
    return rows, donors
