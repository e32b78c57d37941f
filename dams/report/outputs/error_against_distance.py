"""Figure 2b: the error of linear predictors against the distance between source and target rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.report.figures import legend_below, line_of, new_figure, say_what_lies_above, say_why_empty
from dams.report.summary import Bootstrap, in_display_order
from dams.report.tables import REGIME_SYMBOLS

# A draw of the rates, which all β and methods of a study share, with one kind of labels.
DRAW = ["study", "dataset", "regime", "epsilon", "labels", "draw"]
CELL = [*DRAW, "beta"]
# Rate draws of each regime that are shown as points; lines are through all.
DOTS = 100
# A line that leaves the axis so many times over is told in words.
OFF_SCALE = 3.0


def error_against_distance(records: pd.DataFrame, bootstrap: Bootstrap) -> Figure:
    """One panel per data set: the mean over β of every rate draw as a light point, a line with its band per method.

    Each regime has lines of its own, over the distances that it has: regimes lie at other distances and other levels,
    so that a line through both would show their difference and neither's slope (erratum E22). Above the errors, below
    how far each lies above the oracle's of the same cells. A method that was run on fewer cells than others is shown
    below alone: other cells have other errors. Without an oracle it is shown above, and marked.
    """
    linear = in_display_order(records[records["model"] == "linear"])
    datasets = list(linear["dataset"].unique())
    methods = [name for name in METHODS if name in set(linear["method"])]
    cells = linear.groupby(["dataset", "method"], sort=False).size()
    fewer = cells[cells < cells.groupby("dataset").transform("max")].index
    # A fit that failed was meant to be made: it counts as a cell and has no point.
    linear = linear[linear["score"].notna()]
    above = above_oracle(linear)
    labels = {name: METHODS[name].title for name in methods}
    if above.empty:
        labels |= {name: f"{labels[name]} (fewer cells)" for _, name in fewer}
    size = {"width": 2.6 * len(datasets) + 0.4, "height": 3.2 if above.empty else 5.4}
    rows = 1 if above.empty else 2
    figure, axes = new_figure(rows, len(datasets), **size, sharex=True, sharey="row")
    for column, dataset in enumerate(datasets):
        shown = linear[linear["dataset"] == dataset]
        whole = methods if above.empty else [name for name in methods if (dataset, name) not in fewer]
        _draw(axes[0, column], shown, labels, whole, bootstrap)
        if shown.empty:
            say_why_empty(axes[0, column], "every fit failed")
        axes[0, column].set_title(title_of(dataset))
        _mark_regimes(axes[0, column], shown)
        axes[-1, column].set_xlabel("‖mˢ − mᵗ‖₂")
        if not above.empty:
            _draw(axes[1, column], above[above["dataset"] == dataset], labels, methods, bootstrap)
            axes[1, column].axhline(0, color="0.3", linewidth=0.8)
    axes[0, 0].set_ylabel("target MSE / Var(Y)")
    if not linear.empty:
        _limit(axes[0], linear, datasets, bottom=0.0)
    if not above.empty:
        axes[1, 0].set_ylabel("the same, above the oracle's")
        _limit(axes[1], above, datasets, bottom=1.15 * min(0.0, np.quantile(above["score"], 0.01)))
    legend_below(figure, axes[0, 0], columns=len(methods))
    return figure


def above_oracle(records: pd.DataFrame) -> pd.DataFrame:
    """Replace scores by how far they lie above the oracle's in the same cell; cells without an oracle are left out."""
    oracle = records[records["method"] == "oracle"].set_index(CELL)["score"].rename("oracle")
    others = records[records["method"] != "oracle"].join(oracle, on=CELL)
    return others.assign(score=others["score"] - others["oracle"]).dropna(subset="oracle")


def _draw(panel: Axes, records: pd.DataFrame, labels: dict[str, str], wanted: list[str], bootstrap: Bootstrap) -> None:
    for method, label in labels.items():
        points = _points(records[records["method"] == method])
        line = line_of(method)
        look = {**line.options(), "marker": "", "zorder": 3}
        # The legend, made from one panel, has every method once.
        panel.plot([], [], label=label, **look)
        if method not in wanted:
            continue
        for regime, of_regime in points.groupby("regime", sort=False):
            x, y = of_regime["rate_distance"], of_regime["score"]
            # As a picture, and not all of them, for hundreds of points are many bytes and hide each other.
            few = of_regime["draw"] < DOTS
            dots: dict[str, Any] = {"alpha": 0.25, "markersize": 2.5, "markeredgewidth": 0, "rasterized": True}
            panel.plot(x[few], y[few], line.marker or "o", color=line.color, **dots)
            grid = np.linspace(x.min(), x.max(), 60)
            key = (str(records["dataset"].iloc[0]), str(regime), method)
            fitted, lower, upper = fit_line(of_regime, grid, bootstrap.options(*key))
            if np.abs(fitted).max() > OFF_SCALE * _top(records):
                # Its band would cover what the panel is for.
                said = REGIME_SYMBOLS.get(str(regime), str(regime))
                note = f"{METHODS[method].title},\n{said}: off the scale"
                panel.annotate(note, (0.98, 0.9), xycoords="axes fraction", ha="right", va="top", fontsize=7)
                continue
            panel.fill_between(grid, lower, upper, color=line.color, alpha=0.2, linewidth=0)
            panel.plot(grid, fitted, **look)


def _mark_regimes(panel: Axes, records: pd.DataFrame) -> None:
    """Name the regimes along the upper edge, each over the middle of its distances, where there are several."""
    distances = records.groupby("regime", sort=False)["rate_distance"]
    if distances.ngroups > 1:
        above = blended_transform_factory(panel.transData, panel.transAxes)
        for regime, x in distances:
            text = REGIME_SYMBOLS.get(str(regime), str(regime))
            panel.text(x.median(), 0.99, text, transform=above, ha="center", va="top", fontsize=8, color="0.3")


def _limit(panels: Sequence[Axes], records: pd.DataFrame, datasets: list[str], *, bottom: float) -> None:
    """Keep a few unstable fits from squeezing the rest, and count what lies above."""
    top = _top(records)
    panels[0].set_ylim(bottom, top)
    for panel, dataset in zip(panels, datasets, strict=True):
        hidden = int((_points(records[records["dataset"] == dataset])["score"] > top).sum())
        say_what_lies_above(panel, hidden, side="right")


def _top(records: pd.DataFrame) -> float:
    """Return the upper end of an axis that a few unstable fits do not move."""
    return float(1.15 * np.quantile(records["score"], 0.99))


def _points(records: pd.DataFrame) -> pd.DataFrame:
    """Mean over β of every rate draw: the draw is what the distance belongs to."""
    return records.groupby(["method", *DRAW], dropna=False)[["rate_distance", "score"]].mean().reset_index()


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
