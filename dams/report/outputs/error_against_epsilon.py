"""Figure 2a: the error of linear predictors against ε in the synthetic scenarios."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dams.datasets.registry import is_scenario, title_of
from dams.experiments.methods import METHODS
from dams.report.figures import (
    FULL_WIDTH,
    Line,
    legend_below,
    letter_panels,
    line_of,
    new_figure,
    off_the_scale,
    say_why_empty,
)
from dams.report.summary import Bootstrap, on_fewer_cells, summarise
from dams.theory.scenarios import exact_scores

LABEL_TITLES = {
    "structural": "y by the stated equation",
    "random_linear": "y = Xβ, β ~ U(0, 10)",
}


EXACT = "exact, from the moments"
# So many panels have room side by side.
MOST_ACROSS = 4
# Where an axis must end below some means: so much of the range of medians, which a few bad fits do not move, is left.
ROOM = 0.5


def error_against_epsilon(records: pd.DataFrame, bootstrap: Bootstrap) -> Figure:
    """Mean and interval over runs: one panel per scenario, regime and kind of label, one line per method.

    Panels of one regime and kind of label share their scale. A method that was run on fewer cells than others is
    marked: other cells have other errors.
    """
    records = records[records["epsilon"].notna() & (records["model"] == "linear")]
    summary = summarise(records, bootstrap)
    fewer = set(summary.loc[on_fewer_cells(summary), "method"])
    datasets = list(summary["dataset"].unique())
    rows = list(summary[["regime", "labels"]].drop_duplicates().itertuples(index=False, name=None))
    several_regimes = len(set(summary["regime"])) > 1
    panels = len(rows) * len(datasets)
    across = panels if panels <= MOST_ACROSS else len(datasets)
    figure, axes = new_figure(
        -(-panels // across), across, width=min(FULL_WIDTH, 3.2 * across), height=2.0 * -(-panels // across) + 0.5
    )
    methods = [name for name in METHODS if name in set(summary["method"])]
    labels = {name: METHODS[name].title + (" (fewer cells)" if name in fewer else "") for name in methods}
    for (regime, label), group in zip(rows, axes.reshape(len(rows), len(datasets)), strict=True):
        here = {"regime": regime, "labels": label}
        for panel, dataset in zip(group, datasets, strict=True):
            if panel is not group[0]:
                panel.sharey(group[0])
            shown = _part(summary, dataset=dataset, **here)
            for method in methods:
                _draw(panel, shown[shown["method"] == method].sort_values("epsilon"), line_of(method), labels[method])
            if shown.empty:
                panel.set_axis_off()
                continue
            _draw_exact(panel, shown, methods)
            if shown["mean"].isna().all():
                say_why_empty(panel, "every fit failed")
            panel.axhline(1, color="0.35", linewidth=0.8, linestyle=":")
            # Above the middle, where all predictors agree and do better.
            panel.annotate("label mean", (0.5, 1), ha="center", va="bottom", fontsize=7, color="0.35")
            head = f"{title_of(dataset)}, {regime}" if several_regimes else title_of(dataset)
            panel.set_title(f"{head}\n{LABEL_TITLES[label]}")
            panel.set_xlim(0, 1)
            panel.set_xlabel("ε")
            panel.set_ylabel("target MSE / Var(Y)")
        _limit(group, _part(records, **here), [_part(summary, dataset=name, **here) for name in datasets])
        if label == "random_linear":
            group[0].set_ylim(bottom=0)
    letter_panels(axes.flat)
    legend_below(figure, axes[0, 0], columns=len(methods) + 1)
    return figure


def _part(frame: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    return frame[np.all([frame[column] == value for column, value in wanted.items()], axis=0)]


def _draw(panel: Axes, points: pd.DataFrame, line: Line, label: str) -> None:
    look = line.options()
    if points["mean"].notna().sum() == 1:
        # One point makes neither line nor band: what has no marker gets one, as broad as its line is, and the interval
        # is a bar.
        look |= {} if line.marker else {"marker": "o", "markersize": 2 * line.width}
        panel.vlines(points["epsilon"], points["lower"], points["upper"], color=line.color, alpha=0.5)
    panel.fill_between(points["epsilon"], points["lower"], points["upper"], color=line.color, alpha=0.2, linewidth=0)
    panel.plot(points["epsilon"], points["mean"], label=label, **look)


def _draw_exact(panel: Axes, shown: pd.DataFrame, methods: Sequence[str]) -> None:
    """Draw what the curves scatter around, one thin line per method; the closed form's is the oracle's."""
    dataset, labels = shown.iloc[0][["dataset", "labels"]]
    known = shown.loc[shown["mean"].notna(), "epsilon"]
    if not is_scenario(dataset) or known.nunique() < 2:
        return
    grid = np.linspace(known.min(), known.max(), 46)
    scores = [exact_scores(dataset, float(epsilon), labels) for epsilon in grid]
    drawn = [name for name in ("oracle", "source", "nonparametric") if name in methods]
    for method in drawn:
        # One entry in the legend stands for all.
        name = EXACT if method == drawn[0] else None
        panel.plot(grid, [score[method] for score in scores], color="0.35", linewidth=0.6, zorder=4, label=name)


def _limit(panels: Sequence[Axes], records: pd.DataFrame, shown: Sequence[pd.DataFrame]) -> None:
    """Keep a few bad fits from squeezing the rest, and count what lies above."""
    medians = [1.0, *records.groupby(["dataset", "epsilon", "method"])["score"].median().dropna()]
    low, high = min(medians), max(medians)
    # Where all medians agree, their range is no measure.
    room = ROOM * max(high - low, 0.1)
    top = high + room
    if not any((part["mean"] > top).any() for part in shown):
        return
    panels[0].set_ylim(low - room / 5, top)
    for panel, part in zip(panels, shown, strict=True):
        points = int((part["mean"] > top).sum())
        intervals = int(((part["mean"] <= top) & (part["upper"] > top)).sum())
        if note := off_the_scale(points, intervals):
            panel.annotate(note, (0.98, 0.98), xycoords="axes fraction", ha="right", va="top", fontsize=7, color="0.35")
