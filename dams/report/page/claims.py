"""Claims as the page tells them: each with its measurements, and those that do not hold with what is known of why."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from dams.report.claims.verdicts import Verdict
from dams.report.page.markup import interval, interval_plot
from dams.report.paper import read_errata
from dams.report.run_files import rows_of

# Whose a claim is, as the page says it before its place.
KINDS = {
    "stated": "Stated by the paper. ",
    "reading": "Our reading of a table or figure. ",
    "print": "Printed number or formula. ",
    "ours": "Asked of our own estimator. ",
}
# Beyond this many rate draws a claim counts as too close to decide.
_TOO_MANY_DRAWS = 100_000


def claim_rows(claims: pd.DataFrame, findings: pd.DataFrame) -> list[dict[str, Any]]:
    """Give every claim the measurements that it rests on."""
    measured = defaultdict(list)
    for finding in rows_of(findings[findings["quantity"] != ""]):
        measured[finding["id"]].append(finding)
    rows = []
    for claim in rows_of(claims):
        closest = interval(*(claim[f"closest_{key}"] for key in ("value", "lower", "upper")))
        decided_by = to_decide(claim.get("closest_draws_to_decide", math.nan))
        expected = _expected(claim["closest_expected"])
        made = {"closest": closest, "closest_expected": expected, "to_decide": decided_by}
        rows.append({**claim, **made, "findings": _finding_rows(measured[claim["id"]])})
    return rows


def _expected(text: Any) -> Any:
    """Write an expectation of no difference at all as that."""
    return "0" if text == "within ±0" else text


def to_decide(draws: Any) -> str:
    """Return what would decide an undecided claim, as a sentence; empty where that is not known."""
    if not isinstance(draws, float) or math.isnan(draws):
        return ""
    if draws > _TOO_MANY_DRAWS:
        return f"It lies so close to the bound that {_TOO_MANY_DRAWS:,} rate draws would not decide it."
    return f"About {float(f'{draws:.2g}'):,.0f} rate draws would decide it."


def open_claims(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return claims that do not hold or are undecided, grouped by whose they are; an erratum is spelled out once."""
    named = read_errata()
    spelled: set[str] = set()
    open_verdicts = (Verdict.NOT_SUPPORTED.value, Verdict.UNDECIDED.value)
    groups = []
    for kind, title in KINDS.items():
        group = []
        for row in rows:
            if row["kind"] == kind and row["verdict"] in open_verdicts:
                ids = row["errata"].split()
                reasons = [(id, "" if id in spelled else named[id].what) for id in ids]
                spelled.update(ids)
                group.append({**row, "reasons": reasons})
        if group:
            groups.append((title.rstrip(". "), group))
    return groups


def _finding_rows(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write each measurement out and, unless all are exact, plot them on one scale."""
    plotted = [row for row in findings if row["upper"] > row["lower"]]
    bounds = [row[key] for row in plotted for key in ("lower", "upper", "at_least", "at_most")]
    finite = [bound for bound in bounds if bound is not None and math.isfinite(bound)]
    low, high = min(finite, default=math.nan), max(finite, default=math.nan)
    return [
        {
            **row,
            "expected": _expected(row["expected"]),
            "measured": interval(row["value"], row["lower"], row["upper"]),
            "plot": interval_plot(row, low, high) if row["upper"] > row["lower"] else "",
        }
        for row in findings
    ]
