"""The XGBoost engine against one `XGBRegressor(n_jobs=1)` per label: seconds per fit, and equal predictions.

python -m benchmarks.xgboost [--repeats N] [--csv FILE] [--toy]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xgboost as library

from benchmarks.cells import ROWS, cells
from benchmarks.toy import read_arguments
from dams.experiments.cells import Cell
from dams.experiments.models import xgboost

DRAWS = {"redundant": 1, "confounded": 1, "thyroid": 1, "bank": 1, "adult": 1}
TOY = {"redundant": 1, "diabetes": 1}
N_LABELS = 5


def engine(cell: Cell) -> np.ndarray:
    return xgboost.predict(cell.source_train, cell.target_test.X)


def reference(cell: Cell) -> np.ndarray:
    X, Y = cell.source_train.X, cell.source_train.Y
    return np.column_stack([library.XGBRegressor(n_jobs=1).fit(X, y).predict(cell.target_test.X) for y in Y.T])


def compare(cell: Cell, repeats: int) -> dict[str, object]:
    """Time both in turn, in processor seconds per label; the least of the repeats is the one least disturbed."""
    seconds: dict[str, list[float]] = {"engine": [], "reference": []}
    predictions: dict[str, np.ndarray] = {}
    for _ in range(repeats):
        for fit in (engine, reference):
            start = time.process_time()
            predictions[fit.__name__] = fit(cell)
            seconds[fit.__name__].append((time.process_time() - start) / len(cell.labels))
    ours, theirs = min(seconds["engine"]), min(seconds["reference"])
    return {
        "dataset": cell.key.dataset,
        "regime": cell.key.regime,
        "engine": ours,
        "reference": theirs,
        "ratio": theirs / ours,
        "identical": np.array_equal(predictions["engine"], predictions["reference"]),
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.xgboost", description="XGBoost engine against library.")
    parser.add_argument("--repeats", type=int, default=5, help="times that each cell is fitted")
    parser.set_defaults(draws=DRAWS, rows=ROWS)
    arguments = read_arguments(parser, argv, csv="write one row per cell", repeats=2, draws=TOY, rows=500)
    chosen = cells(arguments.draws, dict.fromkeys(arguments.draws, N_LABELS), arguments.rows)
    rows = pd.DataFrame([compare(cell, arguments.repeats) for cell in chosen])
    if arguments.csv:
        rows.to_csv(arguments.csv, index=False)
    print(rows.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
