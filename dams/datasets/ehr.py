"""Two hospitals that record the same patients' measurements at different rates, as two tables with a header line.

A patient has four latent traits, general severity and the states of kidneys, heart and inflammation; every visit has
its own around them. Laboratory values, vital signs, diagnoses and drugs depend on the traits, and so do both outcomes,
partly through thresholds and products, so that trees see more than a line does. All of this is one law in both
hospitals. What differs is recording: a panel of laboratory values is lost as one, everything else on its own, in each
hospital at rates of its own, some higher in the source and some higher in the target. Sex, age and the kind of
admission come from the registration desk and are never lost.

    scenario     what the target does besides losing values at random
    "ucar"       nothing: the assumptions of the estimators hold
    "outcome"    keeps each value of a patient with a bad outcome twice as often as one of others, as far as its rates
                 allow: loss depends on the outcome, which no look at covariates finds
    "mix"        admits three women to every man, where the source admits as many of either
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from dams._files import whole_file, write_json
from dams.datasets.ehr_names import EHRScenario, Outcome

Array = np.ndarray

PANELS = {
    "metabolic": ("sodium", "potassium", "chloride", "bicarbonate", "urea", "creatinine", "glucose"),
    "blood_count": ("haemoglobin", "haematocrit", "platelets", "leukocytes", "erythrocytes", "mcv"),
    "liver": ("bilirubin", "albumin", "alt", "ast", "alkaline_phosphatase", "ggt"),
    "coagulation": ("inr", "ptt", "fibrinogen", "d_dimer"),
    "blood_gas": ("ph", "pco2", "po2", "lactate", "base_excess"),
    "inflammation": ("crp", "procalcitonin", "ferritin"),
    "cardiac": ("troponin", "bnp", "ck", "ck_mb"),
    "thyroid": ("tsh", "t3", "t4"),
    "lipids": ("cholesterol", "hdl", "ldl", "triglycerides"),
    "minerals": ("calcium", "magnesium", "phosphate"),
    "urine": ("urine_protein", "urine_glucose", "urine_ketones", "urine_density", "urine_leukocytes"),
}
VITALS = ("pulse", "systolic", "diastolic", "temperature", "respiration", "saturation", "weight", "pain")
DIAGNOSES = (
    *("diabetes", "hypertension", "heart_failure", "copd", "cancer", "stroke", "dementia"),
    *("kidney_disease", "liver_disease", "depression", "asthma", "smoker"),
)
DRUGS = ("antibiotics", "opioids", "diuretics", "insulin", "vasopressors", "sedatives", "steroids")
REGISTERED = ("sex", "age", "admission")
ADMISSIONS = ("elective", "emergency", "transfer")
PATIENT = "patient"
# A drawn rate of loss: measurements that are asked for, and what is written down by itself.
MOST_LOST = 0.7
# Rows of target_labelled.csv.
LABELLED = 500
# The law of the patients is drawn once and for all, so that seeds give other samples of one law and other rates.
LAW = 20_230_425


@dataclass(frozen=True, repr=False)
class EHR:
    """Result of `simulate_ehr`.

    Attributes
    ----------
    source : DataFrame
        `patient`, 80 columns and the outcome, which is named last.
    target : DataFrame
        `patient` and the same 80 columns.
    target_outcome : Series
        The outcomes of the target's rows, which a real target would not have.
    outcome : str
        The name of the outcome's column.
    column_groups : list of lists of str
        Columns that are lost together.
    always_recorded : list of str
    rates : DataFrame
        One row per unit that is lost as one: `columns`, `m_source`, `m_target`.
    """

    source: pd.DataFrame
    target: pd.DataFrame
    target_outcome: pd.Series
    outcome: str
    column_groups: list[list[str]]
    always_recorded: list[str]
    rates: pd.DataFrame

    def write(self, folder: str | Path) -> None:
        """Write source.csv, target.csv, target_outcomes.csv and truth.json into a folder, which is made if needed.

        target_labelled.csv has the first rows of the target with their outcomes, as if somebody had looked them up.
        """
        tables = {
            "source.csv": self.source,
            "target.csv": self.target,
            "target_labelled.csv": self.target.assign(**{self.outcome: self.target_outcome})[:LABELLED],
            "target_outcomes.csv": self.target[[PATIENT]].assign(**{self.outcome: self.target_outcome}),
        }
        for name, table in tables.items():
            with whole_file(Path(folder) / name) as partial:
                table.to_csv(partial, index=False)
        truth = {"column_groups": self.column_groups, "always_recorded": self.always_recorded}
        write_json({**truth, "rates": self.rates.to_dict("records")}, Path(folder) / "truth.json")


def simulate_ehr(
    n_source: int = 60_000,
    n_target: int = 60_000,
    *,
    outcome: Outcome = "days",
    scenario: EHRScenario = "ucar",
    random_state: int = 0,
) -> EHR:
    """Draw the tables of two hospitals: 80 columns, several visits per patient, panels lost together, r of both signs.

    Parameters
    ----------
    n_source, n_target : int
        Rows: visits. A patient has two on average.
    outcome : "days" or "died"
        Length of the stay, a number, or whether it ended with death, "yes" or "no".
    scenario : "ucar", "outcome" or "mix"
        What differs between the hospitals; described at the top of this module.
    random_state : int
        Seed of patients, rates and losses.

    Returns
    -------
    EHR
        Both tables, the truth behind them, and `write`.

    Examples
    --------
    >>> from dams.datasets import simulate_ehr
    >>> made = simulate_ehr(500, 300)
    >>> made.source.shape, made.target.shape, made.outcome
    ((500, 82), (300, 81), 'days')
    """
    for name, value, known in (("outcome", outcome, get_args(Outcome)), ("scenario", scenario, get_args(EHRScenario))):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")
    rng = np.random.default_rng(random_state)
    units = [list(panel) for panel in PANELS.values()] + [[name] for name in (*VITALS, *DIAGNOSES, *DRUGS)]
    m_source, m_target = rng.uniform(0, MOST_LOST, (2, len(units))).round(3)
    tables, outcomes = [], []
    for place, n, rates in (("s", n_source, m_source), ("t", n_target, m_target)):
        women = 0.75 if scenario == "mix" and place == "t" else 0.5
        clean, results = _draw_visits(n, place, women, rng)
        worse = results["died"] == "yes" if scenario == "outcome" and place == "t" else None
        tables.append(_lose(clean, units, rates, worse, rng))
        outcomes.append(results[outcome])
    return EHR(
        source=tables[0].assign(**{outcome: outcomes[0]}),
        target=tables[1],
        target_outcome=outcomes[1],
        outcome=outcome,
        column_groups=[unit for unit in units if len(unit) > 1],
        always_recorded=list(REGISTERED),
        rates=pd.DataFrame({"columns": units, "m_source": m_source, "m_target": m_target}),
    )


def _draw_visits(n: int, place: str, women: float, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what is true of n visits, and their outcomes."""
    law = np.random.default_rng(LAW)
    visits = rng.integers(1, 4, size=n)
    patient = np.repeat(np.arange(n), visits)[:n]
    n_patients = int(patient.max(initial=-1)) + 1
    woman = (rng.random(n_patients) < women)[patient]
    age = np.clip(rng.normal(62, 17, n_patients), 18, 98).round()[patient]
    traits = 0.8 * rng.normal(size=(n_patients, 4))[patient] + 0.6 * rng.normal(size=(n, 4))
    severity = traits[:, 0] + 0.5 * (age - 62) / 17
    states = np.column_stack([severity, traits[:, 1:], 0.5 * woman])
    admission = np.where(rng.random(n) < expit(severity - 1), 1, np.where(rng.random(n) < 0.15, 2, 0))

    columns: dict[str, Any] = {
        PATIENT: np.char.add(place, patient.astype(str)),
        "sex": np.where(woman, "F", "M"),
        "age": age,
        "admission": np.asarray(ADMISSIONS)[admission],
    }
    for number, panel in enumerate(PANELS.values()):
        for name in panel:
            loads = law.normal(0, 0.2, 5)
            loads[number % 4] += law.choice([-0.45, 0.45])
            logs = law.normal(1.0, 0.5) + states @ loads + 0.35 * rng.normal(size=n)
            columns[name] = np.maximum(np.exp(logs).round(2), 0.01)
    for name in VITALS:
        logs = law.normal(1.0, 0.5) + states @ law.normal(0, 0.25, 5) + 0.35 * rng.normal(size=n)
        columns[name] = np.maximum(np.exp(logs).round(2), 0.01)
    for name in DIAGNOSES:
        chance = expit(law.uniform(-2, -0.5) + states @ law.normal(0, 0.8, 5))
        columns[name] = (rng.random(n) < chance).astype(float)
    for name in DRUGS:
        columns[name] = rng.poisson(np.exp(law.uniform(-1, 0.3) + states @ law.normal(0, 0.5, 5))).astype(float)
    kidneys, heart, inflamed = traits[:, 1:].T
    burden = severity + 0.7 * kidneys + 0.6 * heart + 0.8 * inflamed
    burden = burden + 1.2 * (severity > 0.8) * (inflamed > 0) + 0.4 * kidneys * heart + 0.4 * (admission == 1)
    days = np.maximum(6 + 2.2 * burden + 1.5 * rng.normal(size=n), 0.1).round(1)
    died = np.where(rng.random(n) < expit(1.3 * burden - 3), "yes", "no")
    return pd.DataFrame(columns), pd.DataFrame({"days": days, "died": died})


def _lose(
    clean: pd.DataFrame, units: list[list[str]], rates: Array, worse: Any, rng: np.random.Generator
) -> pd.DataFrame:
    """Set the values of each unit to zero at its rate; where `worse` says so, half as often as elsewhere."""
    table = clean.copy()
    for unit, rate in zip(units, rates, strict=True):
        by_row = np.full(len(table), rate)
        if worse is not None:
            # Twice as often kept, and the others so that the rate is right on average.
            share = float(worse.mean())
            kept = min(2 * (1 - rate), 1.0)
            by_row = np.where(worse, 1 - kept, 1 - (1 - rate - share * kept) / (1 - share))
        lost = rng.random(len(table)) < by_row
        table.loc[lost, unit] = 0.0
    return table
