"""Pieces of a page: figures that blend in, numbers as people read them, data frames as tables."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

# Colours of a figure that follow the page, so that it reads as well on a dark one.
_THEMED = {
    "#ffffff": "var(--paper)",
    "#000000": "currentColor",
    "#e6e6e6": "var(--rule)",
    **dict.fromkeys(("#4c4c4c", "#595959", "#666666"), "var(--muted)"),
}
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


def inline_svg(text: str, *, prefix: str, label: str) -> Markup:
    """Prepare a figure of Matplotlib for a page that holds several.

    Ids that are needed become the prefix and a number, so that none occurs twice; colours of ink and paper follow the
    page; `label` is what a reader who can't see the figure is told; coordinates keep two decimals, a fiftieth of a
    pixel. A figure of thousands of points is mostly ids, decimals and styles said again: without them it has half the
    size.
    """
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    referred_to = set(re.findall(r'(?:url\(#|xlink:href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in referred_to else "", svg)
    numbers: dict[str, int] = {}
    svg = re.sub(
        r'(\bid="|url\(#|(?<=xlink:)href="#)([^")]+)',
        lambda found: f"{found[1]}{prefix}-{numbers.setdefault(found[2], len(numbers))}",
        svg,
    )
    svg = _without_repeated_styles(svg.replace("xlink:href", "href"))
    for color, themed in _THEMED.items():
        svg = svg.replace(color, themed)
    svg = re.sub(r'(?<= [dxy]=")[^"]+', lambda found: _shorten(found[0]), svg)
    svg = re.sub(r">\s+<", "><", svg)
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2])
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}" style="--width: {width / 0.75:.0f}px">'
    )
    return Markup(opening + svg[svg.index(">") + 1 :])


# A shape that marks are copies of, and a mark: what comes before the style, the id of the shape, the style if any.
_SHAPE = r'(<path id="([^"]+)" d="[^"]*")(?: style="([^"]*)")?/>'
_USE = r'(<use href="#([^"]+)"[^>]*?)(?: style="([^"]*)")?/>'


def _without_repeated_styles(svg: str) -> str:
    """Say a style where the shape is defined, and not at each of its uses, if all of them have the same."""
    styles: dict[str, set[str]] = {}
    for _, name, style in re.findall(_USE, svg):
        styles.setdefault(name, set()).add(style)
    # Where a shape has a style of its own, that one counts already.
    common = {
        name: min(styles[name])
        for _, name, style in re.findall(_SHAPE, svg)
        if len(styles.get(name, ())) == 1 and style in ("", *styles[name])
    }

    def define(found: re.Match[str]) -> str:
        return f'{found[1]} style="{common[found[2]]}"/>' if common.get(found[2]) else found[0]

    svg = re.sub(_SHAPE, define, svg)
    return re.sub(_USE, lambda found: f"{found[1]}/>" if found[2] in common else found[0], svg)


def _shorten(coordinates: str) -> str:
    rounded = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), coordinates)
    return " ".join(rounded.split())


def mathematics(text: str) -> Markup:
    """Set m^t and n_s with raised and lowered letters, and keep a relation of rates on one line."""
    safe = str(escape(text))
    safe = re.sub(r"\^([A-Za-z0-9]+)", r"<sup>\1</sup>", safe)
    safe = re.sub(r"(?<=[a-zA-ZβξΣ\]\u0303])_([a-z]{1,2})(?![A-Za-z0-9_])", r"<sub>\1</sub>", safe)
    return Markup(re.sub(r"mˢ ([≤?]) mᵗ", "mˢ\u00a0\\1\u00a0mᵗ", safe))


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the number by which it is sorted where there is one."""

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
    rows = [[cell(row[c]) for c in chosen] for row in frame.to_dict("records")]
    return DataTable(list(chosen.values()), rows, numeric)


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
    """Show a verdict by word, sign and shape, so that it is told without colour; if `brief`, the word is unseen."""
    kind = verdict.replace(" here", "").replace(" ", "-")
    word = Markup('<span class="unseen">{}</span>').format(verdict) if brief else verdict
    return Markup('<span class="chip {}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind, _SYMBOLS[verdict], word
    )
