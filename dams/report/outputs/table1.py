"""Table 1: target MSE/Var(Y) of every predictor on every data set."""

import pandas as pd

from dams.datasets.registry import is_scenario
from dams.report.outputs.score_table import COLUMN, column_heads, design_notes, score_sections
from dams.report.summary import Bootstrap, summarise
from dams.report.tables import Table
from dams.theory.scenarios import exact_scores


def table1(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """Means in the paper's layout; the CSV holds the intervals, crossed and pooled."""
    summary = with_exact_scores(summarise(records, bootstrap))
    columns = summary[COLUMN].drop_duplicates()
    return Table(
        title="Target MSE/Var(Y); best predictor of each block in bold, the oracle (which uses target labels) in grey",
        heads=column_heads(columns),
        sections=score_sections(summary, columns, intervals=False),
        data=summary,
        notes=design_notes(summary),
    )


def with_exact_scores(summary: pd.DataFrame) -> pd.DataFrame:
    """Add the exact scores of linear predictors in the scenarios, in a column `exact`."""

    def exact(row: pd.Series) -> float:
        known = is_scenario(row["dataset"]) and row["model"] == "linear" and pd.notna(row["epsilon"])
        method = row["method"].removesuffix("_as_published")
        return (
            exact_scores(row["dataset"], row["epsilon"], row["labels"]).get(method, float("nan"))
            if known
            else float("nan")
        )

    return summary.assign(exact=summary.apply(exact, axis="columns") if len(summary) else [])
