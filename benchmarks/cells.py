"""Cells on which engines are compared: the semi-synthetic ones of the paper and both scenarios."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.toy import SCENARIOS, load_table
from dams.datasets.registry import DATASETS
from dams.experiments.cells import Cell, Clean, build_cell, clean_table, sample_scenario, split_rows
from dams.experiments.design import CellKey, Label, Sampler
from dams.experiments.seeding import generator
from dams.missingness import delete_at_random
from dams.rates import FreeRates, NestedRates, OpposingRates

SEED = 2023
ROWS = 10_000
REGIMES: dict[str, tuple[float | None, Sampler]] = {
    "opposing": (0.1, OpposingRates(0.1)),
    "nested": (None, NestedRates()),
    "free": (None, FreeRates()),
}


def cells(draws: dict[str, int], labels: dict[str, int], rows: int = ROWS) -> Iterator[Cell]:
    """Yield the first draws of every data set in every regime; UCI data only where DAMS_DATA_DIR names the files.

    `rows` is the size of a scenario's sample; a table has its own.
    """
    return (cell for cell, _ in cells_and_clean(draws, labels, rows))


def cells_and_clean(
    draws: dict[str, int], labels: dict[str, int], rows: int = ROWS, *, first: int = 0
) -> Iterator[tuple[Cell, Clean]]:
    """Yield every cell of `cells` with the clean data that it was made of; `first` is the number of the first draw."""
    for name, count in draws.items():
        if name in SCENARIOS:
            table, regimes = None, ["opposing"]
            wanted = (Label("structural"), *(Label("random_linear", b) for b in range(labels[name] - 1)))
        elif DATASETS[name].kind == "uci" and "DAMS_DATA_DIR" not in os.environ:
            print(f"{name}: left out, DAMS_DATA_DIR does not name the raw UCI files", file=sys.stderr)
            continue
        else:
            table, regimes = load_table(name), ["nested", "free"]
            wanted = tuple(Label("random_linear", b) for b in range(labels[name]))
        for regime in regimes:
            for draw in range(first, first + count):
                key = CellKey(name, regime, *REGIMES[regime], draw)
                clean = (
                    sample_scenario(key, wanted, seed=SEED, rows=rows)
                    if table is None
                    else clean_table(table, name, wanted, seed=SEED)
                )
                yield build_cell(key, wanted, clean, seed=SEED), clean


def target_again(cell: Cell, clean: Clean, draw: int) -> np.ndarray:
    """Return the target's training rows with their losses drawn anew, which nobody has but a simulation."""
    key = cell.key
    rows = split_rows(len(clean.X), generator(SEED, "split", *key.parts))[2]
    _, rates = key.sampler.sample(clean.X.shape[1], generator(SEED, "rates", *key.parts))
    observed = [name not in cell.dropped for name in clean.columns]
    return delete_at_random(clean.X[rows], rates, generator(SEED, "again", *key.parts, draw))[:, observed]
