"""One look for every figure: readable in print, in grey and for colour-blind readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
import pandas as pd

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dams.experiments.methods import METHODS
from dams.experiments.records import write_csv
from dams.report.colours import BLACK, BLUE, BROWN, GREEN, ORANGE, PALE, PINK, SKY, VERMILION
from dams.report.run_files import files_of

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9.5,
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


def say_what_lies_above(panel: Axes, points: int, intervals: int = 0, *, side: Literal["left", "right"]) -> None:
    """Count in a corner the points beyond the upper end of an axis, and the intervals of others that reach beyond."""
    counts = {"point": points, "interval": intervals}
    told = [f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count]
    if told:
        corner = (0.98 if side == "right" else 0.02, 0.98)
        text = f"{' and '.join(told)} above"
        panel.annotate(text, corner, xycoords="axes fraction", ha=side, va="top", fontsize=7)


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
    # The layout settles at the second drawing where axes have a fixed aspect; the first file must not show the first.
    figure.draw_without_rendering()
    for file in files_of(target, "figure"):
        suffix = file.suffix[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        if suffix == "csv":
            assert data is not None
            write_csv(data, file)
        else:
            figure.savefig(file, metadata=_METADATA[suffix], dpi=200 if suffix == "png" else "figure")
    plt.close(figure)
