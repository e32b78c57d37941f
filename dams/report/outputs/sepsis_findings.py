"""Findings on the two hospitals: what was asked and measured, and whether it came out as expected."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from dams.experiments.sepsis.methods import MODELS
from dams.report.run_files import rows_of

# Bars that were fixed before the splits of the study were looked at.
LEAST_SHARE = {"target": 0.85, "source": 0.50}
MOST_EXCESS = 0.02
# A side of r that so many flags clearly lie on is no accident, as for the paper's own hospitals.
FEWEST_CLEAR = 0.05
# What the package chooses by itself, and the other adjustments as they come.
CHOSEN = {"closed_form": "the closed form", "advised": "what target_risk chooses"}
DEFAULTS = {"two_way": "the two-way adjustment", "nonparametric": "the non-parametric adjustment"}


@dataclass(frozen=True)
class Finding:
    """A question, the number that answers it and what was expected of it; `kind` is "bar", "control" or "analogue"."""

    kind: str
    question: str
    measured: float
    lower: float
    upper: float
    expected: str
    verdict: str


def sepsis_findings(scores: pd.DataFrame, shares: pd.DataFrame, ratios: pd.DataFrame) -> pd.DataFrame:
    """Answer every question from what `run_natural`, `gap_closed` and `recording_ratios` return, one row each."""
    linear = shares[shares["labels"] == "linear"]
    transplanted = linear[linear["masks"] == "transplanted"]
    found = [
        *_shares(transplanted, "bar", "Transplanted masks"),
        *(_harm(transplanted, method, title) for method, title in (CHOSEN | DEFAULTS).items()),
        *_shares(linear[linear["masks"] == "ucar"], "control", "Lost independently at the same rates"),
        *_natural(scores),
        *_both_directions(ratios),
    ]
    return pd.DataFrame([asdict(row) for row in found])


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


def _shares(shares: pd.DataFrame, kind: str, masks: str) -> list[Finding]:
    """Shares of the gap that are closed: one row per side and method, the lesser hospital's."""
    found = []
    for gets, least in LEAST_SHARE.items():
        for method, title in CHOSEN.items():
            part = shares[(shares["gets"] == gets) & (shares["method"] == method)]
            row = min(rows_of(part), key=lambda row: row["share"])
            question = (
                f"{masks}, the {gets} loses: share of the gap that {title} closes (patients of {row['hospital']})"
            )
            limits = row["share"], row["lower"], row["upper"]
            found.append(
                Finding(kind, question, *limits, f"at least {100 * least:.0f} %", _verdict(row["share"] >= least))
            )
    return found


def _harm(shares: pd.DataFrame, method: str, title: str) -> Finding:
    """The worst split of a method, relative to the source predictor's score."""
    part = shares[shares["method"] == method]
    row = max(rows_of(part), key=lambda row: row["worst_excess"])
    question = (
        f"Transplanted masks: how far {title} is above the source predictor’s score, in the worst split "
        f"(patients of {row['hospital']}, the {row['gets']} loses)"
    )
    worst = row["worst_excess"] + 0.0  # not −0
    return Finding(
        "bar", question, worst, np.nan, np.nan, f"at most {100 * MOST_EXCESS:.0f} %", _verdict(worst <= MOST_EXCESS)
    )


def _natural(scores: pd.DataFrame) -> list[Finding]:
    """The shift as it is: what the package's advice leads to, and the paper's claims about its hospitals repeated."""
    found = []
    for (source, target), part in scores.groupby(["source", "target"], sort=False):
        rows = {(row["model"], row["method"], row["metric"]): row for row in rows_of(part)}
        for kind, question, key, expected in _NATURAL:
            row = rows[key]
            verdict = _judge(row["lower"], row["upper"], expected)
            limits = row["value"], row["lower"], row["upper"]
            found.append(Finding(kind, f"{source} to {target}: {question}", *limits, expected, verdict))
    return found


_RANKS = "“source ranks best”, AUROC of"
_NATURAL = [
    *(
        (
            "bar",
            f"MSE/Var(Y) of what target_risk chooses, minus that of source ({model})",
            (model, "advised", "excess"),
            "not above 0",
        )
        for model in MODELS
    ),
    ("analogue", f"{_RANKS} closed form minus source", ("linear", "closed_form", "auroc_gain"), "below 0"),
    ("analogue", f"{_RANKS} non-parametric minus source", ("linear", "nonparametric", "auroc_gain"), "below 0"),
    (
        "analogue",
        "“the closed form hurts”, its MSE/Var(Y) minus that of source",
        ("linear", "closed_form", "excess"),
        "above 0",
    ),
    ("analogue", "“the oracle leads”, its AUROC minus that of source", ("linear", "oracle", "auroc_gain"), "above 0"),
]


def _judge(lower: float, upper: float, expected: str) -> str:
    """Return the verdict on an interval: whether it lies where it is expected."""
    if expected == "not above 0":
        return _verdict(lower <= 0)
    if lower <= 0 <= upper:
        return "undecided"
    return "supported" if (lower > 0) == (expected == "above 0") else "not supported"


def _both_directions(ratios: pd.DataFrame) -> list[Finding]:
    """Shares of flags that one hospital clearly shows more, and that the other does."""
    first = ratios[ratios["source"] == ratios["source"].iloc[0]]
    target = first["target"].iloc[0]
    sides = {"more": first["lower"] > 1, "less": first["upper"] < 1}
    return [
        Finding(
            "analogue",
            f"“prevalences differ in both directions”, share of flags that {target} clearly shows {side}",
            clear.mean(),
            np.nan,
            np.nan,
            f"above {100 * FEWEST_CLEAR:.0f} %",
            "supported" if clear.mean() > FEWEST_CLEAR else "not supported",
        )
        for side, clear in sides.items()
    ]
