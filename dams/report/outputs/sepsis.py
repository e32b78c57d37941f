"""Tables and figures of the two hospitals: masks that were moved, the shift as it is, and r against recording."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from dams.experiments.sepsis.methods import METHODS, MODELS
from dams.experiments.sepsis.natural import SCORES
from dams.report.colours import BLACK, BLUE, GREY, ORANGE, VERMILION
from dams.report.figures import FULL_WIDTH, legend_below, letter_panels, new_figure, note_above, off_the_scale
from dams.report.run_files import rows_of
from dams.report.tables import Entry, Section, Table

_MASKS = {"transplanted": ("transplanted patterns", BLUE, "o"), "ucar": ("simulated, same rates", ORANGE, "D")}
_MODELS = {"linear": ("linear", BLUE, "o"), "logistic": ("logistic", ORANGE, "D"), "boosted": ("boosted", BLACK, "s")}
_HEADS = {
    "mse": "MSE/Var(Y)",
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "calibration": "Calibration slope",
}
# Shares below this are marked at the edge: one method that fails would hide what the others differ by.
_LEAST_SHARE = -0.5
# Excesses above this likewise.
_MOST_EXCESS = 0.1
# A calibration slope beyond this says that the predictions do not vary.
_NO_SLOPE = 1e6


def _scope(hospital: str, gets: str) -> str:
    return f"{hospital}’s patients, the {gets} loses"


def gap_figure(masks: pd.DataFrame, shares: pd.DataFrame) -> Figure:
    """Draw the share of the gap closed by each method, a panel per hospital and side.

    Parameters
    ----------
    masks, shares : DataFrame
        What `run_masks` and `gap_closed` return; labels Xβ are shown.
    """
    masks, shares = (frame[frame["labels"] == "linear"] for frame in (masks, shares))
    methods = [name for name in METHODS if name in set(shares["method"]) - {"oracle", "source"}]
    scopes = list(dict.fromkeys(zip(shares["hospital"], shares["gets"], strict=True)))
    columns = 2
    rows = -(-len(scopes) // columns)
    figure, axes = new_figure(rows, columns, width=FULL_WIDTH, height=0.34 * rows * len(methods) + 1.6)
    for panel, (hospital, gets) in zip(axes.flat, scopes, strict=True):
        here = (shares["hospital"] == hospital) & (shares["gets"] == gets)
        for number, (kind, (label, color, marker)) in enumerate(_MASKS.items()):
            place = np.arange(len(methods)) + 0.32 * number - 0.16
            part = shares[here & (shares["masks"] == kind)].set_index("method").reindex(methods)
            each = _split_shares(masks, hospital, gets, kind).reindex(columns=methods)
            for position, method in zip(place, methods, strict=True):
                drawn = each[method][each[method] >= _LEAST_SHARE]
                panel.plot(drawn, np.full(len(drawn), position), ".", color=color, alpha=0.35, markersize=3)
            panel.hlines(place, part["lower"].clip(_LEAST_SHARE), part["upper"], color=color, linewidth=1.2)
            inside = part["share"] >= _LEAST_SHARE
            panel.plot(part["share"][inside], place[inside], marker, color=color, markersize=4.5, label=label)
            for position in place[~inside]:
                panel.annotate("◂", (_LEAST_SHARE, position), color=color, va="center", ha="left", fontsize=8)
        panel.axvline(0, color="0.35", linewidth=0.8)
        panel.axvline(1, color="0.35", linewidth=0.8, linestyle=":")
        panel.set(title=_scope(hospital, gets), xlabel="share of the gap closed")
        panel.set(xlim=(_LEAST_SHARE - 0.02, 1.15), ylim=(len(methods) - 0.5, -0.5))
        panel.set_yticks(range(len(methods)), [_in_two_lines(name) for name in methods])
        panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    letter_panels(axes.flat)
    legend_below(figure, axes[0, 0], columns=2, room=1)
    return figure


def _split_shares(masks: pd.DataFrame, hospital: str, gets: str, kind: str) -> pd.DataFrame:
    """Share of every split, (splits, methods)."""
    part = masks[(masks["hospital"] == hospital) & (masks["gets"] == gets) & (masks["masks"] == kind)]
    scores = part.pivot(index="split", columns="method", values="score")
    return scores.rsub(scores["source"], axis=0).div(scores["source"] - scores["oracle"], axis=0)


def mask_table(shares: pd.DataFrame) -> Table:
    """Mean score of every method by hospital and side; a section per kind of mask and labels."""
    scopes = list(dict.fromkeys(zip(shares["hospital"], shares["gets"], strict=True)))
    names = {"linear": "labels Xβ", "sepsis": "sepsis"}
    sections = []
    for (kind, labels), part in shares.groupby(["masks", "labels"], sort=False):
        scores = part.pivot(index="method", columns=["hospital", "gets"], values="score")[scopes]
        free = [name for name in scores.index if METHODS[name].needs != "target labels"]
        best = scores.loc[free].min()
        rows = [
            (_titled(name), [_best(float(scores[scope][name]), best[scope], name) for scope in scopes])
            for name in METHODS
            if name in scores.index
        ]
        sections.append(Section(f"{_MASKS[str(kind)][0].capitalize()}, {names[str(labels)]}", rows))
    return Table(
        title="Target MSE/Var(Y) of linear predictors on patients of one hospital, means over splits",
        heads=[(f"patients of {hospital}", f"{gets} loses") for hospital, gets in scopes],
        sections=sections,
        data=shares,
        notes=["With sepsis as the label the whole gap between source and oracle is often smaller than its error."],
    )


def _best(value: float, best: float, method: str) -> Entry:
    if pd.isna(value):
        return Entry("–")
    labelled = METHODS[method].needs == "target labels"
    return Entry(f"{value:.3f}", bold=not labelled and value == best, grey=labelled)


def performance_table(scores: pd.DataFrame) -> Table:
    """Scores of every model and method with their intervals, a section per direction and model."""
    sections = []
    for (source, target, model), part in scores.groupby(["source", "target", "model"], sort=False):
        shown = part[part["metric"].isin(SCORES)]
        rows = [
            (_titled(str(name)), [_scored(own, metric) for metric in SCORES])
            for name, own in shown.groupby("method", sort=False)
        ]
        sections.append(Section(f"{source} to {target}, {model}", rows))
    failed = scores[scores["failure"].fillna("") != ""].drop_duplicates(["source", "target", "model", "method"])
    return Table(
        title="Sepsis after the first day: every predictor, with 95 % intervals over patients",
        heads=[(head,) for head in _HEADS.values()],
        sections=sections,
        data=scores,
        notes=[
            f"No score for {f.method}, {f.model}, {f.source} to {f.target}: {f.failure}" for f in failed.itertuples()
        ],
    )


def _titled(method: str) -> str:
    entry = METHODS[method]
    return f"{entry.title} ({entry.needs})" if entry.needs else entry.title


def _in_two_lines(method: str) -> str:
    return _titled(method).replace(" (", "\n(")


def _scored(rows: pd.DataFrame, metric: str) -> Entry:
    found = rows[rows["metric"] == metric]
    # Predictions that all but agree, as those of weights that vanish, have no slope.
    if found.empty or pd.isna(found["value"].iloc[0]) or abs(found["value"].iloc[0]) > _NO_SLOPE:
        return Entry("–")
    score = found.iloc[0]
    text = f"{score['value']:.3f} ({score['lower']:.3f}, {score['upper']:.3f})"
    return Entry(text, grey=METHODS[score["method"]].needs == "target labels")


def excess_figure(scores: pd.DataFrame) -> Figure:
    """Draw how far each method is above its source predictor, a panel per direction."""
    excess = scores[(scores["metric"] == "excess") & (scores["method"] != "source")]
    methods = [name for name in METHODS if name in set(excess["method"])]
    directions = list(dict.fromkeys(zip(excess["source"], excess["target"], strict=True)))
    figure, axes = new_figure(1, len(directions), width=FULL_WIDTH, height=0.34 * len(methods) + 1.1)
    for panel, (source, target) in zip(axes.flat, directions, strict=True):
        here = excess[(excess["source"] == source) & (excess["target"] == target)]
        beyond = 0
        for number, (model, (label, color, marker)) in enumerate(_MODELS.items()):
            part = here[here["model"] == model].set_index("method").reindex(methods)
            place = np.arange(len(methods)) + 0.25 * (number - 1)
            drawn = (part["value"] <= _MOST_EXCESS).to_numpy()
            off = (part["value"] > _MOST_EXCESS).to_numpy()
            beyond += int(off.sum())
            for position in place[off]:
                where = {"transform": panel.get_yaxis_transform(), "ha": "right", "va": "center"}
                panel.text(1, position, "▸", color=color, fontsize=8, **where)
            upper = part["upper"].clip(upper=_MOST_EXCESS)
            panel.hlines(place[drawn], part["lower"][drawn], upper[drawn], color=color, linewidth=1.2)
            panel.plot(part["value"][drawn], place[drawn], marker, color=color, markersize=4, label=label)
        panel.axvline(0, color="0.35", linewidth=0.8)
        panel.set(
            title=f"{source} → {target}", xlabel="MSE/Var(Y) minus that of source", ylim=(len(methods) - 0.5, -0.5)
        )
        panel.set_yticks(range(len(methods)), [_in_two_lines(name) for name in methods])
        panel.xaxis.set_major_locator(MaxNLocator(5))
        note_above(panel, off_the_scale(beyond))
    letter_panels(axes.flat)
    legend_below(figure, axes[0, 0], columns=len(MODELS), room=1)
    return figure


def recording_figure(ratios: pd.DataFrame) -> Figure:
    """Draw 1 − r̂ against the ratio of recording, one mark per flag, from A to B."""
    part = ratios[ratios["source"] == ratios["source"].iloc[0]]
    source, target = part["source"].iloc[0], part["target"].iloc[0]
    figure, axes = new_figure(1, 1, width=5.4, height=5.2)
    panel = axes[0, 0]
    bent = np.abs(np.log(part["population"])) > np.log(2)
    for chosen, label, color, marker in (
        (~bent, "within a factor of two", BLUE, "o"),
        (bent, "further off", VERMILION, "^"),
    ):
        shown = part[chosen]
        panel.vlines(shown["recording"], shown["lower"], shown["upper"], color=color, linewidth=0.9, alpha=0.7)
        name = f"{label} ({len(shown)})"
        panel.plot(shown["recording"], shown["kept"], marker, color=color, markersize=4, markeredgewidth=0, label=name)
    panel.axline((1, 1), slope=1, color="0.35", linewidth=0.8, zorder=1)
    panel.axvline(1, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    panel.axhline(1, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    panel.set(xscale="log", yscale="log", xlabel=f"recorded in {target} over recorded in {source}", ylabel="1 − r̂")
    _plain_numbers(panel)
    _name_furthest(panel, part[bent].assign(off=np.abs(np.log(part["population"]))).nlargest(6, "off"))
    legend_below(figure, panel, columns=2, room=1)
    return figure


def _plain_numbers(panel: Axes) -> None:
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())


def _name_furthest(panel: Axes, rows: pd.DataFrame) -> None:
    for row in rows_of(rows):
        name = str(row["flag"]).replace("_", " ")
        # To the side that most marks, which lie on the line, leave free.
        left = row["recording"] < min(row["kept"], 1)
        panel.annotate(
            name,
            (row["recording"], row["kept"]),
            xytext=(-5 if left else 5, 3),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=7,
            color="0.3",
        )
