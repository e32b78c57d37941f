"""Printed numbers against ours, and how widely designs of one pair of rates scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from dams.datasets.registry import title_of
from dams.report.colours import BLACK, BLUE, GREEN, GREY, PINK, SKY, VERMILION
from dams.report.figures import FULL_WIDTH, letter_panels, new_figure, note_above, off_the_scale, say_why_empty
from dams.report.scope import title_of_method
from dams.report.tables import REGIME_SYMBOLS

# The shape tells the data sets apart as well.
LOOKS = {
    "redundant": (BLUE, "o"),
    "confounded": (SKY, "D"),
    "adult": (GREEN, "^"),
    "bank": (VERMILION, "s"),
    "thyroid": (PINK, "v"),
}
# Colour, and how far above the tick of the method.
_REGIMES = {"nested": (BLUE, 0.17), "free": (VERMILION, -0.17)}
_ABSENT = "Nothing to compare: this run has none of\nthe scores that the paper prints in table 1."


def published_against_measured(comparison: pd.DataFrame) -> Figure:
    """One dot per number with both intervals, printed across and measured up; on the diagonal they agree.

    The second panel is where most numbers lie, framed in the first.
    """
    shown = _means(comparison)
    figure, axes = new_figure(1, 1 if shown.empty else 2, width=FULL_WIDTH, height=4.7)
    if shown.empty:
        axes[0, 0].set_axis_off()
        say_why_empty(axes[0, 0], _ABSENT)
        return figure
    whole, zoomed = axes[0]
    most = 2 * shown["published"].max()
    kept = shown[shown["measured"] <= most]
    top = 1.08 * max([1.0, *kept["published"], *kept["measured"]])
    handles = _draw_dots(whole, kept, (0.0, top))
    note_above(whole, off_the_scale(len(shown) - len(kept)))
    both = np.concatenate([kept["published"], kept["measured"]])
    low, high = np.quantile(both, [0.05, 0.75])
    room = 0.15 * max(high - low, 0.05)
    _draw_dots(zoomed, kept, (low - room, high + room))
    whole.set_title("all numbers")
    zoomed.set_title("where most of them lie")
    whole.add_patch(Rectangle((low - room, low - room), *[high - low + 2 * room] * 2, fill=False, color="0.35", lw=0.8))
    letter_panels(axes.flat)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _means(comparison: pd.DataFrame) -> pd.DataFrame:
    chosen = (comparison["table"] == "table1") & (comparison["quantity"] == "mean")
    return comparison[chosen & (comparison["variant"] == "corrected") & comparison["measured"].notna()]


def _draw_dots(panel: Axes, shown: pd.DataFrame, limits: tuple[float, float]) -> list[Line2D]:
    panel.plot(limits, limits, color="0.35", linewidth=0.8, linestyle=":")
    handles = []
    for dataset, part in shown.groupby("dataset", sort=False):
        color, marker = LOOKS[str(dataset)]
        style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "", "markersize": 4.5, "alpha": 0.85}
        across = _to_ends(part["published"], part["published_lower"], part["published_upper"])
        up = _to_ends(part["measured"], part["measured_lower"], part["measured_upper"])
        bars: dict[str, Any] = {"elinewidth": 0.8, "markeredgewidth": 0}
        panel.errorbar(part["published"], part["measured"], xerr=across, yerr=up, **bars, **style)
        handles.append(Line2D([], [], label=title_of(str(dataset)), **style))
    panel.set_xlim(*limits)
    panel.set_ylim(*limits)
    panel.set_aspect("equal")
    panel.set(xlabel="MSE/Var(Y) as printed", ylabel="MSE/Var(Y) measured")
    return handles


def _to_ends(value: pd.Series, lower: pd.Series, upper: pd.Series) -> np.ndarray:
    """Return how far the ends of intervals are away, as `errorbar` wants it; nothing where there is no interval."""
    return np.nan_to_num(np.array([value - lower, upper - value])).clip(min=0)


def design_scatter(comparison: pd.DataFrame) -> Figure:
    """Show where means over the stated design lie, and means over one pair of rates; a cross is what is printed."""
    shown = _means(comparison)
    shown = shown[(shown["model"] == "linear") & shown["one_pair_lower"].notna() & shown["lower"].notna()]
    datasets = list(dict.fromkeys(shown["dataset"]))
    if not datasets:
        figure, axes = new_figure(1, 1, width=5.4, height=2.4)
        axes[0, 0].set_axis_off()
        say_why_empty(axes[0, 0], _ABSENT)
        return figure
    figure, axes = new_figure(1, len(datasets), width=FULL_WIDTH, height=3.4)
    methods = list(dict.fromkeys(shown["method"]))
    for panel, dataset in zip(axes[0], datasets, strict=True):
        for regime, (color, above) in _REGIMES.items():
            part = shown[(shown["dataset"] == dataset) & (shown["regime"] == regime)]
            places = np.array([above - methods.index(method) for method in part["method"]])
            half = (part["upper"] - part["lower"]) / 2
            panel.hlines(places, part["one_pair_lower"], part["one_pair_upper"], color=color, linewidth=1)
            panel.hlines(places, part["measured"] - half, part["measured"] + half, color=color, linewidth=4)
            panel.plot(part["published"], places, "x", color=BLACK, markersize=5, markeredgewidth=1.4)
        panel.set_yticks(-np.arange(len(methods)), [title_of_method(method) for method in methods])
        panel.set_title(title_of(dataset))
        panel.set_xlabel("MSE/Var(Y)")
    letter_panels(axes.flat)
    handles = [
        *(
            Line2D([], [], color=color, linewidth=4, label=REGIME_SYMBOLS[name])
            for name, (color, _) in _REGIMES.items()
        ),
        Line2D([], [], color=GREY, linewidth=1, label="thin: one pair of rates, five β"),
        Line2D([], [], color=BLACK, marker="x", linestyle="", markeredgewidth=1.4, label="printed"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure
