"""Products of the study of mechanisms; a part of the manifest in `dams.experiments.products`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dams.experiments.product import Part, Product

if TYPE_CHECKING:
    from dams.experiments.config import Config


# What one job runs: a draw of rates and β on one data set.
DRAW = "{dataset}_{number}"

BEYOND_PART = Part(
    "What to do when",
    "Every method where values are lost, or populations differ, by a mechanism that is known",
    (
        "Real covariates, or those of simulated stays in intensive care, with labels Xβ and noise; rows are drawn with "
        "replacement, so that the table is the population. Age is never lost and is the anchor. All predictors are "
        "linear. Every mechanism but the first two comes on top of losses completely at random, at rates that differ "
        "between source and target in either direction.",
        "What the diagnostics say is set beside what is true: check_ucar with and without age as an anchor, and "
        "target_risk, which judges source, filter, two-way and closed form without a label of the target. The "
        "advice in each row follows from its numbers by the rule in the notes below the table.",
    ),
    optional=True,
)


def _with_beyond(config: Config) -> list[dict[str, str]]:
    return [{}] if config.beyond else []


def _each_draw(config: Config) -> list[dict[str, str]]:
    if config.beyond is None:
        return []
    draws = range(config.beyond.draws)
    return [{"dataset": name, "number": str(draw)} for name in config.beyond.datasets for draw in draws]


_BEYOND: dict[str, Any] = {"part": "beyond", "cases": _with_beyond}

BEYOND_PRODUCTS: dict[str, Product] = {
    "beyond_advice": Product(
        "report_beyond",
        "beyond/what_to_do",
        "table",
        "What to do when",
        "What to do under each mechanism, by the rule in the notes; and what check_ucar and target_risk say without a "
        "label of the target.",
        **_BEYOND,
    ),
    "beyond_closed": Product(
        "report_beyond",
        "beyond/shares_closed",
        "table",
        "Share of the gap closed",
        "Share of the gap between source and oracle that each method closes, with intervals over draws.",
        **_BEYOND,
    ),
    "beyond_gap": Product(
        "report_beyond",
        "beyond/gap_closed",
        "figure",
        "Gap closed",
        "Share of the gap between source and oracle that each method closes, all data sets together with intervals "
        "over draws; small marks are data sets. Left of the line a method does harm. Above each panel, how often "
        "check_ucar rejects, by strength.",
        **_BEYOND,
    ),
    "beyond_findings": Product(
        "report_beyond",
        "beyond/findings",
        "data",
        "What held",
        "Bars, and what was measured. docs/beyond.md says which of them were set before the run.",
        **_BEYOND,
    ),
    "beyond_draw_scores": Product(
        "run_beyond", f"beyond/draws/{DRAW}.scores", "step", cases=_each_draw, formats=("csv",)
    ),
    "beyond_draw_checks": Product(
        "run_beyond", f"beyond/draws/{DRAW}.checks", "step", cases=_each_draw, formats=("csv",)
    ),
    "beyond_shares": Product("gather_beyond", "beyond/shares", title="Shares", **_BEYOND),
    "beyond_scores": Product("gather_beyond", "beyond/scores", title="Scores", **_BEYOND),
    "beyond_checks": Product("gather_beyond", "beyond/checks", title="Checks", **_BEYOND),
    "beyond_seen": Product("gather_beyond", "beyond/advice", title="Advice", **_BEYOND),
}
