"""Risks in the other hospital as the package estimates them without its labels, beside the true ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pandas as pd
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from dams.datasets.sepsis.files import HOSPITALS
from dams.datasets.sepsis.patients import SepsisTable
from dams.experiments.sepsis.cells import natural_cell
from dams.experiments.sepsis.methods import MODELS, compare_candidates


def estimate_risks(
    table: SepsisTable, scores: pd.DataFrame, *, models: Sequence[str] = tuple(MODELS), seed: int = 0, n_jobs: int = 1
) -> pd.DataFrame:
    """Estimate the risk of every candidate by `compare_target_risk`, one row per direction, model and candidate.

    Parameters
    ----------
    table : SepsisTable
    scores : DataFrame
        What `run_natural` returns, with the same seed.
    n_jobs : int
        Processes, of which each takes a direction; the results are the same.

    Returns
    -------
    DataFrame
        Columns: source, target, model, method, estimate, lower, upper (all over the source's Var(Y)), truth (over the
        target's), chosen, and `excess`, the true MSE/Var(Y) over that of the source predictor.
    """
    run = delayed(_compare_direction)
    found = Parallel(n_jobs=n_jobs)(
        run(table, source, target, models, seed) for source, target in permutations(HOSPITALS, 2)
    )
    keys = ["source", "target", "model", "method"]
    true = scores.pivot(index=keys, columns="metric", values="value")[["mse", "excess"]].reset_index()
    estimated = pd.DataFrame([row for part in found for row in part])
    return estimated.merge(true.rename(columns={"mse": "truth"}), on=keys, how="left")


def _compare_direction(
    table: SepsisTable, source: str, target: str, models: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = natural_cell(table, source, target, seed=seed)
        variance = cell.source.y.var()
        for model in models:
            comparison = compare_candidates(cell, MODELS[model]())
            for method, row in comparison.table.iterrows():
                about = {"source": source, "target": target, "model": model, "method": method}
                values = {name: row[name] / variance for name in ("estimate", "lower", "upper")}
                rows.append(about | values | {"chosen": method == comparison.choice})
    return rows
