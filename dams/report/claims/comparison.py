"""Every printed number beside ours: the difference, whether it lies in our interval, and what explains it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dams.datasets.registry import title_of
from dams.report.colours import BLUE, BROWN, GREEN, PINK, SKY, VERMILION
from dams.report.evidence import Evidence, NotTestable
from dams.report.figures import new_figure, say_what_lies_above, say_why_empty
from dams.report.paper import SYNTHETIC, read_errata, read_published
from dams.report.run_files import rows_of
from dams.stats import Interval, crossed_bootstrap

COLUMNS = [
    *("table", "dataset", "regime", "model", "source", "target", "metric", "method", "variant"),
    *("published", "published_lower", "published_upper", "measured", "lower", "upper"),
    *("difference", "inside", "errata", "explanation", "missing"),
]
# The shape tells the data sets apart as well.
LOOKS = {
    "redundant": (BLUE, "o"),
    "confounded": (SKY, "D"),
    "adult": (GREEN, "^"),
    "bank": (VERMILION, "s"),
    "thyroid": (PINK, "v"),
    "eicu": (BROWN, "P"),
}


def compare(evidence: Evidence) -> pd.DataFrame:
    """One row for every printed number of tables 1 and 2; for the closed form a second one, as published.

    `inside` says whether the printed number lies in our interval. `measured` is empty where the run has no such score,
    and `missing` then says why.
    """
    rows = [*_table1(evidence), *_eicu(evidence)]
    return pd.DataFrame([_compared(row) for row in rows], columns=COLUMNS)


def _table1(evidence: Evidence) -> Iterator[dict[str, Any]]:
    for printed in rows_of(read_published("table1")):
        for variant, method in _variants(printed["method"]):
            cell = {key: printed[key] for key in ("dataset", "regime", "model")}
            if printed["regime"] == "opposing":
                cell |= SYNTHETIC
            ours, missing = Interval(*[math.nan] * 3), ""
            try:
                (table,) = evidence.score_tables(cell, [method])
                options = evidence.bootstrap.options("comparison", *cell.values(), method)
                ours = crossed_bootstrap(table.to_numpy(), **options)
            except NotTestable as reason:
                missing = str(reason)
            if variant == "as_published" and missing:
                continue
            yield {"table": "table1", **printed, "variant": variant, "ours": ours, "missing": missing}


def _variants(method: str) -> list[tuple[str, str]]:
    """Name the methods of ours that answer to a printed one."""
    as_published = [("as_published", "closed_form_as_published")] if method == "closed_form" else []
    return [("corrected", method), *as_published]


def _eicu(evidence: Evidence) -> Iterator[dict[str, Any]]:
    measured = evidence.eicu
    for printed in rows_of(read_published("eicu")):
        found: list[dict[str, Any]] = []
        if not measured.empty:
            same = measured[["source", "target", "method", "metric"]].eq(
                [printed[key] for key in ("source", "target", "method", "metric")]
            )
            found = rows_of(measured[same.all(axis=1)])
        for row in found:
            ours = Interval(row["value"], row["lower"], row["upper"])
            about = {"variant": row["variant"], "ours": ours, "missing": evidence.eicu_departure}
            yield {"table": "eicu", **printed, **about}
        if not found:
            missing, nothing = "the eICU experiment is not part of this run", Interval(*[math.nan] * 3)
            yield {"table": "eicu", **printed, "variant": "corrected", "ours": nothing, "missing": missing}


def _compared(row: Mapping[str, Any]) -> dict[str, Any]:
    ours, printed = row["ours"], row["value"]
    # Where something is missing or not the paper's, our number is not held against the printed one.
    comparable = not row["missing"] and not math.isnan(ours.lower)
    inside = ours.lower <= printed <= ours.upper if comparable else None
    explained = [e for e in read_errata().values() if inside is False and e.concerns(row)]
    return {
        **{key: row.get(key) for key in COLUMNS[:9]},
        "published": printed,
        "published_lower": row["lower"],
        "published_upper": row["upper"],
        "measured": ours.mean,
        "lower": ours.lower,
        "upper": ours.upper,
        "difference": ours.mean - printed,
        "inside": inside,
        "errata": " ".join(erratum.id for erratum in explained),
        "explanation": "; ".join(erratum.explains for erratum in explained),
        "missing": row["missing"],
    }


def unlike_table1(comparison: pd.DataFrame, table1: pd.DataFrame) -> list[str]:
    """Data sets whose scores in a run's own table 1 are of another study than those that are compared.

    A comparison takes the study with the paper's settings that has the most entries, which need not be the table's.
    """
    for column, value in SYNTHETIC.items():
        table1 = table1[(table1["regime"] != "opposing") | (table1[column] == value)]
    where = ["dataset", "regime", "model", "method"]
    shown = table1.groupby(where)["mean"].first().rename("shown")
    ours = comparison[(comparison["table"] == "table1") & comparison["measured"].notna()]
    ours = ours.assign(method=ours["method"].where(ours["variant"] == "corrected", ours["method"] + "_as_published"))
    both = ours.join(shown, on=where, how="inner")
    differ = (both["shown"] - both["measured"]).abs() >= 0.0005
    return list(dict.fromkeys(both.loc[differ, "dataset"]))


def published_against_measured(comparison: pd.DataFrame) -> Figure:
    """One dot a number, printed across and measured up; on the diagonal they agree."""
    figure, axes = new_figure(1, 1, width=5.4, height=4.2)
    panel = axes[0, 0]
    shown = comparison[comparison["measured"].notna() & (comparison["table"] == "table1")]
    if shown.empty:
        panel.set_axis_off()
        say_why_empty(panel, "Nothing to compare: this run has none of\nthe scores that the paper prints in table 1.")
        return figure
    most = 2 * comparison["published"].max()
    kept = shown[shown["measured"] <= most]
    top = 1.08 * max([1.0, *kept["published"], *kept["measured"], *kept["upper"].dropna().clip(upper=most)])
    panel.plot([0, top], [0, top], color="0.35", linewidth=0.8, linestyle=":")
    handles = []
    for dataset, part in kept.groupby("dataset", sort=False):
        color, marker = LOOKS[str(dataset)]
        style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "", "markersize": 5, "alpha": 0.8}
        error = [part["measured"] - part["lower"].fillna(part["measured"])]
        error.append(part["upper"].fillna(part["measured"]) - part["measured"])
        panel.errorbar(part["published"], part["measured"], yerr=error, elinewidth=0.8, markeredgewidth=0, **style)
        handles.append(Line2D([], [], label=title_of(str(dataset)), **style))
    panel.set_xlim(0, top)
    panel.set_ylim(0, top)
    panel.set_xlabel("MSE/Var(Y) as printed")
    panel.set_ylabel("MSE/Var(Y) measured, with its interval")
    say_what_lies_above(panel, len(shown) - len(kept), int((kept["upper"] > top).sum()), side="left")
    if handles:
        figure.legend(handles=handles, loc="outside right upper")
    return figure
