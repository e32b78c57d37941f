"""What the benchmarks' command lines share: `--csv`, `--toy`, and data sets by name.

`--toy` changes defaults alone: tiny sizes, and data that come with scikit-learn in place of downloads. The code is the
same, so a toy run shows whether a benchmark works, but not how fast anything is.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pandas as pd

from dams.datasets import load_uci
from dams.datasets.registry import DATASETS

SCENARIOS = tuple(name for name, dataset in DATASETS.items() if dataset.kind == "scenario")
TABLES = tuple(name for name, dataset in DATASETS.items() if dataset.kind != "scenario")


def read_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, *, csv: str, **toy: object
) -> argparse.Namespace:
    """Read a command line that has `--csv FILE` (`csv` describes it) and `--toy`, whose defaults are `toy`."""
    parser.add_argument("--csv", metavar="FILE", help=csv)
    parser.add_argument("--toy", action="store_true", help="tiny sizes and embedded data, to see whether it runs")
    if parser.parse_args(argv).toy:
        parser.set_defaults(**toy)
    return parser.parse_args(argv)


def load_table(name: str, columns: int | None = None) -> pd.DataFrame:
    """Return the covariates of a data set that is no scenario, the first so many or all."""
    table = load_uci(name) if DATASETS[name].kind == "uci" else DATASETS[name].load()
    return table.iloc[:, :columns]
