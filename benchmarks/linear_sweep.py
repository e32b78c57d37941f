"""The linear sweep against the plain protocol, on the same cells, one core.

python -m benchmarks.linear_sweep [--draws N] [--csv FILE] [--toy]

Plain protocol: for every β corrupt anew, fit every method with scikit-learn on the rows, predict, score. Here: one
corruption a cell, moments in one pass over the rows, every β and method a small solve.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from benchmarks.toy import load_table, read_arguments
from dams import FreeRates
from dams.experiments.cells import split_rows
from dams.experiments.design import Block, CellKey, Fit
from dams.experiments.run import run_block

METHODS = ("oracle", "source", "closed_form_as_published", "nonparametric")
STABLE = ("oracle", "source", "closed_form", "nonparametric")
# Rows, columns and β of Bank: the whole, and one of them varied at a time.
SIZES = (
    (41188, 39, 10),
    (10000, 39, 10),
    (20000, 39, 10),
    (41188, 10, 10),
    (41188, 20, 10),
    (41188, 39, 1),
    (41188, 39, 50),
)
TOY_SIZES = ((442, 10, 2), (200, 5, 1))


def corrupt(X: np.ndarray, m: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X * (rng.random(X.shape) >= m)


def closed_form(X_source: np.ndarray, y: np.ndarray, X_target: np.ndarray) -> np.ndarray:
    """Algorithm 2 as one would write it down, with a column of ones."""
    source, target = (np.column_stack([np.ones(len(X)), X]) for X in (X_source, X_target))
    n_source, n_target = len(source), len(target)
    keep = np.mean(target != 0, axis=0) / np.mean(source != 0, axis=0)
    moved = np.outer(keep, keep) * (source.T @ source / n_source)
    np.fill_diagonal(moved, keep * np.mean(source**2, axis=0))
    M = (n_source * moved + n_target * (target.T @ target / n_target)) / (n_source + n_target)
    return np.linalg.solve(M, keep * (source.T @ y / n_source))


def plain(table: pd.DataFrame, draws: int, betas: int) -> float:
    """CPU seconds of the plain protocol, in numpy and scikit-learn alone."""
    rng = np.random.default_rng(0)
    X = table.to_numpy()
    start = time.process_time()
    for _ in range(draws):
        source, _, target, test = split_rows(len(X), rng)
        m_source, m_target = FreeRates().sample(X.shape[1], rng)
        for _ in range(betas):
            y = X @ rng.uniform(0, 10, X.shape[1])
            X_source = corrupt(X[source], m_source, rng)
            X_target = corrupt(X[target], m_target, rng)
            X_test = corrupt(X[test], m_target, rng)
            r = 1 - np.mean(X_target != 0, axis=0) / np.mean(X_source != 0, axis=0)
            filtered = corrupt(X_source, np.maximum(r, 0), rng)
            predictions = [
                LinearRegression().fit(X_train, y_train).predict(X_test)
                for X_train, y_train in ((X_target, y[target]), (X_source, y[source]), (filtered, y[source]))
            ]
            beta = closed_form(X_source, y[source], X_target)
            predictions.append(beta[0] + X_test @ beta[1:])
            [np.mean((prediction - y[test]) ** 2) / np.var(y[test]) for prediction in predictions]
    return time.process_time() - start


def shared(table: pd.DataFrame, dataset: str, draws: int, betas: int, methods: tuple[str, ...] = METHODS) -> float:
    """CPU seconds of this project's way for as many cells."""
    cells = tuple(CellKey(dataset, "free", None, FreeRates(), draw) for draw in range(draws))
    fits = tuple(Fit(method, "linear", draws, betas) for method in methods)
    block = Block("benchmark", dataset, "linear", 0, cells, fits, betas, ("random_linear",), 0, 0)
    start = time.process_time()
    run_block(block, table)
    return time.process_time() - start


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear_sweep", description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.set_defaults(dataset="bank", sizes=SIZES)
    toy = {"draws": 2, "dataset": "diabetes", "sizes": TOY_SIZES}
    given = read_arguments(parser, argv, csv="write the table", **toy)
    table = load_table(given.dataset)
    rows = []
    with threadpool_limits(1):
        shared(table, given.dataset, 1, 1)  # the first run loads libraries
        for n, d, betas in given.sizes:
            part = table.sample(n, random_state=0).iloc[:, :d]
            slow = plain(part, given.draws, min(betas, 10)) * betas / min(betas, 10)
            fast = shared(part, given.dataset, given.draws, betas)
            stable = shared(part, given.dataset, given.draws, betas, STABLE)
            rows.append(
                {
                    "rows": n,
                    "columns": d,
                    "betas": betas,
                    "plain_s": slow,
                    "shared_s": fast,
                    "ratio": slow / fast,
                    "ratio_stable_closed_form": slow / stable,
                }
            )
            print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False, header=len(rows) == 1), flush=True)
    if given.csv:
        pd.DataFrame(rows).to_csv(given.csv, index=False)


if __name__ == "__main__":
    main()
