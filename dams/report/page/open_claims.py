"""What does not hold, or is undecided: in which order, and how many draws would decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dams.report.claims.verdicts import Verdict
from dams.report.page.markup import number

# Kinds of claim as the page names them, the paper's own words first.
KINDS = {
    "stated": "Stated by the paper. ",
    "reading": "Our reading of a table or figure. ",
    "print": "A number or line of print. ",
    "ours": "Asked of our own estimator. ",
}
# Beyond this many rate draws no run decides a claim; the paper's has hundreds.
MOST_DRAWS = 100_000


def open_claims(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return what does not hold or is undecided, by kind and verdict: claims, and apart from them lines of print."""
    verdicts = [Verdict.NOT_SUPPORTED.value, Verdict.UNDECIDED.value]
    found = [row for row in rows if row["verdict"] in verdicts]
    found.sort(key=lambda row: (list(KINDS).index(row["kind"]), verdicts.index(row["verdict"])))
    printed = [row for row in found if row["kind"] == "print"]
    return {"claims": [row for row in found if row["kind"] != "print"], "print": printed}


def draws_needed(draws: float) -> str:
    """Return a sentence on how many rate draws would decide a claim; empty for NaN, a claim that is decided."""
    if math.isnan(draws):
        return ""
    if draws > MOST_DRAWS:
        return "The measurement lies on the bound: no number of rate draws that can be run would decide it."
    return f"About {number(int(draws))} rate draws would decide it."
