"""Cells on which engines are compared: the semi-synthetic ones of the paper and both scenarios."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from dams.datasets import load_uci
from dams.experiments.cells import Cell, build_cell
from dams.experiments.design import CellKey, Label, Sampler
from dams.missingness import Free, Nested, Opposing

SEED = 2023
ROWS = 10_000
SCENARIOS = ("redundant", "confounded")
REGIMES: dict[str, tuple[float | None, Sampler]] = {
    "opposing": (0.1, Opposing(0.1)),
    "nested": (None, Nested()),
    "free": (None, Free()),
}


def cells(draws: dict[str, int], labels: dict[str, int]) -> Iterator[Cell]:
    """Yield the first draws of every data set in every regime; UCI data only where DAMS_DATA_DIR names the files."""
    for name, count in draws.items():
        if name in SCENARIOS:
            table, regimes = None, ["opposing"]
            wanted = (Label("structural"), *(Label("random_linear", b) for b in range(labels[name] - 1)))
        elif "DAMS_DATA_DIR" in os.environ:
            table, regimes = load_uci(name), ["nested", "free"]
            wanted = tuple(Label("random_linear", b) for b in range(labels[name]))
        else:
            print(f"{name}: left out, DAMS_DATA_DIR does not name the raw UCI files", file=sys.stderr)
            continue
        for regime in regimes:
            for draw in range(count):
                yield build_cell(CellKey(name, regime, *REGIMES[regime], draw), wanted, table, seed=SEED, rows=ROWS)
