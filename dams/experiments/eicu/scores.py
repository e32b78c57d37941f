"""Scores of probabilistic predictions with intervals over resampled patients.

Resampling rows or patients amounts to integer weights on the rows, so all replicates of a score are a few sums over one
sorted array instead of thousands of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from dams.experiments.seeding import generator
from dams.stats import Interval, percentile_interval

Array = np.ndarray

METRICS = ("mse", "auroc", "auprc")
# What a row of results is about, and what it says; a row without a value says in `failure` why.
COLUMNS = ["variant", "source", "target", "method", "metric", "value", "lower", "upper", "n_test", "failure"]


@dataclass(frozen=True)
class Predicted:
    """Predictions of a method, trained on `source`, for the test patients of `target`, or why there are none."""

    method: str
    source: str
    target: str
    y: Array
    groups: Array
    prediction: Array | None
    failure: str = ""


def score_predictions(
    predicted: Sequence[Predicted], *, replicates: int = 2000, confidence: float = 0.95, random_state: int = 0
) -> pd.DataFrame:
    """Score predictions with intervals over resampled patients; columns `COLUMNS`."""
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for target, part in _by_target(predicted):
            weights = _resamples(part[0], target, replicates, random_state)
            for one in part:
                about = {"variant": "corrected", "method": one.method, "n_test": len(one.y), "failure": one.failure}
                about |= {"source": one.source, "target": one.target}
                if one.prediction is None:
                    rows += [about | {"metric": metric} for metric in METRICS]
                else:
                    scores = score_with_interval(one.y, one.prediction, weights, confidence)
                    rows += [about | {"metric": metric, **_columns(score)} for metric, score in scores.items()]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def paired_differences(
    predicted: Sequence[Predicted], *, replicates: int = 2000, confidence: float = 0.95, random_state: int = 0
) -> pd.DataFrame:
    """Score of every method minus that of every other one on the same target, over the same resampled patients.

    What makes a patient hard to predict for both cancels, so these intervals are narrower than the difference of two.
    Columns: source, target, method, minus, metric, value, lower, upper.
    """
    rows = []
    with threadpool_limits(1):
        for target, part in _by_target(predicted):
            weights = _resamples(part[0], target, replicates, random_state)
            weights = np.concatenate([np.ones((1, weights.shape[1])), weights])
            scored = [
                (one, weighted_scores(one.y, one.prediction, weights)) for one in part if one.prediction is not None
            ]
            for (first, ours), (second, theirs) in permutations(scored, 2):
                # The oracle has no source of its own; two others are compared where they were trained alike.
                if "oracle" in (first.method, second.method) or first.source == second.source:
                    source = second.source if first.method == "oracle" else first.source
                    about = {"source": source, "target": target, "method": first.method, "minus": second.method}
                    for metric in METRICS:
                        difference = ours[metric] - theirs[metric]
                        interval = percentile_interval(float(difference[0]), difference[1:], confidence=confidence)
                        rows.append(about | {"metric": metric, **_columns(interval)})
    return pd.DataFrame(rows, columns=["source", "target", "method", "minus", "metric", "value", "lower", "upper"])


def _by_target(predicted: Sequence[Predicted]) -> list[tuple[str, list[Predicted]]]:
    targets = dict.fromkeys(one.target for one in predicted)
    return [(target, [one for one in predicted if one.target == target]) for target in targets]


def _resamples(predicted: Predicted, target: str, replicates: int, random_state: int) -> Array:
    """Weights of the test patients; the same for every method and every quantity."""
    return resample_patients(predicted.groups, replicates, generator(random_state, "eicu", "bootstrap", target))


def _columns(interval: Interval) -> dict[str, float]:
    return {"value": interval.mean, "lower": interval.lower, "upper": interval.upper}


def resample_patients(groups: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Weights of the rows, (replicates, n), when patients are drawn with replacement and bring all their stays."""
    _, patient = np.unique(groups, return_inverse=True)
    n = int(patient.max()) + 1
    return rng.multinomial(n, np.full(n, 1 / n), replicates)[:, patient]


def score_with_interval(y: Array, prediction: Array, weights: Array, confidence: float) -> dict[str, Interval]:
    """Each metric on the rows as they are, with a percentile interval over the rows of `weights`.

    Resamples with one class only have no AUROC or AUPRC and are passed over.
    """
    prediction = np.asarray(prediction)
    if prediction.shape != y.shape:
        raise ValueError(f"Predictions must have the labels' shape {y.shape}, got {prediction.shape}.")
    if not np.isfinite(prediction).all():
        raise ValueError("Predictions must be finite: the fit has no stable solution.")
    values = weighted_scores(y, prediction, np.ones((1, len(y))))
    resampled = weighted_scores(y, prediction, weights)
    tail = (1 - confidence) / 2
    limits = {metric: np.nanquantile(resampled[metric], [tail, 1 - tail]) for metric in METRICS}
    return {m: Interval(float(values[m][0]), float(limits[m][0]), float(limits[m][1])) for m in METRICS}


def weighted_scores(y: Array, prediction: Array, weights: Array) -> dict[str, Array]:
    """MSE, AUROC and AUPRC (average precision) for each row of weights, (replicates, n); NaN where undefined.

    With the predictions in descending order and ties as one step, P_k and N_k being the positive and negative weight of
    step k: AUROC = Σ_k N_k (Σ_{l<k} P_l + P_k/2)/(P N), AUPRC = Σ_k (P_k/P) · Σ_{l≤k} P_l / Σ_{l≤k} (P_l + N_l).
    """
    weights = np.asarray(weights, dtype=float)
    order = np.argsort(-prediction, kind="stable")
    starts = np.flatnonzero(np.diff(prediction[order], prepend=np.inf))
    label, ranked = y[order], weights[:, order]
    positive = np.add.reduceat(ranked * label, starts, axis=1)
    negative = np.add.reduceat(ranked * (1 - label), starts, axis=1)
    found, wrong = positive.cumsum(axis=1), negative.cumsum(axis=1)
    P, N = found[:, -1], wrong[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        auroc = (negative * (found - positive / 2)).sum(axis=1) / (P * N)
        # A step that nothing of the resample reaches has no precision and no weight.
        precision = np.divide(found, found + wrong, out=np.zeros_like(found), where=found + wrong > 0)
        auprc = np.where(N > 0, (positive * precision).sum(axis=1) / P, np.nan)
    return {"mse": weights @ (prediction - y) ** 2 / weights.sum(axis=1), "auroc": auroc, "auprc": auprc}
