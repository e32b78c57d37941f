"""The MLP engine against scikit-learn: seconds a network, test scores, epochs.

    python -m benchmarks.mlp [--quick] [--csv FILE] [--toy]

Both engines fit the same labels of the same cells in turn, on one core; times are processor seconds, which other load
on the machine disturbs least. The engines draw different random numbers, so scores agree in the mean, not one by one.
Networks are trained as the oracle, on target rows: its score varies least from one training to the next, so that the
comparison is the sharpest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.cells import ROWS, cells
from benchmarks.toy import read_arguments
from dams.experiments.cells import Cell
from dams.experiments.models import mlp
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


def compare(cell: Cell) -> pd.DataFrame:
    """Fit a cell with both engines; one row a label."""
    table: dict[str, Any] = {"dataset": cell.key.dataset, "regime": cell.key.regime, "draw": cell.key.draw}
    table["label"] = [f"{label.kind} {label.beta}" for label in cell.labels]
    for fit in (engine, sklearn):
        start = time.process_time()
        predictions, epochs = fit(cell, generator(0, "benchmark", *cell.key.parts, fit.__name__))
        seconds = (time.process_time() - start) / len(cell.labels)
        Y = cell.target_test.Y
        table |= {
            f"{fit.__name__}_seconds": seconds,
            f"{fit.__name__}_score": np.mean((predictions - Y) ** 2, axis=0) / Y.var(axis=0),
            f"{fit.__name__}_epochs": epochs,
        }
    return pd.DataFrame(table)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Per data set and over all: ratio, scores, paired difference with 95 % interval, epochs."""
    groups = [*rows.groupby("dataset", sort=False), ("all", rows)]
    return pd.DataFrame([{"dataset": name, **summary(group)} for name, group in groups]).set_index("dataset")


def summary(rows: pd.DataFrame) -> dict[str, float]:
    # What differs within a pair are the engines' own random numbers, hence nearly independent between networks.
    difference = pooled_interval((rows["engine_score"] - rows["sklearn_score"]).to_numpy())
    return {
        "networks": len(rows),
        "seconds": rows["engine_seconds"].mean(),
        "sklearn": rows["sklearn_seconds"].mean(),
        "ratio": rows["sklearn_seconds"].sum() / rows["engine_seconds"].sum(),
        "score": rows["engine_score"].mean(),
        "difference": difference.mean,
        "lower": difference.lower,
        "upper": difference.upper,
        "epochs": rows["engine_epochs"].mean(),
        "epochs_sklearn": rows["sklearn_epochs"].mean(),
        "epochs_p": stats.ks_2samp(rows["engine_epochs"], rows["sklearn_epochs"]).pvalue,
    }


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
        print(summarise(rows).round(4))


if __name__ == "__main__":
    main()
