"""Table and figure of what to do when: shares of the gap by mechanism, and what the diagnostics saw."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from dams.experiments.beyond.cells import HIGHEST, TEST_ROWS
from dams.experiments.beyond.methods import METHODS
from dams.experiments.beyond.names import MECHANISMS
from dams.experiments.beyond.summary import ALL, FOLLOWED, MOST, SEEN, TOLERANCE, UNSEEN, WORTH_IT
from dams.report.colours import BLUE, ORANGE, VERMILION
from dams.report.figures import FULL_WIDTH, legend_below, letter_panels, new_figure
from dams.report.run_files import rows_of
from dams.report.tables import Entry, Section, Table

# Shares below this are marked at the edge: one method that fails would hide what the others differ by.
LEAST = -1.0
# Ends of intervals above this say no more than this.
GREATEST = 2.0
_STYLES = ((ORANGE, "D"), (BLUE, "o"), (VERMILION, "s"))


def titles() -> dict[str, str]:
    """Return the title of every method, and of what is followed."""
    return {name: method.title for name, method in METHODS.items()} | FOLLOWED


def as_percent(value: float) -> str:
    """Write a share; one far below zero, or far above one, as that."""
    if pd.isna(value):
        return "–"
    text = f"{100 * min(max(value, LEAST), GREATEST):.0f} %".replace("-", "−")
    return f"≤ {text}" if value < LEAST else f"≥ {text}" if value > GREATEST else text


RULE = (
    f"The rule behind what to do, row by row: where no data set has a gap of {WORTH_IT:g} Var(Y), the source "
    "predictor is kept. Otherwise the method is taken whose interval has the highest lower end: “adapt” where that end "
    f"is at least {as_percent(MOST)}, “in part” where it is above 0, else the source predictor is kept. “check_ucar "
    f"warns” where it rejects, or finds another population, in at least {as_percent(SEEN)} of draws, and “no check "
    f"warns” where in at most {as_percent(UNSEEN)}. Where it warns and age does not explain it, labels come first: "
    "which method helps is known here from the truth alone."
)


def advice_table(advice: pd.DataFrame) -> Table:
    """One row per mechanism and strength: what to do, and what the diagnostics saw."""

    def entries(row: Any) -> list[Entry]:
        found = [Entry(row["to_do"], words=True)]
        found += [Entry(as_percent(row[key])) for key in ("rejected", "rejected_given_age", "population_differs")]
        for end in ("", "_given_age"):
            found.append(Entry(f"{row[f'risk_error{end}']:.3f}", f"{as_percent(row[f'risk_right{end}'])} right"))
        return found

    # Lines of a few letters each, so that all columns fit a page.
    heads: list[tuple[str, ...]] = [("What to do",), ("check_ucar", "rejects"), ("check_ucar", "rejects", "given age")]
    heads += [("check_ucar", "other", "population"), ("target_risk", "error"), ("target_risk", "error", "given age")]
    return Table(
        title="What to do, and what can be seen without target labels",
        heads=heads,
        sections=_sections(advice, entries),
        data=advice,
        notes=[
            RULE,
            "target_risk: mean distance of its estimate from the truth, in Var(Y), and how often its choice is right. "
            "That among source, filter, two-way and closed form is right if it loses less than "
            f"{as_percent(TOLERANCE)} of the gap on the best; "
            "given age, the closed form with anchors is among them.",
        ],
    )


def shares_table(shares: pd.DataFrame, advice: pd.DataFrame) -> Table:
    """One row per mechanism and strength: the share of the gap that each method closes, with its interval."""
    together = shares[shares["dataset"] == ALL]
    named = titles()
    # What a careful user would do comes first: on a page of some width the last columns are out of sight.
    methods = [name for name in ("advised", *METHODS, *FOLLOWED) if name in set(shares["method"])]
    methods = [name for name in dict.fromkeys(methods) if name not in ("source", "oracle")]

    def entries(row: Any) -> list[Entry]:
        here = (together["mechanism"] == row["mechanism"]) & (together["strength"] == row["strength"])
        of = together[here].set_index("method")
        best = of.loc[[name for name in methods if name in METHODS], "share"].max()
        found = [Entry(f"{row[f'{name}_score']:.3f}", grey=True) for name in ("source", "oracle")]
        return found + [_share(of.loc[name], bold=of["share"][name] == best and name in METHODS) for name in methods]

    return Table(
        title="Share of the gap between source and oracle that is closed",
        # In two lines where a title has several words, so that more columns fit a page.
        heads=[("Source",), ("Oracle",), *(tuple(re.split(", | ", named[name], maxsplit=1)) for name in methods)],
        sections=_sections(advice, entries),
        data=together,
        notes=[
            "Scores are the target’s MSE/Var(Y) of linear predictors, means over data sets and draws; shares are means "
            f"over data sets whose gap is at least {WORTH_IT:g}, with 95 % intervals over draws; the best in bold.",
            f"Rates of loss are U(0, {HIGHEST:g}) in both domains. Every predictor is tested on {TEST_ROWS} times as "
            "many rows as it was fitted on.",
            "Diagnostics followed: where check_ucar finds nothing, target_risk’s choice; where age explains what it "
            "finds, target_risk’s choice given age; otherwise source.",
            "Optimal transport is that between Gaussian laws; reweighting is by a classifier of the domains.",
        ],
    )


def _sections(advice: pd.DataFrame, entries: Callable[[Any], list[Entry]]) -> list[Section]:
    """Return a section per mechanism, with a row per strength."""
    sections = []
    for mechanism, part in advice.groupby("mechanism", sort=False):
        about = MECHANISMS[str(mechanism)]
        rows = [("" if mechanism == "none" else f"strength {row['strength']:g}", entries(row)) for row in rows_of(part)]
        sections.append(Section(f"{about.title}: {about.about}", rows))
    return sections


def _share(row: Any, *, bold: bool) -> Entry:
    if pd.isna(row["share"]):
        return Entry("–")
    return Entry(as_percent(row["share"]), f"{as_percent(row['lower'])} to {as_percent(row['upper'])}", bold=bold)


def gap_figure(shares: pd.DataFrame, advice: pd.DataFrame) -> Figure:
    """Draw the share of the gap closed by each method, a panel per mechanism, one colour per strength."""
    named = titles()
    known = shares.dropna(subset=["share"])
    # Without a gap there is nothing to draw, unless there is nothing else.
    drawn = set(known["mechanism"]) or set(shares["mechanism"])
    mechanisms = [name for name in MECHANISMS if name in drawn]
    methods = [name for name in named if name in set(shares["method"]) - {"source", "oracle"}]
    strengths = sorted(set(known["strength"])) or [0.0]
    columns = min(len(mechanisms), 2)
    rows = -(-len(mechanisms) // columns)
    # Every panel names its methods: on a phone it is seen alone.
    figure, axes = new_figure(rows, columns, width=FULL_WIDTH, height=rows * (0.24 * len(methods) + 0.9) + 0.6)
    for panel, mechanism in zip(axes.flat, mechanisms, strict=False):
        part = known[known["mechanism"] == mechanism]
        for number, strength in enumerate(strengths):
            color, marker = _STYLES[number % len(_STYLES)]
            here = part[part["strength"] == strength]
            place = np.arange(len(methods)) + 0.34 * (number - (len(strengths) - 1) / 2)
            for _, each in here[here["dataset"] != ALL].groupby("dataset"):
                values = each.set_index("method")["share"].reindex(methods).clip(lower=LEAST)
                panel.plot(values, place, ".", color=color, alpha=0.35, markersize=3)
            whole = here[here["dataset"] == ALL].set_index("method").reindex(methods)
            panel.hlines(place, whole["lower"].clip(LEAST, 1.2), whole["upper"].clip(LEAST, 1.2), color=color, lw=1.2)
            inside = (whole["share"] >= LEAST).to_numpy()
            label = f"strength {strength:g}"
            panel.plot(whole["share"][inside], place[inside], marker, color=color, markersize=4.5, label=label)
            for position in place[~inside & whole["share"].notna().to_numpy()]:
                panel.annotate("◂", (LEAST, position), color=color, va="center", ha="left", fontsize=8)
        panel.axvline(0, color="0.35", linewidth=0.8)
        panel.axvline(1, color="0.35", linewidth=0.8, linestyle=":")
        warned = advice[advice["mechanism"] == mechanism]
        rejects = ", ".join(as_percent(value) for value in warned["rejected"])
        panel.set_title(f"{MECHANISMS[mechanism].title}\nrejected: {rejects}")
        panel.set_xticks([-1, -0.5, 0, 0.5, 1])
        panel.set(xlim=(LEAST - 0.03, 1.2), ylim=(len(methods) - 0.5, -0.5))
        panel.set_yticks(range(len(methods)), [named[name] for name in methods])
        panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        panel.set_xlabel("share of the gap closed")
    for panel in axes.flat[len(mechanisms) :]:
        panel.set_visible(False)
    letter_panels(axes.flat)
    legend_below(figure, axes[0, 0], columns=len(strengths), room=1)
    return figure
