"""Figure 2a: the error of linear predictors against ε in the synthetic scenarios."""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.report.figures import legend_below, line_of, new_figure, say_that_all_failed
from dams.report.summary import Bootstrap, summarise

LABEL_TITLES = {
    "structural": "labels of the stated equations",
    "random_linear": "labels y = Xβ, β ~ U(0, 10)",
}


def error_against_epsilon(records: pd.DataFrame, bootstrap: Bootstrap) -> Figure:
    """Mean and interval over runs: one column a scenario, one row a regime and kind of label, one line a method."""
    summary = summarise(records[records["epsilon"].notna() & (records["model"] == "linear")], bootstrap)
    datasets = list(summary["dataset"].unique())
    rows = list(summary[["regime", "labels"]].drop_duplicates().itertuples(index=False, name=None))
    several_regimes = len(set(summary["regime"])) > 1
    figure, axes = new_figure(
        len(rows),
        len(datasets),
        width=3.3 * len(datasets) + 0.3,
        height=2.5 * len(rows) + 0.6,
        sharex=True,
        sharey="row",
    )
    methods = [name for name in METHODS if name in set(summary["method"])]
    for (row, (regime, label)), (column, dataset) in product(enumerate(rows), enumerate(datasets)):
        panel = axes[row, column]
        shown = summary[(summary["dataset"] == dataset) & (summary["regime"] == regime) & (summary["labels"] == label)]
        for method in methods:
            line, points = line_of(method), shown[shown["method"] == method].sort_values("epsilon")
            panel.fill_between(
                points["epsilon"], points["lower"], points["upper"], color=line.color, alpha=0.2, linewidth=0
            )
            panel.plot(points["epsilon"], points["mean"], label=METHODS[method].title, **line.options())
        if shown.empty:
            panel.set_axis_off()
            continue
        if shown["mean"].isna().all():
            say_that_all_failed(panel)
        panel.axhline(1, color="0.35", linewidth=0.8, linestyle=":")
        # Above the middle, where all predictors agree and do better.
        panel.annotate("label mean", (0.5, 1), ha="center", va="bottom", fontsize=7, color="0.35")
        head = f"{title_of(dataset)}, {regime}" if several_regimes else title_of(dataset)
        panel.set_title(f"{head}\n{LABEL_TITLES[label]}")
        panel.set_xlim(0, 1)
        panel.set_xlabel("ε   (mˢ = [1 − ε, ε],  mᵗ = [ε, 1 − ε])")
        panel.set_ylabel("target MSE / Var(Y)")
    _name_outer_axes(axes)
    for row, (_, label) in enumerate(rows):
        if label == "random_linear":
            axes[row, 0].set_ylim(bottom=0)
    legend_below(figure, axes[0, 0], columns=len(methods))
    return figure


def _name_outer_axes(axes: np.ndarray) -> None:
    """Keep names and numbers of axes at the lowest panel of a column and the first of a row, as they are shared."""
    for panels in axes.T:
        *upper, lowest = [panel for panel in panels if panel.axison]
        lowest.tick_params(labelbottom=True)
        for panel in upper:
            panel.set_xlabel("")
    for panels in axes:
        first, *others = [panel for panel in panels if panel.axison]
        first.tick_params(labelleft=True)
        for panel in others:
            panel.set_ylabel("")
