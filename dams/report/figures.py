"""One look for every figure: readable in print, in grey and for colour-blind readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import matplotlib
import pandas as pd

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Shape
from matplotlib.ticker import FuncFormatter, NullFormatter
from matplotlib.transforms import Bbox

from dams.experiments.methods import METHODS
from dams.experiments.records import write_csv
from dams.report.colours import BLACK, BLUE, BROWN, GREEN, ORANGE, PALE, PINK, SKY, VERMILION
from dams.report.run_files import files_of

# Inches of a figure that is as wide as the column of the page, and about as wide as a sheet of paper.
FULL_WIDTH = 8.6
STYLE: Any = {
    # The one typeface that comes with Matplotlib, so that a figure is the same file on every machine. Text of an SVG
    # stays text: on the page it takes the page's typeface, can be found and copied, and is smaller than outlines.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.dpi": 150,
    "svg.hashsalt": "dams",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Line:
    """How a method is drawn, apart from the rest by colour, dash and marker alike."""

    color: str
    dash: Any
    marker: str
    width: float = 1.4

    def options(self) -> dict[str, Any]:
        """Options for `plot`."""
        return {
            "color": self.color,
            "linestyle": self.dash,
            "marker": self.marker,
            "linewidth": self.width,
            "markersize": 3.5,
        }


# The oracle is a broad pale band, so that the closed form, which all but covers it, still shows it on both sides.
LINES = {
    "oracle": Line(PALE, "-", "", width=5.0),
    "source": Line(VERMILION, "-", "s"),
    "imputed": Line(ORANGE, (0, (1, 1)), "D"),
    "closed_form": Line(BLUE, "--", "o"),
    "closed_form_as_published": Line(SKY, ":", "x"),
    "nonparametric": Line(GREEN, "-.", "^"),
    "two_way": Line(PINK, (0, (3, 1, 1, 1, 1, 1)), "v"),
}
_OTHERS = [Line(BLACK, "--", "+"), Line(BROWN, "-.", "*")]


def line_of(method: str) -> Line:
    """Return the line of a method; methods added later share the spare ones."""
    unknown = [name for name in METHODS if name not in LINES]
    return LINES[method] if method in LINES else _OTHERS[unknown.index(method) % len(_OTHERS)]


def new_figure(rows: int, columns: int, *, width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    """Axes in the common style, always as a 2-D array."""
    plt.rcParams.update(STYLE)
    return plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **options)


def legend_below(figure: Figure, axes: Axes, *, columns: int, room: int = 2) -> None:
    """Put one legend for all panels below them, in as many columns as the figure is wide enough for.

    The figure has `room` for so many rows of it, and grows by those that come on top: panels must not pay for them.
    """
    handles, labels = axes.get_legend_handles_labels()
    for count in range(columns, 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=count, handlelength=3.2)
        extent = legend.get_window_extent()
        if count == 1 or extent.width <= figure.bbox.width:
            break
        legend.remove()
    rows = math.ceil(len(labels) / count)
    if rows > room:
        figure.set_figheight(figure.get_figheight() + extent.height / figure.dpi * (rows - room) / rows)


def say_why_empty(panel: Axes, reason: str) -> None:
    """Write into a panel why it is empty."""
    panel.text(0.5, 0.5, reason, transform=panel.transAxes, ha="center", va="center", color="0.35")


def letter_panels(panels: Iterable[Axes]) -> None:
    """Put (a), (b) and so on before the titles of several panels, or in their place."""
    shown = _shown(panels)
    if len(shown) > 1:
        for letter, panel in zip(ascii_lowercase, shown, strict=False):
            panel.set_title(f"({letter}) {panel.get_title(loc='left')}".rstrip(), loc="left")


def powers_of_ten(axis: Axis) -> None:
    """Number a logarithmic axis by 0.01, 1, 1,000: as text, not as set mathematics, which a page can't restyle."""
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:.5f}".rstrip("0"))
    )
    axis.set_minor_formatter(NullFormatter())


def _shown(panels: Iterable[Axes]) -> list[Axes]:
    return [panel for panel in panels if panel.axison and panel.get_visible()]


def off_the_scale(points: int, intervals: int = 0) -> str:
    """Return how many points lie beyond the end of an axis, and how many intervals of others reach beyond."""
    counts = {"point": points, "interval": intervals}
    told = [f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count]
    return f"{' and '.join(told)} off the scale" if told else ""


def note_above(panel: Axes, *lines: str) -> None:
    """Write small notes above the right end of a panel, where they cover no data; the last is beside the title."""
    for place, line in enumerate(reversed([line for line in lines if line])):
        panel.annotate(
            line,
            (1, 1),
            xytext=(0, 5 + 11 * place),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=7,
            color="0.35",
        )


def draw_dots(panel: Axes, x: Any, y: Any, *, color: str, size: float, alpha: float) -> None:
    """Draw dots as one shape: thousands of marks of their own would make a file of megabytes.

    Each is a line with round ends and all but no length: one without any is not drawn in every format.
    """
    starts = np.column_stack([x, y]).astype(float)
    if not len(starts):
        return
    ends = starts + np.array([1e-4 * max(float(np.ptp(starts[:, 0])), 1e-9), 0.0])
    vertices = np.stack([starts, ends], axis=1).reshape(-1, 2)
    shape = Shape(vertices, np.tile([Shape.MOVETO, Shape.LINETO], len(starts)))
    shape.should_simplify = False
    dots = PathPatch(shape, fill=False, edgecolor=color, linewidth=size, alpha=alpha, capstyle="round")
    # Snapped to pixels, as lines along an axis are, most would have no length in a PNG.
    dots.set_snap(False)
    panel.add_patch(dots)


def tiles_of(figure: Figure) -> list[Bbox]:
    """Boxes of panels, notes and entries of the legend, in points from the upper left corner of a drawn figure.

    A page cuts a figure of several panels along them, where it is too narrow for panels side by side.
    """
    panels = _shown(figure.axes)
    if len(panels) < 2:
        return []
    boxes = [text.get_window_extent() for text in figure.texts]
    boxes += [box for panel in panels if (box := panel.get_tightbbox()) is not None]
    for legend in figure.legends:
        for text in legend.get_texts():
            sample = (legend.handlelength + legend.handletextpad) * float(text.get_fontsize()) * figure.dpi / 72
            box = text.get_window_extent()
            boxes.append(Bbox.from_extents(box.x0 - sample, box.y0, box.x1, box.y1))
    scale, height = 72 / figure.dpi, figure.bbox.height
    return [
        Bbox.from_extents(box.x0 * scale, (height - box.y1) * scale, box.x1 * scale, (height - box.y0) * scale)
        for box in boxes
    ]


# Free of dates, so that equal figures are equal files.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}


def save_figure(figure: Figure, target: str | Path | Sequence[str | Path], *, data: pd.DataFrame | None = None) -> None:
    """Write the files of a figure, each in the format of its suffix; a bare stem stands for all formats.

    `data` go to the file that ends in .csv.
    """
    # The layout settles at the second drawing where axes have a fixed aspect. It is then that of every file: to find it
    # takes as long as to draw.
    for _ in range(2):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    tiles = [" ".join(f"{number:.1f}" for number in (*box.p0, *box.size)) for box in tiles_of(figure)]
    metadata: dict[str, dict[str, Any]] = {**_METADATA, "svg": {**_METADATA["svg"], "Description": "; ".join(tiles)}}
    for file in files_of(target, "figure"):
        suffix = file.suffix[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        if suffix == "csv":
            assert data is not None
            write_csv(data, file)
        else:
            figure.savefig(file, metadata=metadata[suffix], dpi=200 if suffix == "png" else "figure")
    plt.close(figure)
