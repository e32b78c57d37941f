"""A comparison as a page: one file that needs no other, for people who were not there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import dams
from dams._page import make_environment
from dams.two_files.columns import DIFFERENT, LESS, MORE, NEVER_LOST, NOTHING, RECORDED, UNCLEAR
from dams.two_files.compare_text import SHOWN, counted, test_of
from dams.two_files.naming import count, printable
from dams.two_files.presence import most_varying
from dams.two_files.verdict import CANT_SEE, Verdict

if TYPE_CHECKING:
    from markupsafe import Markup

    from dams.two_files.comparison import Comparison

TITLES = {
    Verdict.NO_SHIFT: "No shift found",
    Verdict.POPULATION_SHIFT: "The populations differ",
    Verdict.MISSINGNESS_SHIFT: "Missingness shift",
    Verdict.REJECTED: "Loss at random is rejected",
}
LOOKS = {LESS: "less", NOTHING: "less", MORE: "more"}
# Checks of the test, and columns by anchor, that are shown.
CHECKS, BY_ANCHOR = 10, 8
# Letters of a name.
MOST_LETTERS = 200
# Size of a plot, and the margin within it.
WIDTH, MARGIN = 168, 6


def render(found: Comparison) -> str:
    """Return the page."""
    shows = found.columns["target_shows"]
    most = max(1, min(4, math.ceil(_furthest(found.columns))))
    rows = [_row(str(name), row, most) for name, row in found.columns.iterrows()]
    environment = make_environment(Path(__file__).parent)
    environment.filters["coded"] = coded
    return environment.get_template("compare.html.jinja").render(
        title=TITLES[found.verdict],
        found=found,
        version=dams.__version__,
        count=count(len(rows)),
        tiles={
            "the target shows less": int(shows.isin([LESS, NOTHING]).sum()),
            "the target shows more": int((shows == MORE).sum()),
            "no clear difference": int((shows == UNCLEAR).sum()),
            "never lost": int(shows.isin([NEVER_LOST, RECORDED]).sum()),
        },
        rows=rows,
        shown=SHOWN,
        rest=counted(shows.iloc[SHOWN:]),
        ticks=[{"at": _place(k, most), "label": _times(k)} for k in range(-most, most + 1)],
        width=WIDTH,
        test=test_of(found),
        checks=_checks(found),
        anchors=_by_anchor(found, most),
        confidence=f"{100 * found.relative.confidence:.3g}",
        cant_see=CANT_SEE,
    )


def coded(text: str) -> Markup:
    """Set what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup(f"<code>{part}</code>") if k % 2 else part for k, part in enumerate(parts))


def _name(name: object) -> str:
    return printable(str(name), MOST_LETTERS)


def number(value: float, digits: int = 3) -> str:
    """Write a number with a true minus; a dash where there is none."""
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "—"


def _row(name: str, row: pd.Series, most: int) -> dict[str, Any]:
    remark = "suspect" if row["suspect"] else "mix differs" if row["mix_differs"] else ""
    known = row["target_shows"] in (NEVER_LOST, RECORDED)
    return {
        "name": _name(name),
        "kind": row["kind"],
        "r": row["r"],
        "text": number(row["r"]),
        "interval": "" if known else f"{number(row['simultaneous_lower'])} to {number(row['simultaneous_upper'])}",
        "source_has": row["source_has"],
        "target_has": row["target_has"],
        "shows": row["target_shows"],
        "remark": remark,
        "look": LOOKS.get(row["target_shows"], "unclear"),
        "plot": None if known else _plot(row, most),
    }


def _plot(row: pd.Series, most: int) -> dict[str, float]:
    """Places on the scale of 1 − r, by powers of two: an interval, the wider one if there is one, and the estimate."""
    wide = ("simultaneous_lower", "simultaneous_upper") if "simultaneous_lower" in row else ("lower", "upper")
    names = {"at": "r", "low": "upper", "high": "lower", "lowest": wide[1], "highest": wide[0]}
    return {key: _place(_power(row[name]), most) for key, name in names.items()}


def _power(r: float) -> float:
    """log₂(1 − r)."""
    return math.log2(1 - r) if r < 1 else -math.inf


def _place(power: float, most: int) -> float:
    inside = min(max(power, -most), most)
    return round(MARGIN + (WIDTH - 2 * MARGIN) * (inside + most) / (2 * most), 1)


def _times(power: int) -> str:
    return {-4: "1/16", -3: "⅛", -2: "¼", -1: "½"}.get(power, f"{2**power:g}")


def _furthest(columns: pd.DataFrame) -> float:
    powers = [abs(_power(r)) for r in columns.loc[columns["target_shows"].isin(DIFFERENT), "r"] if r < 1]
    return max(powers, default=1.0)


def _checks(found: Comparison) -> list[dict[str, Any]]:
    """The checks that reject, the most significant first."""
    if found.report is None or not found.report.rejected:
        return []
    checks = found.report.checks
    off = checks[(checks["kind"] != "population") & (checks["p_value"] < found.report.alpha)].head(CHECKS)
    return [
        {
            "kind": row["kind"],
            "feature": _name(row["feature"]),
            "other": _name(row["other"]),
            "effect": number(row["effect"], 2),
            "interval": f"{number(row['effect_lower'], 2)} to {number(row['effect_upper'], 2)}",
            "z": number(row["z"], 1),
            "p": f"{row['p_value']:.2g}",
        }
        for row in off.to_dict("records")
    ]


def _by_anchor(found: Comparison, most: int) -> list[dict[str, Any]]:
    """Per anchor and column, of those that vary most: r and what both have, by level."""
    if found.presence.empty:
        return []
    names = most_varying(found.presence, BY_ANCHOR)
    shown = found.presence[found.presence["column"].isin(names)]
    return [
        {
            "anchor": _name(anchor),
            "columns": [
                {
                    "name": _name(name),
                    "levels": [
                        {
                            "level": _name(row["level"]),
                            "text": number(row["r"]),
                            "interval": f"{number(row['lower'])} to {number(row['upper'])}",
                            "source_has": row["source_has"],
                            "target_has": row["target_has"],
                            "plot": _plot(row, most),
                            "look": "less" if row["lower"] > 0 else "more" if row["upper"] < 0 else "unclear",
                        }
                        for _, row in part[part["column"] == name].iterrows()
                    ],
                }
                for name in names
            ],
        }
        for anchor, part in shown.groupby("anchor", sort=False)
    ]
