"""Figures of the theory: each draws a closed form as a line and simulations of the same thing as points on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dams.identification import corrupt_law, filter_distance
from dams.missingness import apply_missingness
from dams.moments import relative_rates
from dams.report.colours import BLUE, GREEN, VERMILION
from dams.report.figures import FULL_WIDTH, LINES, Line, legend_below, letter_panels, new_figure, powers_of_ten
from dams.theory.coverage import simulate_coverage
from dams.theory.examples import Confounded, Redundant
from dams.theory.regularisation import penalised_fit

# For families of curves that are not methods.
FAMILY = (Line(BLUE, "-", "o"), Line(VERMILION, "--", "s"), Line(GREEN, "-.", "^"))
_SIMULATED_ROWS = 50_000


def redundant_risk(random_state: Any = None) -> Figure:
    """Draw example 1, coefficients and target risk of the source and the target predictor against ε."""
    rng = np.random.default_rng(random_state)
    figure, axes = new_figure(1, 2, width=FULL_WIDTH, height=3.1)
    coefficients, risks = axes[0]
    fine, coarse = np.linspace(0, 1, 201), np.linspace(0.05, 0.95, 10)
    drawn = [Redundant(epsilon) for epsilon in coarse]
    source = np.array([example.simulated_fit(_SIMULATED_ROWS, example.m_source, rng) for example in drawn])
    target = np.array([example.simulated_fit(_SIMULATED_ROWS, example.m_target, rng) for example in drawn])

    for j, line in enumerate(FAMILY[:2]):
        _curve(coefficients, line, fine, [Redundant(epsilon).beta_source[j] for epsilon in fine], f"feature X{'₁₂'[j]}")
        _points(coefficients, line, coarse, source[:, j])
    coefficients.set(ylabel="coefficient", title="source predictor βˢ")
    coefficients.legend(loc="lower center")

    for label, risk, fits, line in (
        ("source predictor βˢ", lambda example: example.risk_of_source, source, LINES["source"]),
        ("target predictor βᵗ", lambda example: example.risk_of_target, target, LINES["closed_form"]),
    ):
        _curve(risks, line, fine, [risk(example) / example.label_variance for example in map(Redundant, fine)], label)
        simulated = [
            example.simulated_target_risk(beta, _SIMULATED_ROWS, rng) / example.label_variance
            for example, beta in zip(drawn, fits, strict=True)
        ]
        _points(risks, line, coarse, simulated)
    _label_mean(risks)
    risks.set(ylabel="target risk / Var(Y)", title="both predictors in the target")
    risks.legend(loc="lower center")
    _explain(figure, "lines: closed form;  points: least squares on simulated rows")
    for panel in axes[0]:
        panel.set_xlim(0, 1)
        panel.set_xlabel("ε   (mˢ = [1 − ε, ε],  mᵗ = [ε, 1 − ε])")
    letter_panels(axes.flat)
    return figure


def confounded_risk(random_state: Any = None) -> Figure:
    """Draw example 2 with a = −b/c: how many times worse than the label's mean the source predictor gets."""
    rng = np.random.default_rng(random_state)
    figure, axes = new_figure(1, 1, width=4.2, height=3.1)
    panel = axes[0, 0]
    fine, coarse = np.geomspace(0.1, 30, 100), np.geomspace(0.15, 20, 8)
    for c, line in zip((0.5, 2.0, 8.0), FAMILY, strict=True):
        _curve(panel, line, fine, [Confounded.cancelling(b, c).risk_ratio for b in fine], f"c = {c:g}")
        ratios = []
        for example in (Confounded.cancelling(b, c) for b in coarse):
            beta = example.simulated_fit(_SIMULATED_ROWS, example.m_source, rng)
            ratios.append(example.simulated_target_risk(beta, _SIMULATED_ROWS, rng) / example.label_variance)
        _points(panel, line, coarse, ratios)
    panel.set_xscale("log")
    panel.set_yscale("log")
    powers_of_ten(panel.xaxis)
    powers_of_ten(panel.yaxis)
    _label_mean(panel)
    panel.set_xlabel("b, effect of the feature that the target loses   (a = −b/c)")
    panel.set_ylabel("risk of βˢ on the target / Var(Y)")
    panel.legend(loc="upper left")
    _explain(figure, "lines: closed form;  points: least squares on simulated rows")
    return figure


def regularisation_paths(random_state: Any = None) -> Figure:
    """Draw coefficients against the missingness rate: fits to corrupted rows, and paths of the penalised clean fit."""
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(_SIMULATED_ROWS, 3)) @ [[1, 0.6, 0], [0, 0.8, 0], [0, 0, 1]]
    y = X @ [1.0, -0.5, 0.5] + rng.normal(size=len(X))
    figure, axes = new_figure(1, 1, width=4.2, height=3.1)
    panel = axes[0, 0]
    fine, coarse = np.linspace(0, 0.95, 96), np.linspace(0, 0.9, 10)
    paths = np.array([penalised_fit(X, y, m) for m in fine])
    fits = np.array([np.linalg.lstsq(apply_missingness(X, m, random_state=rng) / (1 - m), y)[0] for m in coarse])
    for j, line in enumerate(FAMILY):
        _curve(panel, line, fine, paths[:, j], f"β{'₁₂₃'[j]}")
        _points(panel, line, coarse, fits[:, j])
    panel.axhline(0, color="0.35", linewidth=0.8)
    panel.set_xlim(-0.02, 0.96)
    panel.set_xlabel("missingness rate m of every feature")
    panel.set_ylabel("coefficient, features scaled by 1/(1 − m)")
    panel.legend(loc="upper right")
    _explain(figure, "lines: penalised fit to clean rows;  points: fit to corrupted rows")
    return figure


def bound_on_relative_missingness(random_state: Any = None) -> Figure:
    """Draw coverage and width of the bound on r̂ and of the delta interval against the number of rows."""
    q_source, q_target, confidence, n_runs = 0.3, 0.2, 0.95, 2000
    sizes = np.geomspace(100, 100_000, 10).astype(int).tolist()
    table = simulate_coverage(
        q_source, q_target, sizes, confidence=confidence, n_runs=n_runs, random_state=random_state
    )
    figure, axes = new_figure(1, 2, width=FULL_WIDTH, height=3.1)
    titles = {"hoeffding": "bound of the theorem (Hoeffding)", "delta": "delta method"}
    for (method, rows), line in zip(table.groupby("method", sort=False), FAMILY[:2], strict=True):
        for panel, column in zip(axes[0], ("coverage", "median_width"), strict=True):
            panel.plot(rows["n"], rows[column], label=titles[str(method)], **line.options())
    coverage, width = axes[0]
    coverage.axhline(confidence, color="0.35", linewidth=0.8, linestyle=":")
    coverage.annotate(
        "promised",
        (0.02, confidence - 0.003),  # the curve of the delta method wavers around the line itself
        xycoords=("axes fraction", "data"),
        ha="left",
        va="top",
        fontsize=7,
        color="0.35",
    )
    coverage.set_ylim(0.9, 1.005)
    coverage.set(ylabel="share that holds r", title="coverage of the intervals")
    width.set_yscale("log")
    powers_of_ten(width.yaxis)
    width.set(ylabel="median width", title="width of the intervals")
    for panel in axes[0]:
        panel.set_xscale("log")
        powers_of_ten(panel.xaxis)
        panel.set_xlabel("rows in either domain, nₛ = nₜ")
    letter_panels(axes.flat)
    _explain(figure, f"qˢ = {q_source:g}, qᵗ = {q_target:g}, 1 − δ = {confidence:g};  {n_runs:,} samples of each size")
    legend_below(figure, coverage, columns=2)
    return figure


def improper_filter(random_state: Any = None) -> Figure:
    """Draw the distance of algorithm 1's filtered source from the target where the target loses less than the source.

    Binary features that depend on a hidden class, the label; nothing is random.
    """
    figure, axes = new_figure(1, 1, width=4.2, height=3.1)
    panel = axes[0, 0]
    m_source, m_target = 0.5, np.linspace(0, 0.9, 91)
    for d, line in zip((1, 3, 8), FAMILY, strict=True):
        source = corrupt_law(_class_law(d), m_source)
        r = relative_rates(np.full(91, m_source), m_target)
        label = f"{d} feature{'s' if d > 1 else ''}"
        distances = [filter_distance(source, np.full(d, rate)) for rate in r]
        panel.plot(r, distances, label=label, markevery=10, **line.options())
    panel.axvline(0, color="0.35", linewidth=0.8, linestyle=":")
    panel.annotate(
        "proper", (0, 0.9), xycoords=("data", "axes fraction"), xytext=(5, 0), textcoords="offset points", color="0.35"
    )
    panel.annotate(
        "improper",
        (0, 0.9),
        xycoords=("data", "axes fraction"),
        xytext=(-5, 0),
        textcoords="offset points",
        ha="right",
        color="0.35",
    )
    panel.set_ylim(bottom=-0.01)
    panel.set_xlabel("relative missingness r of every feature   (mˢ = ½)")
    panel.set_ylabel("total variation distance to the target")
    panel.legend(loc="center right")
    return figure


def _class_law(d: int) -> np.ndarray:
    """Y a fair coin and, given Y, d independent features with P(X_j = 1 | Y) = 0.2 or 0.8."""
    law = np.array([0.5, 0.5])
    for _ in range(d):
        law = np.stack([law * [0.8, 0.2], law * [0.2, 0.8]])
    return law


def _curve(panel: Axes, line: Line, x: Any, y: Any, label: str) -> None:
    panel.plot(x, y, label=label, **{**line.options(), "marker": ""})


def _points(panel: Axes, line: Line, x: Any, y: Any) -> None:
    panel.plot(x, y, linestyle="", marker=line.marker, color=line.color, markerfacecolor="white", markersize=5)


def _explain(figure: Figure, text: str) -> None:
    figure.suptitle(text, fontsize=8)


def _label_mean(panel: Axes) -> None:
    """Mark the risk of predicting the label's mean."""
    panel.axhline(1, color="0.35", linewidth=0.8, linestyle=":")
    panel.annotate(
        "label mean", (1, 1), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7, color="0.35"
    )
