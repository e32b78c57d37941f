"""Transplanted and simulated masks: how much of the gap between source and oracle each method closes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from dams.datasets.sepsis.files import HOSPITALS
from dams.datasets.sepsis.patients import SepsisTable
from dams.experiments.sepsis.cells import HospitalCell, linear_labels, masked_cell
from dams.experiments.sepsis.methods import METHODS, MODELS
from dams.experiments.sepsis.other_methods import ADAPTERS
from dams.stats import Interval, percentile_interval, small_sample_stretch

# What a row is about, and what it says; a row without a score says in `failure` why.
COLUMNS = ["masks", "hospital", "gets", "labels", "split", "method", "score", "choice", "failure"]
SIDES = ("target", "source")
LABELS = ("linear", "sepsis")
# Methods that can't see losses, the two that they are measured by, and one that is given a few labels.
MASK_METHODS = (
    "oracle",
    "source",
    "advised",
    "closed_form",
    "closed_form_source",
    "closed_form_target",
    "closed_form_groups",
    "closed_form_panels",
    "nonparametric",
    "two_way",
    "two_way_panels",
    *ADAPTERS,
    "corrected",
)


def run_masks(
    table: SepsisTable,
    *,
    splits: int = 10,
    methods: Sequence[str] = MASK_METHODS,
    seed: int = 0,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Score every linear predictor on masks that are transplanted or drawn, one row per split, labels and method.

    Parameters
    ----------
    table : SepsisTable
    splits : int
        Splits of the patients, for each hospital, kind of mask and side that gets the masks.
    methods : sequence of str
        Keys of `METHODS`; oracle and source are needed for `gap_closed`.
    n_jobs : int
        Processes; the results are the same.

    Returns
    -------
    DataFrame with the columns `COLUMNS`; `score` is the target's MSE/Var(Y).
    """
    designs = product(("transplanted", "ucar"), HOSPITALS, SIDES, range(splits))
    parts = Parallel(n_jobs=n_jobs)(delayed(_run_split)(table, *design, methods, seed) for design in designs)
    return pd.DataFrame([row for part in parts for row in part], columns=COLUMNS)


def _run_split(
    table: SepsisTable, masks: Any, hospital: str, gets: Any, split: int, methods: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    about = {"masks": masks, "hospital": hospital, "gets": gets, "split": split}
    rows = []
    # Threads belong to the scheduler, and sums in another order would be other digits.
    with threadpool_limits(1):
        sepsis = masked_cell(table, hospital, masks, gets, split, seed=seed)
        linear = linear_labels(table.at(hospital), seed=seed, hospital=hospital, split=split)
        for labels, cell in (("linear", with_labels(sepsis, linear)), ("sepsis", sepsis)):
            rows += [about | {"labels": labels, **scored} for scored in _scores(cell, methods)]
    return rows


def with_labels(cell: HospitalCell, labels: pd.Series) -> HospitalCell:
    """Return the same patients with other labels, by the patients' numbers."""
    parts = (replace(rows, y=labels.loc[rows.X.index].to_numpy()) for rows in (cell.source, cell.target, cell.test))
    return HospitalCell(*parts)


def _scores(cell: HospitalCell, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    variance = cell.test.y.var()
    for name in methods:
        try:
            # Warnings of the estimators, as of rows without a column, are the point of the study.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = METHODS[name].predict(cell, MODELS["linear"]())
        except (ValueError, np.linalg.LinAlgError) as error:
            yield {"method": name, "failure": str(error)}
            continue
        score = float(np.mean((found.values - cell.test.y) ** 2) / variance)
        yield {"method": name, "score": score, "choice": found.choice, "failure": ""}


def gap_closed(
    records: pd.DataFrame, *, replicates: int = 2000, confidence: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Share of the gap between source and oracle that each method closes, with an interval over splits.

    One row per kind of mask, hospital, side, labels and method: the mean score, the share

        (mean score of source − mean score) / (mean score of source − mean score of oracle),

    its interval from resampled splits, the worst split, and by how much the worst split is above source, relative to
    the score of source: positive where adapting did harm.
    """
    keys = ["masks", "hospital", "gets", "labels"]
    rows = []
    for scope, part in records.groupby(keys, sort=False):
        scores = part.pivot(index="split", columns="method", values="score")
        source, gap = scores["source"], scores["source"] - scores["oracle"]
        for method in dict.fromkeys(part["method"]):
            gain = source - scores[method]
            share = _ratio_of_means(gain, gap, replicates=replicates, confidence=confidence, seed=seed)
            rows.append(
                dict(zip(keys, scope, strict=True))
                | {"method": method, "splits": int(gain.notna().sum()), "score": scores[method].mean()}
                | {"share": share.mean, "lower": share.lower, "upper": share.upper, "worst_share": (gain / gap).min()}
                | {"worst_excess": (-gain / source).max(), "gap": gap.mean()}
            )
    return pd.DataFrame(rows)


def _ratio_of_means(gain: pd.Series, gap: pd.Series, *, replicates: int, confidence: float, seed: int) -> Interval:
    """Mean gain over mean gap, with a percentile interval over resampled splits, stretched where these are few."""
    known = gain.notna() & gap.notna()
    over, under = gain[known].to_numpy(), gap[known].to_numpy()
    if not len(over):
        return Interval(np.nan, np.nan, np.nan)
    n = len(over)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), replicates)
    stretch = small_sample_stretch(over[:, None], confidence) if n > 1 else 1.0
    return percentile_interval(
        over.mean() / under.mean(), (weights @ over) / (weights @ under), confidence=confidence, stretch=stretch
    )
