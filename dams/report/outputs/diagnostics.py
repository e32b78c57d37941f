"""Figures of the diagnostics: relative missingness against the truth, and statistics of UCAR by mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from scipy.special import ndtr

from dams.datasets.registry import title_of
from dams.report.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, VERMILION
from dams.report.figures import FULL_WIDTH, Line, legend_below, letter_panels, new_figure, powers_of_ten

# By colour, dash and marker alike.
_LINES = (
    Line(BLACK, "-", "s", width=2.2),
    Line(GREY, "-", "o"),
    Line(VERMILION, "--", "^"),
    Line(BLUE, "-.", "v"),
    Line(GREEN, (0, (1, 1)), "D"),
    Line(PINK, (0, (5, 1)), "P"),
    Line(ORANGE, (0, (3, 1, 1, 1)), "X"),
)
# Marks of regimes, of which there may be many: six colours and eleven shapes have no common factor, so that the first
# 66 marks differ, and the first eleven by shape alone.
_COLORS = tuple(line.color for line in _LINES[1:])
_SHAPES = ("o", "^", "v", "D", "P", "X", "s", "<", ">", "*", "p")


def marks_of(regimes: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and shape of every regime."""
    return dict(zip(regimes, zip(cycle(_COLORS), cycle(_SHAPES), strict=False), strict=False))


def relative_missingness_figure(features: pd.DataFrame) -> Figure:
    """Draw 1 − r̂ = q̂ᵗ/q̂ˢ with its interval against the truth, one panel per data set, one mark per feature.

    Parameters
    ----------
    features : DataFrame
        The last of what `diagnose_cells` returns.
    """
    datasets = list(dict.fromkeys(features["dataset"]))
    regimes = list(dict.fromkeys(features["regime"]))
    columns = min(len(datasets), 4)
    rows = -(-len(datasets) // columns)
    figure, axes = new_figure(rows, columns, width=min(FULL_WIDTH, 2.6 * columns + 0.4), height=2.2 * rows + 0.5)
    for panel, dataset in zip(axes.flat, datasets, strict=False):
        shown = features[features["dataset"] == dataset]
        for regime, (color, shape) in marks_of(regimes).items():
            part = shown[shown["regime"] == regime]
            kept = 1 - part[["true_r", "r", "lower", "upper"]]
            # A feature that the target never shows has no place on a logarithmic axis.
            kept = kept[(kept["r"] > 0) & (kept["upper"] > 0)]
            panel.vlines(kept["true_r"], kept["upper"], kept["lower"], color=color, linewidth=0.9, alpha=0.7)
            panel.plot(kept["true_r"], kept["r"], shape, color=color, markersize=3, markeredgewidth=0, label=regime)
        panel.axline((1, 1), slope=1, color="0.35", linewidth=0.8, zorder=1)
        panel.axvline(1, color="0.35", linewidth=0.8, linestyle=":", zorder=1)
        panel.set(xscale="log", yscale="log", xlabel="true 1 − r", ylabel="estimated 1 − r")
        panel.set_title(title_of(dataset))
        for axis in (panel.xaxis, panel.yaxis):
            low, high = axis.get_view_interval()
            # Three marks per decade, as long as their numbers have room.
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
    for panel in axes.flat[len(datasets) :]:
        panel.set_visible(False)
    letter_panels(axes.flat)
    legend_below(figure, axes[0, 0], columns=len(regimes), room=1)
    return figure


def hospital_checks_figure(spread: pd.DataFrame) -> Figure:
    """Draw how many pairs of features are how far off, one line per cohort, beside what chance alone gives.

    Parameters
    ----------
    spread : DataFrame
        The last of what `diagnose_hospitals` returns.
    """
    figure, axes = new_figure(1, 1, width=4.6, height=4.4)
    panel = axes[0, 0]
    levels = np.linspace(0, 4, 81)
    panel.plot(levels, 2 * ndtr(-levels), color="0.35", linewidth=0.8, linestyle=":", label="chance alone")
    for (cohort, rows), line in zip(spread.groupby("cohort", sort=False), _LINES, strict=False):
        seen = rows[rows["share"] > 0]
        panel.plot(seen["level"], seen["share"], label=str(cohort), markevery=10, **line.options())
    panel.set_yscale("log")
    powers_of_ten(panel.yaxis)
    panel.set_xlabel("|z| of a pair of features")
    panel.set_ylabel("share of pairs beyond it")
    legend_below(figure, panel, columns=2, room=4)
    return figure
