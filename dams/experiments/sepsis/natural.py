"""From one hospital to the other as they are: scores of every predictor, with intervals over patients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from dams.datasets.sepsis.files import HOSPITALS
from dams.datasets.sepsis.patients import ALWAYS_RECORDED, SepsisTable
from dams.diagnostics import check_ucar
from dams.experiments.eicu.scores import resample_patients, weighted_scores
from dams.experiments.seeding import generator
from dams.experiments.sepsis.cells import natural_cell
from dams.experiments.sepsis.methods import METHODS, MODELS

Array = np.ndarray

COLUMNS = ["source", "target", "model", "method", "metric", "value", "lower", "upper", "choice", "failure"]
SCORES = ("mse", "auroc", "auprc", "calibration")
# Differences from the source predictor of the same model, on the same resampled patients.
DIFFERENCES = {"excess": "mse", "auroc_gain": "auroc", "auprc_gain": "auprc"}
METRICS = (*SCORES, *DIFFERENCES)
# Resamples that are scored at a time: with all of them at once a job would take 2 GB.
AT_ONCE = 250


def run_natural(
    table: SepsisTable,
    *,
    methods: Sequence[str] = tuple(METHODS),
    models: Sequence[str] = tuple(MODELS),
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Score every model and method from either hospital to the other.

    Parameters
    ----------
    table : SepsisTable
    methods, models : sequence of str
        Keys of `METHODS` and `MODELS`; methods that can't be used with a model are passed over.
    replicates : int
        Resamples of the test patients behind each interval.
    n_jobs : int
        Processes, of which each takes a direction; the results are the same.

    Returns
    -------
    DataFrame with the columns `COLUMNS`
        `mse` is the target's MSE/Var(Y), which for probabilities is the Brier score over that of the prevalence;
        `calibration` the slope of the labels on the predictions, 1 where these are neither too bold nor too timid;
        `excess` the MSE/Var(Y) over that of the same model's source predictor, negative where a method is better;
        `auroc_gain` and `auprc_gain` likewise, positive where it is better.
    """
    directions = list(permutations(HOSPITALS, 2))
    run = delayed(_run_direction)
    parts = Parallel(n_jobs=n_jobs)(
        run(table, source, target, methods, models, replicates, confidence, seed) for source, target in directions
    )
    return pd.DataFrame([row for part in parts for row in part], columns=COLUMNS)


def _run_direction(
    table: SepsisTable,
    source: str,
    target: str,
    methods: Sequence[str],
    models: Sequence[str],
    replicates: int,
    confidence: float,
    seed: int,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        cell = natural_cell(table, source, target, seed=seed)
        y = cell.test.y
        rng = generator(seed, "sepsis", "bootstrap", target)
        # One row per patient; the first is the sample as it is.
        weights = np.vstack([np.ones(len(y)), resample_patients(np.arange(len(y)), replicates, rng)])
        for model in models:
            reference: dict[str, Array] = {}
            for name in dict.fromkeys(("source", *methods)):
                if model not in METHODS[name].models:
                    continue
                about = {"source": source, "target": target, "model": model, "method": name, "failure": ""}
                try:
                    # What estimators warn of, laws that differ say, is the point of the study.
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = METHODS[name].predict(cell, MODELS[model]())
                except (ValueError, np.linalg.LinAlgError) as error:
                    rows += [about | {"metric": metric, "failure": str(error)} for metric in METRICS]
                    continue
                scores = _resampled(y, found.values, weights)
                reference = scores if name == "source" else reference
                # Where the source predictor itself failed, nothing can be measured by it.
                compared = {of: scores[metric] - reference[metric] for of, metric in DIFFERENCES.items() if reference}
                for metric, values in (scores | compared).items():
                    rows.append(about | _interval(metric, values, confidence) | {"choice": found.choice})
    return rows


def _resampled(y: Array, prediction: Array, weights: Array) -> dict[str, Array]:
    """Every score for each row of weights."""
    parts = [_score(y, prediction, weights[k : k + AT_ONCE]) for k in range(0, len(weights), AT_ONCE)]
    return {metric: np.concatenate([part[metric] for part in parts]) for metric in SCORES}


def _score(y: Array, prediction: Array, weights: Array) -> dict[str, Array]:
    scores = weighted_scores(y, prediction, weights)
    total = weights.sum(axis=1)
    mean_y, mean_f = weights @ y / total, weights @ prediction / total
    variance = weights @ y**2 / total - mean_y**2
    covariance = weights @ (y * prediction) / total - mean_y * mean_f
    spread = weights @ prediction**2 / total - mean_f**2
    return scores | {"mse": scores["mse"] / variance, "calibration": covariance / spread}


def _interval(metric: str, values: Array, confidence: float) -> dict[str, Any]:
    tail = (1 - confidence) / 2
    lower, upper = np.nanquantile(values[1:], [tail, 1 - tail])
    return {"metric": metric, "value": float(values[0]), "lower": float(lower), "upper": float(upper)}


def check_hospitals(table: SepsisTable, *, seed: int = 0) -> pd.DataFrame:
    """Ask `check_ucar` in both directions, without and with what is known of flags that are lost together."""
    rows = []
    for source, target in permutations(HOSPITALS, 2):
        cell = natural_cell(table, source, target, seed=seed)
        for known, groups in (("age and sex are always recorded", None), ("and flags go together", cell.column_groups)):
            report = check_ucar(
                cell.source.X,
                cell.target.X,
                always_recorded=ALWAYS_RECORDED,
                column_groups=groups,
                random_state=seed,
            )
            rows.append(
                {
                    "source": source,
                    "target": target,
                    "known": known,
                    "p_value": report.p_value,
                    "rejected": report.rejected,
                    "suspects": len(report.suspects),
                    "flags": len(cell.source.flags),
                    "population_differs": ", ".join(report.population_differs),
                }
            )
    return pd.DataFrame(rows)
