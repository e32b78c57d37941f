"""The MLP engine against scikit-learn in double and in single precision: seconds a network, test scores, epochs.

    python -m benchmarks.mlp [--quick] [--csv FILE] [--toy]

All fit the same labels of the same cells in turn, on one core; times are processor seconds, which other load on the
machine disturbs least. They draw different random numbers, so scores agree in the mean, not one by one. Networks are
trained as the oracle, on target rows: its score varies least from one training to the next, so that the comparison is
the sharpest.

The floor is what the two matrix products of a step would take at the rate of large ones, 4 (d + 1) h operations a row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.cells import ROWS, cells
from benchmarks.toy import read_arguments
from dams.experiments.cells import Cell
from dams.experiments.models import Sample, mlp
from dams.experiments.models.batched_mlp import DEFAULTS
from dams.experiments.seeding import generator
from dams.stats import pooled_interval

DRAWS = {"redundant": 4, "confounded": 4, "thyroid": 3, "bank": 1, "adult": 1}
LABELS = {"redundant": 5, "confounded": 5, "thyroid": 5, "bank": 3, "adult": 3}
QUICK = {"redundant": 2, "confounded": 2, "thyroid": 1}
TOY = {"redundant": 1, "diabetes": 1}


def engine(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    training = mlp.fit(cell.target_train, rng)
    return training.networks.predict(cell.target_test.X), training.epochs


def sklearn(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    networks = mlp.fit_sklearn(cell.target_train, rng)
    predictions = np.column_stack([network.predict(cell.target_test.X) for network in networks])
    return predictions, np.array([network.n_iter_ for network in networks])


def single(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Train and predict with scikit-learn in the engine's precision, which it takes from the data."""
    parts = (cell.target_train, cell.target_test)
    train, test = (Sample(part.X.astype(np.float32), part.Y.astype(np.float32)) for part in parts)
    return sklearn(replace(cell, target_train=train, target_test=test), rng)


def operations_a_second(size: int = 1000, repeats: int = 5) -> float:
    """Measure the best rate of a large product in single precision."""
    factor = np.ones((size, size), np.float32)
    product, seconds = np.empty_like(factor), []
    for _ in range(repeats):
        start = time.process_time()
        np.matmul(factor, factor, out=product)
        seconds.append(time.process_time() - start)
    return 2 * size**3 / min(seconds)


def compare(cell: Cell) -> pd.DataFrame:
    """Fit a cell with every engine; one row per label."""
    table: dict[str, Any] = {"dataset": cell.key.dataset, "regime": cell.key.regime, "draw": cell.key.draw}
    table["label"] = [f"{label.kind} {label.beta}" for label in cell.labels]
    for fit in (engine, sklearn, single):
        start = time.process_time()
        predictions, epochs = fit(cell, generator(0, "benchmark", *cell.key.parts, fit.__name__))
        seconds = (time.process_time() - start) / len(cell.labels)
        Y = cell.target_test.Y
        table |= {
            f"{fit.__name__}_seconds": seconds,
            f"{fit.__name__}_score": np.mean((predictions - Y) ** 2, axis=0) / Y.var(axis=0),
            f"{fit.__name__}_epochs": epochs,
        }
    n, d = cell.target_train.X.shape
    table["floor_seconds"] = 4 * n * (d + 1) * DEFAULTS.hidden_units * table["engine_epochs"] / operations_a_second()
    return pd.DataFrame(table)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Per data set and over all: ratios, scores, paired differences with 95 % intervals, epochs."""
    groups = [*rows.groupby("dataset", sort=False), ("all", rows)]
    return pd.DataFrame([{"dataset": name, **summary(group)} for name, group in groups]).set_index("dataset")


def summary(rows: pd.DataFrame) -> dict[str, float]:
    result = {
        "networks": len(rows),
        "seconds": rows["engine_seconds"].mean(),
        "floor": rows["floor_seconds"].sum() / rows["engine_seconds"].sum(),
        "score": rows["engine_score"].mean(),
        "epochs": rows["engine_epochs"].mean(),
    }
    for name in ("sklearn", "single"):
        # What differs within a pair are the engines' own random numbers, hence nearly independent between networks.
        difference = pooled_interval((rows["engine_score"] - rows[f"{name}_score"]).to_numpy())
        result |= {
            f"{name}_ratio": rows[f"{name}_seconds"].sum() / rows["engine_seconds"].sum(),
            f"{name}_difference": difference.mean,
            f"{name}_lower": difference.lower,
            f"{name}_upper": difference.upper,
            f"{name}_epochs": rows[f"{name}_epochs"].mean(),
            f"{name}_epochs_p": stats.ks_2samp(rows["engine_epochs"], rows[f"{name}_epochs"]).pvalue,
        }
    return result


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mlp", description="MLP engine against scikit-learn.")
    parser.add_argument("--quick", action="store_true", help="leave out the large data sets")
    parser.set_defaults(draws=DRAWS, labels=LABELS, rows=ROWS)
    toy = {"draws": TOY, "labels": LABELS | dict.fromkeys(TOY, 2), "rows": 500}
    arguments = read_arguments(parser, argv, csv="write one row per network", **toy)
    draws = QUICK if arguments.quick else arguments.draws
    with threadpool_limits(1):
        rows = pd.concat([compare(cell) for cell in cells(draws, arguments.labels, arguments.rows)])
    if arguments.csv:
        rows.to_csv(arguments.csv, index=False)
    with pd.option_context("display.width", 200, "display.max_columns", None):
        print(summarise(rows).round(4).T)


if __name__ == "__main__":
    main()
