"""What the two hospitals were asked, what was measured, and whether it came out as expected."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from dams.report.run_files import rows_of

# Bars that were fixed before the splits of the study were looked at.
LEAST_SHARE = {"target": 0.85, "source": 0.50}
MOST_EXCESS = 0.02
# A side of r that so many flags clearly lie on is no accident, as for the paper's own hospitals.
FEWEST_CLEAR = 0.05
# Adjusters that a user gets without choosing anything.
DEFAULTS = {"closed_form": "closed form", "two_way": "two-way", "nonparametric": "non-parametric"}


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
        *_shares(transplanted),
        *(_harm(transplanted, method, title) for method, title in DEFAULTS.items()),
        *_controls(linear[linear["masks"] == "ucar"]),
        *_natural(scores),
        *_both_directions(ratios),
    ]
    return pd.DataFrame([asdict(row) for row in found])


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


def _shares(shares: pd.DataFrame) -> list[Finding]:
    """The closed form's share of the gap on transplanted masks: one row per side, the lesser hospital's."""
    found = []
    for gets, least in LEAST_SHARE.items():
        part = shares[(shares["gets"] == gets) & (shares["method"] == "closed_form")]
        row = min(rows_of(part), key=lambda row: row["share"])
        question = (
            f"Transplanted masks, {gets} gets the patterns: share of the gap that the closed form closes, "
            f"less with patients of {row['hospital']}"
        )
        holds = _verdict(row["share"] >= least)
        found.append(Finding("bar", question, row["share"], row["lower"], row["upper"], f"at least {least:.0%}", holds))
    return found


def _harm(shares: pd.DataFrame, method: str, title: str) -> Finding:
    """The worst split of a method, relative to the source predictor's score."""
    part = shares[shares["method"] == method]
    row = max(rows_of(part), key=lambda row: row["worst_excess"])
    question = (
        f"Transplanted masks: the {title} adjustment's score over that of source, in the worst split "
        f"(patients of {row['hospital']}, {row['gets']} gets the patterns)"
    )
    worst = row["worst_excess"]
    return Finding("bar", question, worst, np.nan, np.nan, f"at most {MOST_EXCESS:.0%}", _verdict(worst <= MOST_EXCESS))


def _controls(shares: pd.DataFrame) -> list[Finding]:
    """The same on masks that keep the assumption."""
    found = []
    for gets, least in LEAST_SHARE.items():
        part = shares[(shares["gets"] == gets) & (shares["method"] == "closed_form")]
        row = min(rows_of(part), key=lambda row: row["share"])
        question = (
            f"Control, values lost independently at the same rates, {gets} loses: share of the gap that the closed "
            f"form closes, less with patients of {row['hospital']}"
        )
        holds = _verdict(row["share"] >= least)
        found.append(
            Finding("control", question, row["share"], row["lower"], row["upper"], f"at least {least:.0%}", holds)
        )
    return found


def _natural(scores: pd.DataFrame) -> list[Finding]:
    """The shift as it is: what the package's advice leads to, and the paper's claims about its hospitals repeated."""
    found = []
    linear = scores[scores["model"] == "linear"]
    for (source, target), part in linear.groupby(["source", "target"], sort=False):
        rows = {(row["method"], row["metric"]): row for row in rows_of(part)}
        for kind, question, key, expected in _NATURAL:
            row = rows[key]
            verdict = _judge(row["lower"], row["upper"], expected)
            limits = row["value"], row["lower"], row["upper"]
            found.append(Finding(kind, f"{source} to {target}: {question}", *limits, expected, verdict))
    return found


_NATURAL = [
    ("bar", "MSE/Var(Y) of what the package advises, over source", ("advised", "excess"), "not above 0"),
    ("analogue", "“source ranks best”, AUROC of closed form over source", ("closed_form", "auroc_gain"), "below 0"),
    (
        "analogue",
        "“source ranks best”, AUROC of non-parametric over source",
        ("nonparametric", "auroc_gain"),
        "below 0",
    ),
    ("analogue", "“the closed form hurts”, its MSE/Var(Y) over source", ("closed_form", "excess"), "above 0"),
    ("analogue", "“the oracle leads”, its AUROC over source", ("oracle", "auroc_gain"), "above 0"),
]


def _judge(lower: float, upper: float, expected: str) -> str:
    """Say whether an interval lies where it is expected."""
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
            f"above {FEWEST_CLEAR:.0%}",
            "supported" if clear.mean() > FEWEST_CLEAR else "not supported",
        )
        for side, clear in sides.items()
    ]
