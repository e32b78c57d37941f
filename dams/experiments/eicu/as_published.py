"""The eICU experiment as the paper's released notebook runs it: one function per slip.

To be read beside `dams.experiments.eicu.run`, which mends them. The table comes from
`dams.datasets.eicu.fiddle_as_published.load_fiddle_as_published`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dams.datasets.eicu.feature_table import FeatureTable
from dams.experiments.eicu.run import filter_to_target, hospital_label
from dams.experiments.eicu.scores import COLUMNS, METRICS, resample_patients, weighted_scores
from dams.experiments.seeding import generator
from dams.stats import Interval

Array = np.ndarray


def run_eicu_as_published(table: FeatureTable, *, replicates: int = 1000, random_state: int = 0) -> pd.DataFrame:
    """Score every method by the published protocol; rows as `run_eicu` returns them.

    The notebook has no imputed predictor; its constant is scored as the others are.
    """
    rows = []
    for target in table.hospitals:
        known = table.at(target)
        train, held_out = split_for_the_oracle_alone(known, generator(random_state, "eicu", "published split", target))
        rng = generator(random_state, "eicu", "published", target)
        oracle = partial(_score, "oracle", train, train, held_out, replicates, rng)
        rows += _result_rows(table, "oracle", target, target, len(held_out.y), oracle)
        for source in table.hospitals:
            if source != target:
                for method in ("source", "imputed", "closed_form", "nonparametric"):
                    score = partial(_score, method, table.at(source), known, known, replicates, rng)
                    rows += _result_rows(table, method, source, target, len(known.y), score)
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _result_rows(
    table: FeatureTable,
    method: str,
    source: int,
    target: int,
    n_test: int,
    score: Callable[[], dict[str, Interval]],
) -> list[dict[str, Any]]:
    """Rows of one method in one direction. A fit that fails is a result too, and the others go on."""
    about = {"variant": "as_published", "method": method, "n_test": n_test, "failure": ""}
    about |= {"source": hospital_label(table, source), "target": hospital_label(table, target)}
    try:
        intervals = score()
    except (ValueError, np.linalg.LinAlgError) as error:
        return [about | {"metric": metric, "failure": str(error)} for metric in METRICS]
    return [about | {"metric": m, "value": i.mean, "lower": i.lower, "upper": i.upper} for m, i in intervals.items()]


def _score(
    method: str,
    source: FeatureTable,
    target: FeatureTable,
    test: FeatureTable,
    replicates: int,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    if method == "imputed":
        prediction = np.full((len(test.y), 1), source.y.mean())
    elif method == "nonparametric":
        prediction = predict_filtered(source, target, test, rng)
    else:
        gram_of = target if method == "closed_form" else source
        prediction = predict_by_raw_inverse(source, gram_of, test)
    return score_as_published(method, prediction, test.y, replicates, rng)


def split_for_the_oracle_alone(table: FeatureTable, rng: np.random.Generator) -> tuple[FeatureTable, FeatureTable]:
    """Hold out a fifth of the rows, whoever the patients are, for the oracle only (E18).

    Every other method is tested on the whole target, the rows that estimated r included.
    """
    order = rng.permutation(len(table.y))
    cut = int(0.8 * len(order))
    return table.take(order[:cut]), table.take(order[cut:])


def score_as_published(
    method: str, prediction: Array, y: Array, replicates: int, rng: np.random.Generator
) -> dict[str, Interval]:
    """Score predictions of shape (n, 1): the non-parametric ones as they come, the others flattened."""
    nonparametric = method == "nonparametric"
    errors = broadcast_errors(prediction, y) if nonparametric else (prediction.ravel() - y) ** 2
    ranked = threshold(prediction.ravel()) if nonparametric else prediction.ravel()
    resampled = weighted_scores(y, ranked, resample_patients(np.arange(len(y)), replicates, rng))
    intervals = {"mse": interval_of_169_sigma(float(errors.mean()), float(errors.std() / np.sqrt(len(y))))}
    for metric in ("auroc", "auprc"):
        # The mean over resamples stands for the score itself.
        intervals[metric] = interval_of_169_sigma(
            float(np.nanmean(resampled[metric])), float(np.nanstd(resampled[metric]))
        )
    return intervals


def broadcast_errors(prediction: Array, y: Array) -> Array:
    """Subtract labels (n,) from predictions (n, 1), which gives all n² pairs (E11).

    Their mean square is Var(p) + Var(y) + (E p − E y)²: the covariance of prediction and label, all that a predictor is
    for, drops out.
    """
    return (prediction.reshape(-1, 1) - y) ** 2


def threshold(prediction: Array) -> Array:
    """Rank by whether the prediction exceeds one half, which few do where a tenth dies (E12)."""
    return (prediction > 0.5).astype(float)


def interval_of_169_sigma(value: float, sigma: float) -> Interval:
    """An interval of ± 1.69 σ, which covers 91 %, not 95 % (E13)."""
    return Interval(value, value - 1.69 * sigma, value + 1.69 * sigma)


def predict_by_raw_inverse(source: FeatureTable, gram_of: FeatureTable, test: FeatureTable) -> Array:
    """Closed form with the Gram matrix of `gram_of`; with the source's own it is least squares. Shape (n, 1)."""
    beta = raw_inverse_coefficients(source, gram_of)
    return test.X @ beta[1:, None] + beta[0]


def raw_inverse_coefficients(source: FeatureTable, gram_of: FeatureTable) -> Array:
    """Intercept and coefficients, (1 + d,), divided by every singular value, those of rounding noise too (E9, E19)."""
    q_source, q_target = (np.asarray(t.X.mean(axis=0)).ravel() for t in (source, gram_of))
    keep = np.concatenate([[1.0], q_target / np.maximum(q_source, 1e-9)])
    X_source, X_target = (np.column_stack([np.ones(len(t.y)), t.X.toarray()]) for t in (source, gram_of))
    u, singular, v = np.linalg.svd(X_target.T @ X_target / len(X_target))
    if (singular == 0).any():
        raise np.linalg.LinAlgError("The Gram matrix has a singular value of exactly 0; the published code gives up.")
    return v.T @ ((u.T @ (keep * (X_source.T @ source.y / len(source.y)))) / singular)


def predict_filtered(source: FeatureTable, target: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    """Least squares on filtered source rows, without columns that the filter left constant. Shape (n, 1)."""
    filtered = filter_to_target(source, target, rng)
    varying = np.flatnonzero(filtered.X.toarray().std(axis=0) > 0.001)
    return predict_by_raw_inverse(filtered.select(varying), filtered.select(varying), test.select(varying))


def shifted_coefficients(table: FeatureTable) -> pd.DataFrame:
    """`oracle_coefficients` with every coefficient one feature off (E14).

    The vector that starts with the intercept is zipped with the names: the first feature gets the intercept, and the
    last coefficient is left over.
    """
    first, second = (table.at(hospital) for hospital in table.hospitals[:2])
    q_1, q_2 = table.prevalence()[:2]
    return pd.DataFrame(
        {
            "beta_1": raw_inverse_coefficients(first, first)[:-1],
            "beta_2": raw_inverse_coefficients(second, second)[:-1],
            "q_1": q_1,
            "q_2": q_2,
            "ratio": q_2 / q_1,
        },
        index=pd.Index(table.names, name="feature"),
    )
