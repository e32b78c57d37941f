"""Diagnostics of a run: one cell of every regime, and the hospitals of eICU beside cohorts of known mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pandas as pd
from scipy import linalg
from threadpoolctl import threadpool_limits

from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.names import Scenario
from dams.datasets.eicu.simulator import simulate_eicu_table
from dams.diagnostics import check_ucar
from dams.estimators.adjusted_moments import adjust_moments
from dams.experiments.cells import Cell, build_cell, clean_table, sample_scenario
from dams.experiments.describe import describe_relative_missingness
from dams.experiments.design import Diagnosed, Label
from dams.experiments.records import as_text
from dams.experiments.seeding import generator
from dams.least_squares import correlation_form, least_squares
from dams.moments import relative_rates
from dams.relative import estimate_relative_missingness

# The covariates of a cell do not depend on its labels.
LABELS = (Label("random_linear"),)
# Stays of each cohort of known mechanism.
STAYS = 2000
# Families of checks that need no knowledge of the columns; a p-value each.
FAMILIES = ("pairs", "values", "bounds", "absences")
# What is kept of r: each feature is judged on its own here.
ABOUT_R = ["r", "lower", "upper", "q_source", "q_target", "improper"]
# Points of the curve that shows how the statistics are spread.
LEVELS = np.linspace(0, 8, 81)


def diagnose_cells(
    cells: list[Diagnosed], tables: Mapping[str, pd.DataFrame], *, confidence: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Look at cells; `tables` holds the prepared covariates of the data sets that are not sampled.

    Returns
    -------
    verdicts : DataFrame
        One row per cell: what `check_ucar` finds.
    summary : DataFrame
        One row per cell: signs and quartiles of r̂, the share of intervals that hold the true r (`covered`), and the
        condition and least eigenvalue, in correlation form, of the matrix that algorithm 2 inverts as printed.
    relative : DataFrame
        One row per feature: r̂ with its interval, and the true r.
    """
    verdicts, summary, relative = [], [], []
    # As in every job of the experiments: sums in another order would be other digits.
    with threadpool_limits(1):
        for wanted in cells:
            cell, names, true_r = _build(wanted, tables, seed)
            names = [as_text(name) for name in names]
            source, target = (pd.DataFrame(part.X, columns=names) for part in (cell.source_train, cell.target_train))
            rng = generator(seed, "diagnostics", *wanted.key.parts)
            verdicts.append(wanted.about | check(source, target, rng)[0])
            estimate = estimate_relative_missingness(source, target, confidence=confidence)
            features = estimate.to_frame()[ABOUT_R].reset_index()
            features["true_r"] = true_r
            covered = features["true_r"].between(features["lower"], features["upper"]).mean()
            beside_truth = {"features": len(features), "covered": covered} | _conditioning(cell)
            summary.append(wanted.about | beside_truth | describe_relative_missingness(features))
            relative.append(pd.DataFrame([wanted.about] * len(features)).join(features))
    return _table(verdicts), pd.DataFrame(summary), pd.concat(relative, ignore_index=True)


def _build(wanted: Diagnosed, tables: Mapping[str, pd.DataFrame], seed: int) -> tuple[Cell, list[str], np.ndarray]:
    """Build the cell as a job of the experiments would; name its features and say their true r."""
    key = wanted.key
    if wanted.rows:
        clean = sample_scenario(key, LABELS, seed=seed, rows=wanted.rows)
    else:
        clean = clean_table(tables[key.dataset], key.dataset, LABELS, seed=seed)
    cell = build_cell(key, LABELS, clean, seed=seed)
    rates = key.sampler.sample(len(clean.columns), generator(seed, "rates", *key.parts))
    kept = [name not in cell.dropped for name in clean.columns]
    return cell, list(np.array(clean.columns)[kept]), relative_rates(*rates)[kept]


def _conditioning(cell: Cell) -> dict[str, float]:
    moments = adjust_moments(cell.source_train.moments, cell.target_train.moments, cell.relative_missingness.r)
    scaled, _ = correlation_form(moments.covariance)
    return {"condition": least_squares(moments).condition, "least_eigenvalue": float(linalg.eigvalsh(scaled)[0])}


def check(source: Any, target: Any, rng: np.random.Generator) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return what `check_ucar` finds as one row, and its checks; where it can't tell, the row says why."""
    unknown = dict.fromkeys(("p_value", "first_suspect", "suspects", "checks", *(f"p_{family}" for family in FAMILIES)))
    row: dict[str, Any] = {"verdict": "", **unknown, "source_rows": source.shape[0], "target_rows": target.shape[0]}
    try:
        report = check_ucar(source, target, random_state=rng)
    except ValueError as error:
        return row | {"verdict": f"not checked: {error}"}, pd.DataFrame(columns=["kind", "z"])
    if report.checks.empty:
        return row | {"verdict": "not checked: too few values are observed together"}, report.checks
    row |= {"p_value": report.p_value} | {f"p_{family}": report.p_by_family[family] for family in FAMILIES}
    row |= {"suspects": len(report.suspects), "first_suspect": next(iter(report.suspects), None)}
    row |= {"verdict": "UCAR rejected" if report.rejected else "UCAR not rejected", "checks": len(report.checks)}
    return row, report.checks


def _table(verdicts: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows of `check`; counts stay whole numbers where some are not known."""
    return pd.DataFrame(verdicts).astype({"checks": "Int64", "suspects": "Int64"})


def diagnose_hospitals(table: FeatureTable, *, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Check the first two hospitals of a cohort, and those of simulated cohorts whose mechanism is known.

    Returns
    -------
    verdicts : DataFrame
        One row per cohort: what `check_ucar` finds.
    spread : DataFrame
        For every cohort and `level`, the share of pairs of features with |z| beyond it.
    """
    verdicts, spreads = [], []
    with threadpool_limits(1):
        cohorts = {"this run (simulated)" if table.simulated else "this run": table}
        for scenario in get_args(Scenario):
            drawn = int(generator(seed, "diagnostics", "eicu", scenario).integers(2**31))
            cohorts[f"simulated {scenario}"] = simulate_eicu_table(STAYS, scenario=scenario, random_state=drawn)
        for name, hospitals in cohorts.items():
            source, target = (_frame(hospitals.at(hospital)) for hospital in hospitals.hospitals[:2])
            row, checks = check(source, target, generator(seed, "diagnostics", "eicu", name))
            verdicts.append({"cohort": name, **row, "features": source.shape[1]})
            z = checks.loc[checks["kind"] == "pairs", "z"].abs().to_numpy()
            if len(z):
                share = (z[:, None] > LEVELS).mean(axis=0)
                spreads.append(pd.DataFrame({"cohort": name, "level": LEVELS.round(3), "share": share}))
    empty = pd.DataFrame(columns=["cohort", "level", "share"])
    return _table(verdicts), pd.concat(spreads, ignore_index=True) if spreads else empty


def _frame(table: FeatureTable) -> pd.DataFrame:
    return pd.DataFrame(table.X.toarray(), columns=table.names)
