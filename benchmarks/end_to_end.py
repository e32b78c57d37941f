"""The paper's own methods on UCI cells, this project's way against the plain protocol, and what the whole costs.

python -m benchmarks.end_to_end [--cells N] [--datasets NAME ...] [--csv FILE] [--toy]

Plain protocol: for every β values are lost anew, missingpy imputes, and every method and model is one fit with library
defaults. Its seconds are measured for one β per cell; this project's for all of a cell. Both in turn, in processor
seconds on one core, and then multiplied by the design of config/paper.yaml: 20 draws × 5 β (50 × 10 for linear models
other than imputed) in two regimes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import xgboost
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from benchmarks.linear_sweep import closed_form, corrupt
from benchmarks.missforest import fit_imputer
from benchmarks.toy import TABLES, load_table, read_arguments
from dams.experiments.cells import split_rows
from dams.experiments.design import Block, CellKey, Fit
from dams.experiments.run import run_block
from dams.rates import FreeRates, NestedRates

REGIMES = {"nested": NestedRates(), "free": FreeRates()}
MODELS = {"linear": LinearRegression, "xgboost": lambda: xgboost.XGBRegressor(n_jobs=1), "mlp": MLPRegressor}
# Rate draws and β of the design, by model; those of imputed are the same for all.
DESIGN = {"linear": (50, 10), "xgboost": (20, 5), "mlp": (20, 5)}
IMPUTED = (20, 5)


def plain(table: pd.DataFrame, regime: str, seed: int) -> Iterator[tuple[str, str, float]]:
    """Yield step, model and seconds of the plain protocol for one draw and one β."""
    rng = np.random.default_rng(seed)
    X = table.to_numpy()
    rows = split_rows(len(X), rng)
    rates = REGIMES[regime].sample(X.shape[1], rng)
    start = time.process_time()
    y = X @ rng.uniform(0, 10, X.shape[1])
    source, _, target, test = (
        corrupt(X[part], m, rng) for part, m in zip(rows, np.repeat(rates, 2, axis=0), strict=True)
    )
    r = 1 - np.mean(target != 0, axis=0) / np.maximum(np.mean(source != 0, axis=0), 1 / len(source))
    filtered = corrupt(source, np.maximum(r, 0), rng)
    yield "corruption", "", time.process_time() - start
    start = time.process_time()
    stacked = np.concatenate([source, target])
    imputer = fit_imputer(stacked, engine="missingpy", all_missing="statistic", random_state=seed)
    both = imputer.transform(stacked)
    imputed_test = imputer.transform(test)
    yield "imputation", "", time.process_time() - start
    labels = {"source": y[rows[0]], "target": y[rows[2]]}
    training = {
        "oracle": (target, labels["target"], test),
        "source": (source, labels["source"], test),
        "nonparametric": (filtered, labels["source"], test),
        "imputed": (both[: len(source)], labels["source"], imputed_test),
    }
    for model, make in MODELS.items():
        for method, (X_train, y_train, X_test) in training.items():
            start = time.process_time()
            np.mean((make().fit(X_train, y_train).predict(X_test) - y[rows[3]]) ** 2)
            yield method, model, time.process_time() - start
    start = time.process_time()
    seen = (source != 0).any(axis=0)
    beta = closed_form(source[:, seen], labels["source"], target[:, seen])
    np.mean((beta[0] + test[:, seen] @ beta[1:] - y[rows[3]]) ** 2)
    yield "closed_form", "linear", time.process_time() - start


def ours(table: pd.DataFrame, dataset: str, regime: str, draw: int) -> Iterator[tuple[str, float]]:
    """Yield group of fits and seconds of this project for one draw with all its β."""
    cell = (CellKey(dataset, regime, None, REGIMES[regime], draw),)
    groups = {
        model: tuple(
            Fit(method, model, *DESIGN[model])
            for method in ("oracle", "source", "nonparametric", *(("closed_form",) if model == "linear" else ()))
        )
        for model in MODELS
    } | {"imputed": tuple(Fit("imputed", model, *IMPUTED) for model in MODELS)}
    for group, fits in groups.items():
        start = time.process_time()
        betas = max(fit.betas for fit in fits)
        run_block(Block("benchmark", dataset, group, 0, cell, fits, betas, ("random_linear",), 0, 2023), table)
        yield group, time.process_time() - start


def measure(tables: dict[str, pd.DataFrame], cells: int) -> pd.DataFrame:
    """Measure cells of both regimes in turn; one row per cell and step, `share` of a cell being multiplied later."""
    rows = []
    for dataset, table in tables.items():
        for number in range(cells):
            regime = list(REGIMES)[number % 2]
            where = {"dataset": dataset, "cell": number}
            rows += [
                {**where, "protocol": "plain", "step": s, "model": m, "seconds": t}
                for s, m, t in plain(table, regime, number)
            ]
            rows += [
                {**where, "protocol": "dams", "step": g, "model": "", "seconds": t}
                for g, t in ours(table, dataset, regime, number)
            ]
            print(f"{dataset}: cell {number + 1} of {cells}", flush=True)
    return pd.DataFrame(rows)


def extrapolate(rows: pd.DataFrame) -> pd.DataFrame:
    """Core-seconds of the whole design by data set; `plain_once` imputes once per draw, as this project does."""
    per_cell = rows.groupby(["dataset", "protocol", "step", "model"], sort=False)["seconds"].mean()
    table = []
    for dataset in rows["dataset"].unique():
        seconds = per_cell[dataset]
        fits = seconds["plain"]
        linear_draws, linear_betas = DESIGN["linear"]
        draws, betas = IMPUTED
        total = fits["corruption", ""] * linear_draws * linear_betas
        for (step, model), value in fits.items():
            if model:
                n_draws, n_betas = IMPUTED if step == "imputed" else DESIGN[model]
                total += value * n_draws * n_betas
        imputation = fits["imputation", ""] * draws
        groups = seconds["dams"].droplevel("model")
        cost = sum(groups[model] * DESIGN[model][0] for model in MODELS) + groups["imputed"] * draws
        regimes = len(REGIMES)
        table.append(
            {
                "dataset": dataset,
                "plain": regimes * (total + imputation * betas),
                "plain_once": regimes * (total + imputation),
                "dams": regimes * cost,
            }
        )
    table = pd.DataFrame(table)
    table.loc[len(table)] = ["all", *table[["plain", "plain_once", "dams"]].sum()]
    return table.assign(ratio=table["plain"] / table["dams"], ratio_once=table["plain_once"] / table["dams"])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.end_to_end", description=__doc__)
    parser.add_argument("--cells", type=int, default=2, help="cells a data set, of either regime in turn")
    parser.add_argument("--datasets", nargs="+", choices=TABLES, default=["thyroid", "adult", "bank"], metavar="NAME")
    parser.set_defaults(columns=None)
    toy = {"cells": 1, "datasets": ["diabetes"], "columns": 3}
    arguments = read_arguments(parser, argv, csv="write the core-seconds of the whole design", **toy)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rows = measure({name: load_table(name, arguments.columns) for name in arguments.datasets}, arguments.cells)
    print(rows.groupby(["dataset", "protocol", "step", "model"], sort=False)["seconds"].mean().round(3).to_string())
    table = extrapolate(rows)
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.4g")
    print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    main()
