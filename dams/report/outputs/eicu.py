"""The two eICU tables, and how often each feature is recorded in the two hospitals as a figure."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from dams.datasets.eicu.names import HOSPITALS
from dams.experiments.eicu.run import PREDICTORS
from dams.experiments.eicu.scores import METRICS
from dams.experiments.methods import METHODS
from dams.report.colours import BLUE, GREY, VERMILION
from dams.report.figures import legend_below, new_figure
from dams.report.tables import Entry, Section, Table

_VARIANTS = {"corrected": "corrected", "as_published": "protocol as published", "published": "printed in the paper"}
_INTERVALS = {
    "corrected": "Corrected: one test fold of target patients for every method, percentiles over resampled patients.",
    "as_published": "Protocol as published: ± 1.69 σ, which is 91 %; only the oracle is tested on held-out rows.",
    "published": f"Printed in the paper: real data of hospitals {HOSPITALS[0]} (H1) and {HOSPITALS[1]} (H2).",
}
_STABILISED = (
    "Closed form, corrected: solved with the target's Gram matrix, or with the source's carried over where that is "
    "estimated to predict the target better; the log of the run says which."
)
# Colour and shape both tell the groups apart.
_GROUPS = {
    "more often in H2: interval of r below 0": (BLUE, "^"),
    "no clear difference: interval of r holds 0": (GREY, "o"),
    "more often in H1: interval of r above 0": (VERMILION, "v"),
}
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def performance_table(results: pd.DataFrame, *, simulated: bool) -> Table:
    """Scores of every method with their intervals; one section per variant and direction.

    Parameters
    ----------
    results : DataFrame
        Rows of `run_eicu`, `run_eicu_as_published` or both, and, with the same columns and variant "published", the
        paper's own.
    simulated : bool
    """
    sections = []
    for variant in [name for name in _VARIANTS if name in set(results["variant"])]:
        of_variant = results[results["variant"] == variant]
        for target in sorted(of_variant["target"].unique()):
            shown = of_variant[of_variant["target"] == target]
            oracle = shown[shown["source"] == target]
            for source in sorted(set(shown["source"]) - {target}):
                rows = pd.concat([oracle, shown[shown["source"] == source]])
                sections.append(Section(f"{source} to {target}, {_VARIANTS[variant]}", _score_rows(rows)))
    failed = results.loc[
        results["failure"].fillna("") != "", ["method", "source", "target", "failure"]
    ].drop_duplicates()
    return Table(
        title=_titled("Target performance of linear models on eICU 48-hour mortality, with intervals", simulated),
        heads=[("MSE",), ("AUROC",), ("AUPRC",)],
        sections=sections,
        data=results,
        notes=[_INTERVALS[v] for v in _INTERVALS if v in set(results["variant"])]
        + [_STABILISED] * ("corrected" in set(results["variant"]))
        + [f"No score for {f.method}, {f.source} to {f.target}: {f.failure}" for f in failed.itertuples()],
    )


def feature_table(coefficients: pd.DataFrame, *, simulated: bool) -> Table:
    """Coefficients and prevalences of the features that matter most to either oracle (see `top_features`)."""
    rows = [
        # A bar would end the cell in Markdown, and is another character in LaTeX; the CSV has the name as it is.
        (str(feature).replace("|", " / "), [Entry(f"{value:.3f}") for value in values])
        for feature, values in zip(coefficients.index, coefficients.to_numpy(), strict=True)
    ]
    return Table(
        title=_titled("Strongest features of the two hospitals' oracles", simulated),
        heads=[("β", "H1"), ("β", "H2"), ("q", "H1"), ("q", "H2"), ("q", "H2/H1")],
        sections=[Section("", rows)],
        data=coefficients.reset_index(),
    )


def prevalence_figure(relative: pd.DataFrame, *, simulated: bool) -> Figure:
    """Share of stays with each feature in H1 and H2, one mark per feature.

    On logarithmic axes the distance from the diagonal is log(q_2/q_1) = log(1 − r).

    Parameters
    ----------
    relative : DataFrame
        Rows of `relative_missingness`; those from H1 to H2 are shown.
    simulated : bool
    """
    rows = relative[(relative["source"] == "H1") & (relative["target"] == "H2")]
    figure, axes = new_figure(1, 1, width=4.2, height=4.6)
    panel = axes[0, 0]
    panel.axline((0.1, 0.1), (1, 1), color="0.4", linewidth=0.8, zorder=1)
    members = [rows["upper"] < 0, ~rows["excludes_zero"], rows["lower"] > 0]
    for (name, (colour, marker)), chosen in zip(_GROUPS.items(), members, strict=True):
        panel.plot(
            rows.loc[chosen, "q_source"],
            rows.loc[chosen, "q_target"],
            marker,
            color=colour,
            markersize=4,
            alpha=0.7,
            markeredgewidth=0,
            label=f"{name} ({int(chosen.sum())})",
        )
    lowest = 0.8 * min(rows["q_source"].min(), rows["q_target"].min())
    panel.set(xscale="log", yscale="log", xlim=(lowest, 1.1), ylim=(lowest, 1.1), aspect="equal")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(FixedLocator([share for share in _TICKS if share >= lowest]))
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
        axis.set_minor_locator(NullLocator())
    panel.set_xlabel("stays with the feature, H1")
    panel.set_ylabel("stays with the feature, H2")
    panel.set_title(_titled("How often each feature is recorded", simulated))
    legend_below(figure, panel, columns=1, room=3)
    return figure


def _titled(title: str, simulated: bool) -> str:
    return f"{title} (simulated)" if simulated else title


def _score_rows(rows: pd.DataFrame) -> list[tuple[str, list[Entry]]]:
    """One row per method; the best but the oracle is bold in each column."""
    adapted = rows[rows["method"] != "oracle"]
    best = {
        metric: values.min() if metric == "mse" else values.max()
        for metric, values in adapted.groupby("metric")["value"]
    }
    by_method = {
        (method, metric): scores.iloc[0] for (method, metric), scores in rows.groupby(["method", "metric"], sort=False)
    }
    return [
        (_method_title(method), [_entry(by_method.get((method, metric)), best[metric]) for metric in METRICS])
        for method in PREDICTORS
        if method in set(rows["method"])
    ]


def _entry(score: pd.Series | None, best: float) -> Entry:
    if score is None or pd.isna(score["value"]):
        return Entry("–")
    text = f"{score['value']:.3f} ({score['lower']:.3f}, {score['upper']:.3f})"
    oracle = score["method"] == "oracle"
    return Entry(text, bold=not oracle and score["value"] == best, grey=oracle)


def _method_title(method: str) -> str:
    return METHODS[method].title if method in METHODS else method.capitalize()
