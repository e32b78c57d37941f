"""Figures as parts of a page: small, in its colours and its typeface, and cut into panels for narrow screens."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# Colours of a figure that follow the page, so that it reads as well on a dark one.
_THEMED = {
    "#ffffff": "var(--paper)",
    "#000000": "currentColor",
    "#e6e6e6": "var(--rule)",
    "#999999": "var(--faint)",
    **dict.fromkeys(("#4c4c4c", "#595959", "#666666"), "var(--muted)"),
}
# What every style says again, and what the page says once for all: see page.css.
_REPEATED = re.compile(
    r"font-family: [^;\"]+;? ?|; stroke-linejoin: (?:round|miter)|(?<=fill: none); stroke-linecap: butt"
)
# A line shorter than this, in points, is meant as a dot.
_DOT = 0.1
# Points of a tile beyond the box of what it shows.
_MARGIN = 2.0


def inline_svg(text: str, *, prefix: str, label: str) -> Markup:
    """Prepare a figure of Matplotlib for a page that holds several.

    Ids that are needed become the prefix and a number, so that none occurs twice; colours of ink and paper and the
    typeface follow the page; `label` is what a reader who can't see the figure is told. Coordinates keep two decimals,
    a fiftieth of a pixel. If the figure says where its panels are (`dams.report.figures.tiles_of`), views of each
    follow, of which a narrow page shows one below the other in place of the whole.
    """
    svg = text[text.index("<svg") :]
    told = re.search("<dc:description>(.*?)</dc:description>", svg)
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = _with_short_ids(svg, prefix)
    svg = _without_repeated_styles(svg.replace("xlink:href", "href"))
    svg = re.sub(r' style="([^"]*)"', lambda found: _style(found[1]), svg)
    for color, themed in _THEMED.items():
        svg = svg.replace(color, themed)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = re.sub(r'(?<= [dxy]=")[^"]+|(?<= transform=")[^"]+', lambda found: _shorten(found[0]), svg)
    svg = re.sub(r">\s+<", "><", svg)
    while "<g></g>" in svg or "<defs></defs>" in svg:
        svg = svg.replace("<g></g>", "").replace("<defs></defs>", "")
    # A group without attributes around one element says nothing.
    svg = re.sub(r"<g>(<(?:use|path|text|rect)\b[^<>]*(?:/>|>[^<]*</text>))</g>", r"\1", svg)
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2])
    content = svg[svg.index(">") + 1 : svg.rindex("</svg>")]
    tiles = [tuple(map(float, tile.split())) for tile in told[1].split("; ")] if told and told[1] else []
    kind = 'class="whole" ' if tiles else ""
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {kind}'
        f'aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}" style="--width: {width / 0.75:.0f}px">'
    )
    if not tiles:
        return Markup(f"{whole}{content}</svg>")
    views = "".join(_view(f"{prefix}-all", *tile) for tile in tiles)
    return Markup(f'{whole}<g id="{prefix}-all">{content}</g></svg><div class="panels">{views}</div>')


def _style(text: str) -> str:
    short = re.sub(" *([:;]) *", r"\1", _REPEATED.sub("", text)).strip(";")
    return f' style="{short}"' if short else ""


def _view(name: str, x: float, y: float, width: float, height: float) -> str:
    box = (x - _MARGIN, y - _MARGIN, width + 2 * _MARGIN, height + 2 * _MARGIN)
    view = " ".join(f"{number:.1f}" for number in box)
    return (
        f'<svg aria-hidden="true" viewBox="{view}" style="--width: {box[2] / 0.75:.0f}px"><use href="#{name}"/></svg>'
    )


def _with_short_ids(svg: str, prefix: str) -> str:
    referred_to = set(re.findall(r'(?:url\(#|xlink:href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in referred_to else "", svg)
    numbers: dict[str, int] = {}
    return re.sub(
        r'(\bid="|url\(#|(?<=xlink:)href="#)([^")]+)',
        lambda found: f"{found[1]}{prefix}-{numbers.setdefault(found[2], len(numbers))}",
        svg,
    )


# A shape that marks are copies of, and a mark: what comes before the style, the id of the shape, the style if any.
_SHAPE = r'(<path id="([^"]+)" d="[^"]*")(?: style="([^"]*)")?/>'
_USE = r'(<use href="#([^"]+)"[^>]*?)(?: style="([^"]*)")?/>'


def _without_repeated_styles(svg: str) -> str:
    """Move a style from the uses of a shape to its definition, if all of them have the same."""
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
    """Round coordinates, and let relative or shared letters stand for what a path says again."""
    rounded = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), coordinates)
    short = " ".join(rounded.split())
    # A dot: a line of a hundredth of a point, see `dams.report.figures.draw_dots`.
    short = re.sub(r"M (\S+) (\S+) L (\S+) \2(?= M|$)", _dot, short)
    short = re.sub(r" ?([MLCQZz]) ?", r"\1", short)
    return re.sub(r"(?<=\d)L", " ", short) if "Q" not in short and "C" not in short else short


def _dot(found: re.Match[str]) -> str:
    start, y, end = (float(number) for number in found.groups())
    return f"M {start:.1f} {y:.1f}h0" if abs(end - start) < _DOT else found[0]
