"""Bars that were set before the study was run, and what it measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from dams.experiments.beyond.study import JUDGED, KEYS, LEVEL
from dams.experiments.beyond.summary import WORTH_IT

# Cells in which the assumptions hold.
_HOLDS = ("none", "ucar")
# Those in which age explains what differs.
_EXPLAINED = ("age", "population")
# Normal quantile of target_risk's intervals, of 95 %.
_QUANTILE = 1.96
# Scores that differ by less than this are equally good, as in docs/target_risk.md.
EQUALLY_GOOD = 0.005
# A score above so much of source's is harm.
HARM = 1.1


@dataclass(frozen=True)
class Finding:
    """A question, the number that answers it, from how many cells, what was expected, and whether it is so."""

    question: str
    measured: float
    cells: int
    expected: str
    verdict: str


def beyond_findings(scores: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Answer every bar from the scores, with those of what is followed, and the checks, one row each."""
    found = _followed(scores)
    if scores["mechanism"].isin(_HOLDS).any():
        under, checked = (frame[frame["mechanism"].isin(_HOLDS)] for frame in (scores, checks))
        found = [*_risk(under), *_anchors_cost(under), *_harm(under), *_levels(checked), *found]
    if (scores["mechanism"] == "age").any():
        by_age, checked = (frame[frame["mechanism"] == "age"] for frame in (scores, checks))
        found += [*_anchors_help(by_age), *_age_is_seen(checked)]
    explained = scores[scores["mechanism"].isin(_EXPLAINED)]
    if len(explained):
        found += _risk_given_age(explained)
    return pd.DataFrame([asdict(row) for row in found])


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


def _at_least(question: str, values: pd.Series, least: float) -> Finding:
    measured = float(values.mean()) if len(values) else np.nan
    verdict = _verdict(measured >= least) if len(values) else "not measured"
    return Finding(question, measured, len(values), f"at least {100 * least:.0f} %", verdict)


def _off(scores: pd.DataFrame, end: str = "") -> pd.Series:
    """How many standard errors target_risk's estimates are off, of which the truth, a sample too, has its part."""
    error = (scores[f"standard_error{end}"] ** 2 + scores["score_error"] ** 2) ** 0.5
    return (scores[f"estimate{end}"] - scores["score"]).abs() / error


def _covers(question: str, off: pd.Series) -> Finding:
    rate = float((off <= _QUANTILE).mean())
    return Finding(question, rate, len(off), "92 to 98 %", _verdict(0.92 <= rate <= 0.98))


def _risk(under: pd.DataFrame) -> list[Finding]:
    """The bars of target_risk, where its assumptions hold."""
    table = under.pivot(index=KEYS, columns="method", values="score")
    gap = (table["source"] - table["oracle"]).rename("gap")
    judged = under.dropna(subset=["estimate"]).merge(gap, left_on=KEYS, right_index=True)
    off = _off(judged)
    narrow = 2 * _QUANTILE * judged["standard_error"] < judged["gap"]
    lost = (table["chosen"] - table[list(JUDGED)].min(axis=1))[gap >= WORTH_IT]
    choice = "UCAR: target_risk's choice of source, filter, two-way and closed form is"
    return [
        _at_least(
            "UCAR: target_risk within two standard errors of the truth, where its interval is narrower than the gap",
            off[narrow] <= 2,
            0.90,
        ),
        _covers("UCAR: 95 % intervals of target_risk that hold the truth", off),
        _at_least(f"{choice} the very best", lost <= 0, 0.90),
        _at_least(f"{choice} within half a percent of Var(Y) of the best", lost <= EQUALLY_GOOD, 0.90),
    ]


def _risk_given_age(explained: pd.DataFrame) -> list[Finding]:
    """Intervals of target_risk where age explains what differs: with age as the anchor, and without."""
    what = "Loss by age, other population: 95 % intervals of target_risk that hold the truth"
    judged = explained.dropna(subset=["estimate"])
    return [
        _covers(f"{what}, with anchors", _off(explained.dropna(subset=["estimate_given_age"]), "_given_age")),
        _covers(f"{what}, without", _off(judged)),
    ]


def _excess(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores of both closed forms over that of the oracle, by cell."""
    table = scores.pivot(index=KEYS, columns="method", values="score")
    return table[["closed_form", "anchored"]].sub(table["oracle"], axis=0)


def _anchors_help(by_age: pd.DataFrame) -> list[Finding]:
    found = []
    for dataset, part in _excess(by_age).groupby("dataset", sort=False):
        ratio = float(part["anchored"].mean() / part["closed_form"].mean())
        question = f"Loss by age, {dataset}: excess over the oracle with anchors, over that of the plain closed form"
        found.append(Finding(question, ratio, len(part), "at most a fifth", _verdict(ratio <= 0.2)))
    return found


def _anchors_cost(under: pd.DataFrame) -> list[Finding]:
    excess = _excess(under)
    dearer = float((excess["anchored"] - excess["closed_form"]).groupby("dataset", sort=False).mean().max())
    question = "UCAR: score with anchors less that of the plain closed form, the worst data set"
    return [Finding(question, dearer, len(excess), "at most .003", _verdict(dearer <= 0.003))]


def _rejections(question: str, p_values: pd.Series) -> Finding:
    """Return the row on how often a check wrongly rejects, with two standard errors of a share of so many cells."""
    rate, n = float((p_values < LEVEL).mean()), len(p_values)
    most = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    return Finding(question, rate, n, f"at most {100 * most:.0f} %, by chance", _verdict(rate <= most))


def _levels(under: pd.DataFrame) -> list[Finding]:
    return [
        _rejections("UCAR: check_ucar rejects", under["p_value"]),
        _rejections("UCAR: check_ucar given age rejects", under["p_given_age"]),
    ]


def _age_is_seen(by_age: pd.DataFrame) -> list[Finding]:
    return [
        _at_least("Loss by age: check_ucar rejects", by_age["p_value"] < LEVEL, 0.90),
        _rejections("Loss by age: check_ucar given age rejects", by_age["p_given_age"]),
    ]


def _harmed(question: str, table: pd.DataFrame, method: str) -> Finding:
    rate = float((table[method] > HARM * table["source"]).mean())
    return Finding(f"{question}, above {HARM} × source", rate, len(table), "at most 5 %", _verdict(rate <= 0.05))


def _harm(under: pd.DataFrame) -> list[Finding]:
    table = under.pivot(index=KEYS, columns="method", values="score")
    return [
        _harmed("UCAR: the closed form", table, "closed_form"),
        _harmed("UCAR: the closed form with anchors", table, "anchored"),
    ]


def _followed(scores: pd.DataFrame) -> list[Finding]:
    table = scores.pivot(index=KEYS, columns="method", values="score")
    return [
        _harmed("All mechanisms: target_risk followed", table, "chosen"),
        _harmed("All mechanisms: target_risk with anchors followed", table, "chosen_given_age"),
        _harmed("All mechanisms: diagnostics followed", table, "advised"),
    ]
