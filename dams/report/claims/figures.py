"""Printed numbers against ours, and how widely designs of one pair of rates scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dams.datasets.registry import title_of
from dams.report.colours import BLACK, BLUE, GREEN, GREY, PINK, SKY, VERMILION
from dams.report.figures import new_figure, say_what_lies_above, say_why_empty
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
_ABSENT = "Nothing to compare: this run has none of\nthe scores that the paper prints in table 1."


def published_against_measured(comparison: pd.DataFrame) -> Figure:
    """One dot per number, printed across and measured up; on the diagonal they agree. Right: where most numbers lie."""
    shown = _means(comparison)
    figure, axes = new_figure(1, 1 if shown.empty else 2, width=7.4, height=4.3)
    if shown.empty:
        axes[0, 0].set_axis_off()
        say_why_empty(axes[0, 0], _ABSENT)
        return figure
    whole, zoomed = axes[0]
    most = 2 * shown["published"].max()
    kept = shown[shown["measured"] <= most]
    top = 1.08 * max([1.0, *kept["published"], *kept["measured"]])
    handles = _draw_dots(whole, kept, (0.0, top))
    say_what_lies_above(whole, len(shown) - len(kept), 0, side="left")
    both = np.concatenate([kept["published"], kept["measured"]])
    low, high = np.quantile(both, [0.05, 0.75])
    room = 0.15 * max(high - low, 0.05)
    _draw_dots(zoomed, kept, (low - room, high + room))
    whole.set_ylabel("MSE/Var(Y) measured")
    whole.set_title("(a) all numbers", loc="left")
    zoomed.set_title("(b) where most of them lie", loc="left")
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
        half = ((part["upper"] - part["lower"]) / 2).fillna(0.0)
        panel.errorbar(part["published"], part["measured"], yerr=half, elinewidth=0.8, markeredgewidth=0, **style)
        handles.append(Line2D([], [], label=title_of(str(dataset)), **style))
    panel.set_xlim(*limits)
    panel.set_ylim(*limits)
    panel.set_aspect("equal")
    panel.set_xlabel("MSE/Var(Y) as printed")
    return handles


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
    figure, axes = new_figure(1, len(datasets), width=2.5 * len(datasets) + 0.6, height=4.2, sharey=True)
    for panel, dataset in zip(axes[0], datasets, strict=True):
        part = shown[shown["dataset"] == dataset]
        places = np.arange(len(part))[::-1]
        half = (part["upper"] - part["lower"]) / 2
        panel.hlines(places, part["one_pair_lower"], part["one_pair_upper"], color=GREY, linewidth=1.2)
        panel.hlines(places, part["measured"] - half, part["measured"] + half, color=BLUE, linewidth=4)
        panel.plot(part["published"], places, "x", color=BLACK, markersize=5, markeredgewidth=1.4)
        panel.set_yticks(
            places, [f"{title_of_method(m)}, {REGIME_SYMBOLS[r]}" for m, r in part[["method", "regime"]].to_numpy()]
        )
        panel.set_title(title_of(dataset))
        panel.set_xlabel("MSE/Var(Y)")
    handles = [
        Line2D([], [], color=BLUE, linewidth=4, label="stated design, with the chance in both runs"),
        Line2D([], [], color=GREY, linewidth=1.2, label="one pair of rates, five β"),
        Line2D([], [], color=BLACK, marker="x", linestyle="", markeredgewidth=1.4, label="printed"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure
