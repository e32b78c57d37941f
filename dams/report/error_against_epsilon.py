"""Figure 2a: the error of linear predictors against ε in the synthetic scenarios."""

import pandas as pd
from matplotlib.figure import Figure

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.report.figures import legend_below, line_of, new_figure
from dams.report.summary import Bootstrap, summarise

LABEL_TITLES = {
    "structural": "labels of the stated equations",
    "random_linear": "labels y = Xβ, β ~ U(0, 10)",
}


def error_against_epsilon(records: pd.DataFrame, bootstrap: Bootstrap) -> Figure:
    """Mean and interval over runs, one panel a scenario and kind of label, one line a method."""
    summary = summarise(records[records["epsilon"].notna() & (records["model"] == "linear")], bootstrap)
    datasets, labels = list(summary["dataset"].unique()), list(summary["labels"].unique())
    figure, axes = new_figure(
        len(labels),
        len(datasets),
        width=3.3 * len(datasets) + 0.3,
        height=2.5 * len(labels) + 0.6,
        sharex=True,
        sharey="row",
    )
    methods = [name for name in METHODS if name in set(summary["method"])]
    for (row, label), (column, dataset) in ((r, c) for r in enumerate(labels) for c in enumerate(datasets)):
        panel = axes[row, column]
        shown = summary[(summary["dataset"] == dataset) & (summary["labels"] == label)]
        for method in methods:
            line, points = line_of(method), shown[shown["method"] == method].sort_values("epsilon")
            panel.fill_between(
                points["epsilon"], points["lower"], points["upper"], color=line.color, alpha=0.2, linewidth=0
            )
            panel.plot(points["epsilon"], points["mean"], label=METHODS[method].title, **line.options())
        panel.axhline(1, color="0.35", linewidth=0.8, linestyle=":")
        # Above the middle, where all predictors agree and do better.
        panel.annotate("label mean", (0.5, 1), ha="center", va="bottom", fontsize=7, color="0.35")
        panel.set_title(f"{title_of(dataset)}\n{LABEL_TITLES[label]}")
        panel.set_xlim(0, 1)
        if row == len(labels) - 1:
            panel.set_xlabel("ε   (mˢ = [1 − ε, ε],  mᵗ = [ε, 1 − ε])")
        if column == 0:
            panel.set_ylabel("target MSE / Var(Y)")
    for row, label in enumerate(labels):
        if label == "random_linear":
            axes[row, 0].set_ylim(bottom=0)
    legend_below(figure, axes[0, 0], columns=len(methods))
    return figure
