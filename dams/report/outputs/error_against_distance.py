"""Figure 2b: the error of linear predictors against the distance between source and target rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.report.figures import (
    FULL_WIDTH,
    draw_dots,
    legend_below,
    letter_panels,
    line_of,
    new_figure,
    note_above,
    off_the_scale,
    say_why_empty,
)
from dams.report.summary import Bootstrap, in_display_order
from dams.report.tables import REGIME_SYMBOLS
from dams.stats import weighted_slopes

# A draw of the rates, which all β and methods of a study share, with one kind of labels.
DRAW = ["study", "dataset", "regime", "epsilon", "labels", "draw"]
CELL = [*DRAW, "beta"]
# Rate draws of each regime that are shown as points; lines are through all.
DOTS = 100
# Distances at which lines and bands are drawn.
GRID = 40
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
    rows = 1 if above.empty else 2
    size = {"width": min(FULL_WIDTH, 2.9 * len(datasets) + 0.4), "height": 2.2 * rows + 0.4}
    figure, axes = new_figure(rows, len(datasets), **size, sharex=True, sharey="row")
    for column, dataset in enumerate(datasets):
        shown = linear[linear["dataset"] == dataset]
        whole = methods if above.empty else [name for name in methods if (dataset, name) not in fewer]
        axes[0, column].set_title(title_of(dataset))
        _draw(axes[0, column], shown, labels, whole, bootstrap, top=_top(linear))
        if shown.empty:
            say_why_empty(axes[0, column], "every fit failed")
        _mark_regimes(axes[0, column], shown)
        if not above.empty:
            part = above[above["dataset"] == dataset]
            axes[1, column].set_title(title_of(dataset))
            _draw(axes[1, column], part, labels, methods, bootstrap, top=_top(above))
            _mark_regimes(axes[1, column], part)
            axes[1, column].axhline(0, color="0.3", linewidth=0.8)
    for panel in axes.flat:
        # Each panel can stand alone, as it does where a narrow page stacks them.
        panel.set(xlabel="‖mˢ − mᵗ‖₂", ylabel="target MSE / Var(Y)")
        panel.tick_params(labelbottom=True, labelleft=True)
    if not linear.empty:
        axes[0, 0].set_ylim(0.0, _top(linear))
    if not above.empty:
        axes[1, 0].set_ylim(1.15 * min(0.0, np.quantile(above["score"], 0.01)), _top(above))
        for panel in axes[1]:
            panel.set_ylabel("excess over the oracle")
    letter_panels(axes.flat)
    legend_below(figure, axes[0, 0], columns=len(methods))
    return figure


def above_oracle(records: pd.DataFrame) -> pd.DataFrame:
    """Replace scores by how far they lie above the oracle's in the same cell; cells without an oracle are left out."""
    oracle = records[records["method"] == "oracle"].set_index(CELL)["score"].rename("oracle")
    others = records[records["method"] != "oracle"].join(oracle, on=CELL)
    return others.assign(score=others["score"] - others["oracle"]).dropna(subset="oracle")


def _draw(
    panel: Axes,
    records: pd.DataFrame,
    labels: dict[str, str],
    wanted: list[str],
    bootstrap: Bootstrap,
    *,
    top: float,
) -> None:
    """Draw dots, lines and bands; above the panel say what lies beyond its upper end, `top`."""
    notes = []
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
            # Not all of them, for hundreds of points hide each other.
            few = (of_regime["draw"] < DOTS) & (y <= top)
            draw_dots(panel, x[few], y[few], color=line.color, size=2.2, alpha=0.3)
            grid = np.linspace(x.min(), x.max(), GRID)
            key = (str(records["dataset"].iloc[0]), str(regime), method)
            fitted, lower, upper = fit_line(of_regime, grid, bootstrap.options(*key))
            if np.abs(fitted).max() > OFF_SCALE * top:
                # Its band would cover what the panel is for.
                symbol = REGIME_SYMBOLS.get(str(regime), str(regime))
                notes.append(f"{METHODS[method].title}, {symbol}: off the scale")
                continue
            panel.fill_between(grid, lower, upper, color=line.color, alpha=0.2, linewidth=0)
            panel.plot(grid, fitted, **look)
    hidden = int((_points(records)["score"] > top).sum())
    note_above(panel, *notes, off_the_scale(hidden))


def _mark_regimes(panel: Axes, records: pd.DataFrame) -> None:
    """Name the regimes along the upper edge, each on a line over its distances, where there are several."""
    distances = records.groupby("regime", sort=False)["rate_distance"]
    if distances.ngroups > 1:
        above = blended_transform_factory(panel.transData, panel.transAxes)
        for place, (regime, x) in enumerate(distances):
            height = 0.97 - 0.08 * place
            panel.plot([x.min(), x.max()], [height, height], "|-", transform=above, color="0.6", linewidth=0.9)
            text = REGIME_SYMBOLS.get(str(regime), str(regime))
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": "0.3", "bbox": ground}
            panel.text((x.min() + x.max()) / 2, height, text, transform=above, **look)


def _top(records: pd.DataFrame) -> float:
    """Return the upper end of an axis that a few unstable fits do not move."""
    return float(1.15 * np.quantile(records["score"], 0.99)) if len(records) else 1.0


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
    """One line per row of weights (which sum to 1), in closed form."""
    return (weights @ y)[:, None] + weighted_slopes(x, y, weights)[:, None] * (grid - (weights @ x)[:, None])
