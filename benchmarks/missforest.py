"""Both engines of `MissForestImputer` on cells of the paper: seconds, and whether they impute alike.

Every cell is imputed as in the paper: fitted on source train and target train together, which is transformed, then each
test set transformed on its own. Seconds are processor time on one core, in turn within one run.

Two engines are alike if what they impute differs no more than what missingpy imputes with two seeds. Distances are root
mean squares over imputed entries, averaged over seeds and cells, by column; scores are target-test MSE / Var(Y) of
models trained on the imputed source, for labels Xβ. A score depends much on the seed, so engines are compared by means
over seeds, with the standard error over cells, beside the same comparison of missingpy's even seeds with its odd ones.

python -m benchmarks.missforest [--datasets NAME ...] [--regimes NAME ...] [--cells N] [--seeds N] [--units]
    [--csv FILE] [--distances FILE] [--keep FOLDER] [--toy]
python -m benchmarks.missforest --time [--csv FILE] [--toy]

Columns that split a node equally well are common in Bank. scikit-learn takes the one that rounding favours, which
depends on the unit of measurement though nothing else in MissForest does. `--units` multiplies the data by a factor for
each run, and divides the result by it: missingpy then differs from itself by that too.

`--time` measures seconds alone, with one seed on one cell of each regime.

`--keep` stores every imputation with its seconds, so that a run that was broken off goes on, and more seeds or cells
cost only themselves. What was stored by other code is not told apart: use a folder for each state of the engine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import RandomForestRegressor

from benchmarks.toy import TABLES, load_table, read_arguments
from dams.datasets.registry import title_of
from dams.experiments.cells import split_rows
from dams.experiments.models import MODELS, Sample
from dams.experiments.seeding import generator
from dams.imputation import MissForestImputer
from dams.imputation._forest import NumericTarget, bin_column, grow_forest
from dams.missingness import delete_at_random
from dams.rates import FreeRates, NestedRates

SEED = 2023
DATASETS = ("thyroid", "adult", "bank")
REGIMES = {"nested": NestedRates(), "free": FreeRates()}
ENGINES = ("missingpy", "fast")
N_LABELS = 5
COLUMNS = ["dataset", "regime", "draw", "measure", "item", "seed", "value"]


@dataclass(frozen=True)
class Parts:
    """A corrupted data set: training rows of source and target, both test sets, and clean labels."""

    columns: list[str]
    source_train: Sample
    source_test: Sample
    target_train: Sample
    target_test: Sample

    @property
    def stacked(self) -> np.ndarray:
        """What the imputer is fitted on."""
        return np.concatenate([self.source_train.X, self.target_train.X])

    @property
    def to_impute(self) -> list[np.ndarray]:
        """The matrices that the paper imputes, each on its own."""
        return [self.stacked, self.source_test.X, self.target_test.X]


def corrupt(table: pd.DataFrame, *key: str | int) -> Parts:
    """Split the rows 4:1:4:1 and lose values at the rates of a regime, the second part of the key."""
    X = table.to_numpy(dtype=float)
    Y = X @ generator(SEED, "beta", key[0]).uniform(0, 10, (X.shape[1], N_LABELS))
    source, target = REGIMES[str(key[1])].sample(X.shape[1], generator(SEED, "rates", *key))
    rng = generator(SEED, "corruption", *key)
    rows = split_rows(len(X), generator(SEED, "split", *key))
    samples = [
        Sample(delete_at_random(X[part], rates, rng), Y[part])
        for part, rates in zip(rows, (source, source, target, target), strict=True)
    ]
    return Parts(list(table.columns), *samples)


def fit_imputer(X: np.ndarray, **options: Any) -> MissForestImputer:
    """Fit an imputer that takes every zero for missing, as the paper did."""
    with warnings.catch_warnings():
        # That 0/1 columns become constants is part of the published protocol.
        warnings.filterwarnings("ignore", "There is one value beside 0")
        return MissForestImputer(**options).fit(X)


def impute(parts: Parts, engine: str, seed: int, *, units: bool = False) -> tuple[list[np.ndarray], float]:
    """Run the paper's protocol, in units of the run's own if wanted; return imputed matrices and their seconds."""
    factor = np.exp(generator(SEED, "units", engine, seed).uniform(-1, 1)) if units else 1.0
    start = time.process_time()
    imputer = fit_imputer(parts.stacked * factor, engine=engine, all_missing="statistic", random_state=seed)
    imputed = [imputer.transform(X * factor) / factor for X in parts.to_impute]
    return imputed, time.process_time() - start


def impute_or_read(
    parts: Parts, engine: str, seed: int, file: Path | None, *, units: bool = False
) -> tuple[list[np.ndarray], float]:
    """What `impute` returns, from a file where it was stored before."""
    if file is None:
        return impute(parts, engine, seed, units=units)
    lost = [X == 0 for X in parts.to_impute]
    if not file.exists():
        imputed, seconds = impute(parts, engine, seed, units=units)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".part.npz")
        np.savez(unfinished, *(X[where] for X, where in zip(imputed, lost, strict=True)), seconds=seconds)
        unfinished.replace(file)
    with np.load(file) as stored:
        filled = [X.copy() for X in parts.to_impute]
        for number, (X, where) in enumerate(zip(filled, lost, strict=True)):
            X[where] = stored[f"arr_{number}"]
        return filled, float(stored["seconds"])


def scores(parts: Parts, imputed: list[np.ndarray]) -> dict[str, float]:
    """MSE / Var(Y) on the target test rows of models trained on source rows, averaged over labels."""
    train = Sample(imputed[0][: len(parts.source_train.X)], parts.source_train.Y)
    test = Sample(imputed[2], parts.target_test.Y)
    rng = np.random.default_rng(SEED)
    return {
        name: float((MODELS[name].errors(train, test, rng) / test.Y.var(axis=0)).mean())
        for name in ("linear", "xgboost")
    }


Imputed = list[np.ndarray]


def distances(parts: Parts, pairs: list[tuple[Imputed, Imputed]], column: int) -> np.ndarray:
    """Root mean square over imputed entries of a column of the difference between two imputations, for each pair."""
    lost = [X[:, column] == 0 for X in parts.to_impute]
    entries = [
        [first[rows, column] - second[rows, column] for first, second, rows in zip(*pair, lost, strict=True)]
        for pair in pairs
    ]
    return np.array([np.sqrt((np.concatenate(differences) ** 2).mean()) for differences in entries])


def compare_columns(parts: Parts, imputed: dict[str, list[Imputed]]) -> Iterator[tuple[str, str, None, float]]:
    """Yield measure, column, None and value: mean squares over pairs of runs, and the distance of a typical pair."""
    pairs = {
        "engines": list(product(imputed["fast"], imputed["missingpy"])),
        "seeds": list(combinations(imputed["missingpy"], 2)),
        "seeds of fast": list(combinations(imputed["fast"], 2)),
    }
    even, odd = imputed["missingpy"][0::2], imputed["missingpy"][1::2]
    if len(odd) > 1:
        pairs |= {"even and odd seeds": list(product(even, odd)), "odd seeds": list(combinations(odd, 2))}
    for column, name in enumerate(parts.columns):
        if len(np.unique(parts.stacked[parts.stacked[:, column] != 0, column])) > 1:
            for which, these in pairs.items():
                found = distances(parts, these, column)
                yield f"between {which}", name, None, float((found**2).mean())
                yield f"typical between {which}", name, None, float(np.median(found))


def measure_cell(
    parts: Parts, n_seeds: int, folder: Path | None, *, units: bool
) -> Iterator[tuple[str, str, int | None, float]]:
    """Yield measure, item, seed (None where all are compared) and value."""
    runs: dict[str, list[tuple[list[np.ndarray], float]]] = {engine: [] for engine in ENGINES}
    for seed, engine in product(range(n_seeds), ENGINES):
        file = folder / f"{engine}{'-units' * units}-{seed}.npz" if folder else None
        runs[engine].append(impute_or_read(parts, engine, seed, file, units=units))
    imputed = {engine: [matrices for matrices, _ in results] for engine, results in runs.items()}
    for engine, results in runs.items():
        for seed, (matrices, seconds) in enumerate(results):
            yield "seconds", engine, seed, seconds
            for model, score in scores(parts, matrices).items():
                yield f"score {model}", engine, seed, score
    yield from compare_columns(parts, imputed)


def measure(
    tables: dict[str, pd.DataFrame],
    regimes: list[str],
    cells: int,
    seeds: int,
    keep: Path | None,
    *,
    units: bool = False,
) -> pd.DataFrame:
    """Measure every cell; one row per measure, item and seed."""
    rows = []
    for dataset, table in tables.items():
        impute(corrupt(table, dataset, "nested", 0), "fast", 0)  # the first run loads libraries
        for regime, draw in product(regimes, range(cells)):
            print(f"{dataset} {regime} {draw}", file=sys.stderr, flush=True)
            parts = corrupt(table, dataset, regime, draw)
            folder = keep / f"{dataset}-{regime}-{draw}" if keep else None
            rows += [(dataset, regime, draw, *found) for found in measure_cell(parts, seeds, folder, units=units)]
    return pd.DataFrame(rows, columns=COLUMNS)


def time_cells(tables: dict[str, pd.DataFrame], regimes: Sequence[str]) -> pd.DataFrame:
    """Seconds of both engines on the first cell of every regime; rows as those of `measure`."""
    rows = []
    for dataset, table in tables.items():
        impute(corrupt(table, dataset, "nested", 0), "fast", 0)  # the first run loads libraries
        for regime in regimes:
            parts = corrupt(table, dataset, regime, 0)
            rows += [(dataset, regime, 0, "seconds", engine, 0, impute(parts, engine, 0)[1]) for engine in ENGINES]
    return pd.DataFrame(rows, columns=COLUMNS)


def speed_table(results: pd.DataFrame) -> pd.DataFrame:
    """Seconds a cell of each engine, and their ratio."""
    seconds = results[results["measure"] == "seconds"]
    table = seconds.pivot_table(index=["dataset", "regime"], columns="item", values="value", sort=False)
    return table.assign(ratio=table["missingpy"] / table["fast"])


def distance_table(results: pd.DataFrame) -> pd.DataFrame:
    """Distances by column, over cells.

    `ratio` compares root mean squares between engines with those between missingpy's seeds, `typical` the medians over
    pairs of runs, which a rare run that goes astray does not move. `centre` compares with the seeds of both engines: 1
    where the engines differ in nothing but how often they go astray. `itself` is `ratio` for missingpy's even seeds
    in place of the fast engine and its odd ones for all of missingpy's: what chance alone makes of it.
    """
    found = results[results["measure"].str.contains("between")]
    keys = ["dataset", "regime", "item"]
    mean = found.pivot_table(index=keys, columns="measure", values="value", sort=False)
    engines, seeds, fast = (mean[f"between {which}"] for which in ("engines", "seeds", "seeds of fast"))
    table = {
        "between engines": np.sqrt(engines),
        "between seeds": np.sqrt(seeds),
        "ratio": np.sqrt(engines / seeds),
        "typical": mean["typical between engines"] / mean["typical between seeds"],
        "centre": np.sqrt(engines / ((seeds + fast) / 2)),
    }
    if "between odd seeds" in mean:
        table["itself"] = np.sqrt(mean["between even and odd seeds"] / mean["between odd seeds"])
    return pd.DataFrame(table)


def score_table(results: pd.DataFrame) -> pd.DataFrame:
    """Mean scores after either engine, and differences with standard errors: of the engines, of missingpy's seeds."""
    found = results[results["measure"].str.startswith("score")]
    keys = ["dataset", "measure", "regime", "draw"]
    cells = found.pivot_table(index=keys, columns="item", values="value", sort=False)
    of_missingpy = found[found["item"] == "missingpy"]
    halves = of_missingpy.assign(odd=of_missingpy["seed"] % 2 == 1).pivot_table(
        index=keys, columns="odd", values="value", sort=False
    )
    cells["difference"] = cells["fast"] - cells["missingpy"]
    cells["seeds"] = halves[False] - halves[True]
    groups = cells.groupby(["dataset", "measure"], sort=False)
    table, errors = groups.mean(), groups.sem()
    table.insert(3, "± engines", errors["difference"])
    return table.assign(**{"± seeds": errors["seeds"], "cells": groups.size()})


def rows_table(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Seconds of the fast engine on growing parts of a data set; one sweep, so that all do the same work."""
    X = corrupt(table, dataset, "nested", 0).stacked
    rows = []
    for n in (len(X) // 8, len(X) // 4, len(X) // 2, len(X)):
        imputer = fit_imputer(X[:n], max_iter=2, random_state=0)
        seconds = _least(lambda part=X[:n], imputer=imputer: imputer.transform(part))
        rows.append((n, seconds, 1000 * seconds / n * 1000))
    return pd.DataFrame(rows, columns=["rows", "seconds", "ms per 1000 rows"])


def forest_table(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Milliseconds of one forest, training and prediction, by the learners that were candidates for the engine."""
    parts = corrupt(table, dataset, "nested", 0)
    X = parts.stacked[:, (parts.stacked != 0).any(axis=0)]
    continuous = X[:, [len(np.unique(column[column != 0])) > 1 for column in X.T]]
    lost = continuous == 0
    filled = np.where(lost, np.nanmean(np.where(lost, np.nan, continuous), axis=0), continuous)
    known = ~lost[:, 0]
    features, target, new = filled[known, 1:], filled[known, 0], filled[~known, 1:]

    def scikit_learn() -> None:
        RandomForestRegressor(20, max_depth=3, n_jobs=1).fit(features, target).predict(new)

    def xgboost_histograms() -> None:
        matrix = xgboost.QuantileDMatrix(features, target, nthread=1)
        settings = {"max_depth": 3, "num_parallel_tree": 20, "learning_rate": 1, "reg_lambda": 0, "subsample": 0.632}
        xgboost.train({**settings, "nthread": 1}, matrix, 1).inplace_predict(new)

    columns = [bin_column(column) for column in filled[:, 1:].T]
    rows, by_column = np.flatnonzero(known), np.ascontiguousarray(new.T)

    def ours() -> None:
        bin_column(filled[:, 1])  # one column has changed since the last forest
        rng = np.random.default_rng(0)
        forest = grow_forest(columns, rows, NumericTarget(target), n_estimators=20, max_depth=3, rng=rng)
        forest.predict(by_column)

    timed = [(run.__name__, 1000 * _least(run)) for run in (scikit_learn, xgboost_histograms, ours)]
    return pd.DataFrame(timed, columns=["learner", "ms"])


def _least(run: Callable[[], object], repeats: int = 5) -> float:
    """Processor seconds of the least disturbed of some runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.missforest", description="Engines of MissForest.")
    parser.add_argument("--datasets", nargs="+", choices=TABLES, default=DATASETS, metavar="NAME")
    parser.add_argument("--regimes", nargs="+", choices=REGIMES, default=list(REGIMES), metavar="NAME")
    parser.add_argument("--cells", type=int, default=2, help="rate draws of each data set and regime")
    parser.add_argument("--seeds", type=int, default=2, help="seeds of each engine in a cell, at least 2")
    parser.add_argument("--time", action="store_true", help="seconds alone, one cell of each regime, one seed")
    parser.add_argument("--units", action="store_true", help="impute in other units with every seed")
    parser.add_argument("--distances", metavar="FILE", help="write the distances by column, as docs/missforest.csv has")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="store imputations there, and use what is stored")
    parser.set_defaults(timed="bank", columns=None)
    # missingpy's even seeds are compared with its odd ones from four on.
    toy = {"datasets": ["diabetes"], "regimes": ["free"], "cells": 1, "seeds": 4, "timed": "diabetes", "columns": 3}
    arguments = read_arguments(parser, argv, csv="write one row per cell, measure, item and seed", **toy)
    if "DAMS_DATA_DIR" not in os.environ and not arguments.toy:
        print("DAMS_DATA_DIR does not name the raw UCI files: they are downloaded", file=sys.stderr)
    tables = {name: load_table(name, arguments.columns) for name in arguments.datasets}
    if arguments.time:
        seconds = time_cells(tables, arguments.regimes)
        if arguments.csv:
            seconds.to_csv(arguments.csv, index=False, float_format="%.4g")
        print(speed_table(seconds).round(2).to_string())
        return
    results = measure(
        tables, arguments.regimes, arguments.cells, arguments.seeds, arguments.keep, units=arguments.units
    )
    if arguments.csv:
        results.to_csv(arguments.csv, index=False)
    distance = distance_table(results).round(3)
    if arguments.distances:
        distance.rename_axis(index={"item": "column"}).to_csv(arguments.distances)
    timed, title = (load_table(arguments.timed, arguments.columns), arguments.timed), title_of(arguments.timed)
    for heading, table in (
        ("Seconds a cell, one core", speed_table(results).round(2)),
        ("Distance between imputations", distance),
        ("MSE / Var(Y) after imputation", score_table(results).round(4)),
        (f"Seconds by rows ({title}, one sweep)", rows_table(*timed).round(3)),
        (f"One forest ({title}, the first column)", forest_table(*timed).round(1)),
    ):
        print(f"\n{heading}\n{table.to_string()}")


if __name__ == "__main__":
    main()
