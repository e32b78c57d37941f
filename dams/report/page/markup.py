"""Pieces of a page: numbers as people read them, data frames as tables, verdicts as chips."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

# Longer texts than this may break into lines.
PROSE = 36
_SYMBOLS = {
    "supported": "✓",
    "not supported": "✕",
    "undecided": "?",
    "not testable here": "–",
    "holds": "✓",
    "fails": "✕",
}


def mathematics(text: str) -> Markup:
    """Set m^t and n_s with raised and lowered letters, and keep a relation of rates on one line."""
    safe = str(escape(text))
    safe = re.sub(r"\^([A-Za-z0-9]+)", r"<sup>\1</sup>", safe)
    safe = re.sub(r"(?<=[a-zA-ZβξΣ\]\u0303])_([a-z]{1,2})(?![A-Za-z0-9_])", r"<sub>\1</sub>", safe)
    return Markup(re.sub(r"mˢ ([≤?]) mᵗ", "mˢ\u00a0\\1\u00a0mᵗ", safe))


@dataclass(frozen=True)
class Cell:
    """Content of a cell, and the number by which it is sorted where there is one."""

    text: Any
    value: float | None = None
    look: str = ""


@dataclass(frozen=True)
class DataTable:
    """A data frame ready for the page."""

    heads: list[str]
    rows: list[list[Cell]]
    numeric: list[bool] = field(default_factory=list)


def data_table(frame: pd.DataFrame, heads: dict[str, str] | None = None) -> DataTable:
    """Show the columns named in `heads`, by these heads; by default all, by their names. What is empty is left out."""
    frame = frame.reset_index(drop=True)
    named = heads or {c: _head(str(c)) for c in frame.columns}
    chosen = {column: head for column, head in named.items() if frame[column].notna().any()}
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) and frame[c].dtype != bool for c in chosen]
    rows = [[cell(_as_expected(c, row)) for c in chosen] for row in frame.to_dict("records")]
    return DataTable(list(chosen.values()), rows, numeric)


def as_cards(html: str) -> Markup:
    """Name its column in every cell of a `Table`'s HTML, so that on a narrow page each row can become a card."""
    heads = [
        re.sub("<[^>]+>", ", ", head) for head in re.findall('<th scope="col">(.*?)</th>', html, flags=re.DOTALL)[1:]
    ]

    def name_cells(row: re.Match[str]) -> str:
        named = iter(heads)
        return re.sub("<td", lambda _: f'<td data-head="{next(named)}"', row[0])

    html = re.sub("<tr>.*?</tr>", name_cells, html, flags=re.DOTALL)
    return Markup(html.replace("<table>", '<table class="scores cards">', 1))


def _as_expected(column: str, row: dict[Any, Any]) -> Any:
    """Return a value of a row; what was measured of a share in per cent where a share in per cent was expected."""
    value = row[column]
    if column not in ("measured", "lower", "upper") or "%" not in str(row.get("expected")) or math.isnan(value):
        return value
    return Cell(f"{100 * value:.1f} %".replace(".0 %", " %").replace("-", "−"), value=value)


def _head(name: str) -> str:
    """A column's name in words; a single letter at its start is a symbol, which keeps its case."""
    words = name.replace("_", " ")
    return words if len(words.split(" ")[0]) == 1 else words.capitalize()


def cell(value: Any) -> Cell:
    """Format one value: numbers with a true minus, verdicts as chips, nothing as a dash."""
    if isinstance(value, Cell):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Cell("—", look="none")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int | float):
        return Cell(number(value), value=float(value))
    if value in _SYMBOLS:
        return Cell(chip(value))
    return Cell(mathematics(str(value)), look="prose" if len(str(value)) > PROSE else "")


def number(value: float) -> str:
    """Write a number as short as it can be read: three decimals, or powers of ten where those say nothing."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:.3f}" if 0.0005 <= abs(value) < 1e4 else f"{value:.1e}"
    return text.replace("-", "−")


def interval(value: float, lower: float, upper: float) -> str:
    """Write an estimate with its interval; alone where it is exact or none is known."""
    if math.isnan(lower) or lower == upper:
        return number(value)
    texts = [number(n) if max(abs(lower), abs(upper)) < 0.001 else f"{n:,.3f}" for n in (value, lower, upper)]
    return "{} ({} to {})".format(*(text.replace("-", "−") for text in texts))


def interval_plot(row: Mapping[str, Any], low: float, high: float) -> Markup:
    """Draw an interval on the scale from `low` to `high`, the region where the claim expects it shaded.

    It repeats numbers that stand beside it, so it is hidden from those who have the page read out.
    """
    width, height = 120, 14

    def x(value: float) -> float:
        return round(4 + (width - 8) * (min(max(value, low), high) - low) / (high - low), 1)

    left = 0 if row["at_least"] < low else x(row["at_least"])
    right = width if row["at_most"] > high else x(row["at_most"])
    return Markup(
        '<svg class="interval" aria-hidden="true" viewBox="0 0 {w} {h}" width="{w}" height="{h}">'
        '<rect x="{left}" width="{wide}" height="{h}"/>'
        '<path d="M{lower} 7H{upper}"/><circle cx="{value}" cy="7" r="3"/></svg>'
    ).format(
        w=width,
        h=height,
        left=left,
        wide=round(max(right - left, 1), 1),
        **{key: x(row[key]) for key in ("lower", "upper", "value")},
    )


def chip(verdict: str, *, brief: bool = False) -> Markup:
    """Show a verdict by word, sign and shape, so that it is clear without colour; if `brief`, the word is unseen."""
    kind = verdict.replace(" here", "").replace(" ", "-")
    word = Markup('<span class="unseen">{}</span>').format(verdict) if brief else verdict
    return Markup('<span class="chip {}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind, _SYMBOLS[verdict], word
    )
