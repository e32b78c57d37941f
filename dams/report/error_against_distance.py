"""Figure 2b: the error of linear predictors against the distance between source and target rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.report.figures import legend_below, line_of, new_figure
from dams.report.summary import Bootstrap, in_display_order


def error_against_distance(records: pd.DataFrame, bootstrap: Bootstrap) -> Figure:
    """One panel a data set: the mean over β of every rate draw as a light point, a line with its band a method."""
    linear = records[(records["model"] == "linear") & records["score"].notna()]
    datasets = list(in_display_order(linear)["dataset"].unique())
    figure, axes = new_figure(1, len(datasets), width=2.6 * len(datasets) + 0.4, height=3.2, sharex=True, sharey=True)
    methods = [name for name in METHODS if name in set(linear["method"])]
    for panel, dataset in zip(axes[0], datasets, strict=True):
        shown = linear[linear["dataset"] == dataset]
        for method in methods:
            points = _points(shown[shown["method"] == method])
            line = line_of(method)
            look = {"label": METHODS[method].title, **line.options(), "marker": "", "zorder": 3}
            if points.empty:
                # Every fit failed here; the legend, made from one panel, has the method all the same.
                panel.plot([], [], **look)
                continue
            grid = np.linspace(points["rate_distance"].min(), points["rate_distance"].max(), 60)
            fitted, lower, upper = fit_line(points, grid, bootstrap.options(dataset, method))
            panel.plot(
                points["rate_distance"],
                points["score"],
                line.marker or "o",
                color=line.color,
                alpha=0.25,
                markersize=2.5,
                markeredgewidth=0,
            )
            panel.fill_between(grid, lower, upper, color=line.color, alpha=0.2, linewidth=0)
            panel.plot(grid, fitted, **look)
        panel.set_title(title_of(dataset))
        panel.set_xlabel("‖mˢ − mᵗ‖₂")
    axes[0, 0].set_ylabel("target MSE / Var(Y)")
    # A few unstable fits must not squeeze the rest; what lies above is counted.
    top = 1.15 * np.quantile(linear["score"], 0.99)
    axes[0, 0].set_ylim(0, top)
    for panel, dataset in zip(axes[0], datasets, strict=True):
        hidden = int((_points(linear[linear["dataset"] == dataset])["score"] > top).sum())
        if hidden:
            panel.annotate(
                f"{hidden} points above", (0.98, 0.98), xycoords="axes fraction", ha="right", va="top", fontsize=7
            )
    legend_below(figure, axes[0, 0], columns=min(len(methods), 3 if len(datasets) == 1 else 6))
    return figure


def _points(records: pd.DataFrame) -> pd.DataFrame:
    """Mean over β of every rate draw: the draw is what the distance belongs to."""
    keys = ["method", "regime", "epsilon", "draw"]
    return records.groupby(keys, dropna=False)[["rate_distance", "score"]].mean().reset_index()


def fit_line(points: pd.DataFrame, grid: np.ndarray, options: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least-squares line over `grid` with a percentile band over resampled rate draws."""
    x, y = points["rate_distance"].to_numpy(), points["score"].to_numpy()
    n = len(x)
    weights = options["random_state"].multinomial(n, np.full(n, 1 / n), options["replicates"]) / n
    lines = _weighted_lines(x, y, weights, grid)
    tail = (1 - options["confidence"]) / 2
    lower, upper = np.nanquantile(lines, [tail, 1 - tail], axis=0)
    return _weighted_lines(x, y, np.full((1, n), 1 / n), grid)[0], lower, upper


def _weighted_lines(x: np.ndarray, y: np.ndarray, weights: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """One line a row of weights (which sum to 1), in closed form."""
    return (weights @ y)[:, None] + weighted_slopes(x, y, weights)[:, None] * (grid - (weights @ x)[:, None])


def weighted_slopes(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Least-squares slope for each row of weights, which sum to 1; zero where x does not vary."""
    mean_x, mean_y = weights @ x, weights @ y
    variance = weights @ x**2 - mean_x**2
    return np.where(variance > 1e-12, (weights @ (x * y) - mean_x * mean_y) / np.maximum(variance, 1e-12), 0.0)
