"""Scores of probabilistic predictions with intervals over resampled patients.

Resampling rows or patients amounts to integer weights on the rows, so all replicates of a score are a few sums over one
sorted array instead of thousands of calls.
"""

from __future__ import annotations

import numpy as np

from dams.stats import Interval

Array = np.ndarray

METRICS = ("mse", "auroc", "auprc")


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
