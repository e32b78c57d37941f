"""The head of a page: a verdict in a few sentences, and table 1 with printed numbers beside measured ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dams.report.claims.comparison import AGREES, EXPLAINED, UNEXPLAINED, unlike_table1
from dams.report.claims.verdicts import Verdict
from dams.report.outputs.score_table import COLUMN, FEWER, column_heads, main_columns, score_sections
from dams.report.run_files import rows_of
from dams.report.scope import describe, title_of_method, title_of_model
from dams.report.summary import on_fewer_cells
from dams.report.tables import Table

# Which of several adjustments speaks for a column: the first that it has.
ADJUSTMENTS = ("closed_form", "nonparametric", "two_way")
# An adjustment that leaves more than this share of the gap in place, or adds to it, is worth a remark.
_LEFT = 1.0
# A mean that is higher than the source predictor's by this share is worth a remark.
_WORSE = 0.02
# Why an adjustment can do worse than none.
_REASONS = {
    "nonparametric": "it can only delete values, so it is no answer where the target records a feature better",
    "closed_form_as_published": "the matrix that it inverts need not be positive definite",
}
_FEWER = (
    f"{FEWER} Over fewer cells than the others, so never bold: the mean difference from the oracle in these cells, "
    "added to the oracle’s mean over all."
)
_ELSEWHERE = "Repeats, intervals and exact values are in the tables below."


def lead_table(summary: pd.DataFrame, comparison: pd.DataFrame) -> Table | None:
    """Table 1 with the printed number in small print beside each measured one; None without scores."""
    summary = main_columns(summary)
    if summary.empty:
        return None
    columns = summary[COLUMN].drop_duplicates()
    held = comparison[(comparison["quantity"] == "mean") & (comparison["variant"] == "corrected")]
    # Where the table is of another study than the comparison, as with fewer rows, its scores are not the paper's.
    held = held[known(held["status"]) & ~held["dataset"].isin(unlike_table1(comparison, summary))]
    where = ["dataset", "regime", "model", "method"]
    printed = {tuple(row[key] for key in where): row["published"] for row in rows_of(held)}
    # What is printed of the closed form stands beside the formula as printed, where there is that.
    for place in summary[summary["method"] == "closed_form_as_published"][where[:3]].itertuples(index=False):
        if (number := printed.pop((*place, "closed_form"), None)) is not None:
            printed[(*place, "closed_form_as_published")] = number
    beside = ", printed number in small print" if printed else ""
    fewer = bool(on_fewer_cells(summary).any())
    return Table(
        title=f"Target MSE/Var(Y){beside}; the best predictor of each block in bold, the oracle in grey.",
        heads=column_heads(columns),
        sections=score_sections(summary, columns, intervals=False, printed=printed, brief=True),
        data=summary,
        notes=[
            f"{_FEWER} {_ELSEWHERE}" if fewer else _ELSEWHERE,
            *_losses(summary),
        ],
    )


def _losses(summary: pd.DataFrame) -> list[str]:
    """Name where an adjustment does worse than none, one note per method; means over other cells are not compared."""
    compared = summary[~on_fewer_cells(summary)]
    where = [*COLUMN, "model"]
    source = compared[compared["method"] == "source"][[*where, "mean"]].rename(columns={"mean": "of_source"})
    compared = compared.merge(source, on=where)
    worse = compared[compared["mean"] > (1 + _WORSE) * compared["of_source"]]
    notes = []
    for method in ("closed_form", "closed_form_as_published", "nonparametric", "two_way"):
        places: dict[str, list[str]] = {}
        for row in rows_of(worse[worse["method"] == method]):
            scores = f"{title_of_model(row['model'])} {row['mean']:.3f} against {row['of_source']:.3f}"
            scope = {key: row[key] for key in COLUMN if key != "labels" and pd.notna(row[key])}
            places.setdefault(describe(scope), []).append(scores)
        if places:
            told = "; ".join(f"{place} ({', '.join(scores)})" for place, scores in places.items())
            reason = (
                f": {_REASONS[method]}" if method in _REASONS else ", where the rates are learned from too few rows"
            )
            notes.append(f"{_capital(title_of_method(method))} does worse than no adjustment on {told}{reason}.")
    return notes


def verdict_of(summary: pd.DataFrame, claims: pd.DataFrame, comparison: pd.DataFrame) -> list[str]:
    """Return about three sentences: which claims hold, which printed numbers are met, what adjusting gains."""
    sentences = [*_claims(claims), *_numbers(comparison), *_gains(main_columns(summary))]
    return sentences or ["The run has no scores yet."]


def _gains(summary: pd.DataFrame) -> list[str]:
    found = [row for row in map(_path, _places(summary)) if row] if len(summary) else []
    if not found:
        return []
    better = [row for row in found if row["left"] < 1]
    methods = dict.fromkeys(title_of_method(row["method"]) for row in found)
    text = f"Adjusting ({_joined(list(methods))}) beats the source predictor in {len(better)} of {len(found)} settings"
    text += " of linear models"
    largest = max(better, key=lambda row: row["source"] - row["adjusted"], default=None)
    sentences = [text + (f", by most on {_written(largest)}." if largest else ".")]
    lost = [row for row in found if row["left"] > _LEFT]
    if lost:
        some = "; ".join(_written(row) for row in lost[:3])
        sentences.append(f"It loses on {some}; the notes of table 1 say more.")
    return sentences


def _places(summary: pd.DataFrame) -> list[dict[str, Any]]:
    linear = summary[summary["model"] == "linear"]
    places = []
    for _, part in linear.groupby(COLUMN, sort=False, dropna=False):
        scores = {row["method"]: row for row in rows_of(part)}
        places.append({"scope": part.iloc[0][COLUMN].dropna().to_dict(), "scores": scores})
    return places


def _path(place: Mapping[str, Any]) -> dict[str, Any] | None:
    """Source, adjusted and oracle of one column, and which share of the gap is left."""
    scores = place["scores"]
    method = next((name for name in ADJUSTMENTS if name in scores), None)
    if method is None or "source" not in scores or "oracle" not in scores:
        return None
    source, adjusted, oracle = (scores[name]["mean"] for name in ("source", method, "oracle"))
    if any(math.isnan(value) for value in (source, adjusted, oracle)) or source <= oracle:
        return None
    left = (adjusted - oracle) / (source - oracle)
    names = {"source": source, "adjusted": adjusted, "oracle": oracle, "left": left, "method": method}
    return {"scope": place["scope"], **names}


def _written(row: Mapping[str, Any]) -> str:
    return (
        f"{describe(row['scope'])} (source {row['source']:.3f} → {title_of_method(row['method'])} "
        f"{row['adjusted']:.3f} → oracle {row['oracle']:.3f})"
    )


def _claims(claims: pd.DataFrame) -> list[str]:
    tested = claims[claims["verdict"] != Verdict.NOT_TESTABLE.value]
    parts = []
    for kinds, which in (
        (("stated", "reading"), "of the paper's {} claims that this run can test"),
        (("print",), "of {} printed formulas, counts and columns of scores"),
    ):
        part = tested[tested["kind"].isin(kinds)]
        if len(part):
            parts.append(f"{which.format(len(part))}, {counted(part['verdict'])}")
    return [f"{_capital('; '.join(parts))}."] if parts else []


def counted(verdicts: pd.Series) -> str:
    """Return how many of the verdicts there are of each kind, as part of a sentence."""
    words = {
        Verdict.SUPPORTED.value: ("holds", "hold"),
        Verdict.NOT_SUPPORTED.value: ("does not", "do not"),
        Verdict.UNDECIDED.value: ("is undecided", "are undecided"),
    }
    counts = {verdict: int((verdicts == verdict).sum()) for verdict in words}
    if not counts[Verdict.SUPPORTED.value]:
        words[Verdict.NOT_SUPPORTED.value] = ("does not hold", "do not hold")
    return _joined([f"{count} {words[verdict][count > 1]}" for verdict, count in counts.items() if count])


def _numbers(comparison: pd.DataFrame) -> list[str]:
    means = comparison[(comparison["quantity"] == "mean") & (comparison["variant"] == "corrected")]
    counts = {name: int((means["status"] == name).sum()) for name in (AGREES, EXPLAINED, UNEXPLAINED)}
    total = sum(counts.values())
    if not total:
        return []
    words = {
        AGREES: "{} agree with ours within the sampling error of both runs",
        EXPLAINED: "{} differ for a reason that can be checked here",
        UNEXPLAINED: "{} differ for no known reason",
    }
    said = _joined([words[name].format(count) for name, count in counts.items() if count])
    return [f"Of {total} printed scores that can be compared, {said}."]


def known(texts: pd.Series) -> pd.Series:
    """Where a column of texts, which a file may hold as empty fields, says something."""
    return texts.notna() & (texts != "")


def _joined(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
