"""Table 1: target MSE/Var(Y) of every predictor on every data set."""

import pandas as pd

from dams.datasets.registry import is_scenario
from dams.report.outputs.score_table import COLUMN, column_heads, design_notes, score_sections
from dams.report.summary import Bootstrap, summarise
from dams.report.tables import Table
from dams.theory.scenarios import exact_scores

TITLE = "Target MSE/Var(Y); best predictor of each block in bold, the oracle (which uses target labels) in grey"


def table1(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """Means in the paper's layout; the CSV holds the intervals, crossed and pooled, and all labels.

    Where there are both, the labels of the scenarios' stated equations have a table of their own, `stated_labels`.
    """
    summary = with_exact_scores(summarise(records, bootstrap))
    return score_table_of(summary, main_columns(summary), TITLE)


def score_table_of(data: pd.DataFrame, shown: pd.DataFrame, title: str) -> Table:
    """Return a table of the columns of `shown`, with all of `data` behind it."""
    columns = shown[COLUMN].drop_duplicates()
    sections = score_sections(shown, columns, intervals=False)
    return Table(title, column_heads(columns), sections, data, design_notes(shown))


def main_columns(summary: pd.DataFrame) -> pd.DataFrame:
    """Leave the labels of the stated equations out, unless there are no others."""
    others = summary[summary["labels"] != "structural"] if len(summary) else summary
    return others if len(others) else summary


def with_exact_scores(summary: pd.DataFrame) -> pd.DataFrame:
    """Add the exact scores of linear predictors in the scenarios, in a column `exact`."""
    rows = summary.to_dict("records")
    return summary.assign(exact=pd.Series([_exact(row) for row in rows], index=summary.index, dtype=float))


def _exact(row: dict) -> float:
    if not (is_scenario(row["dataset"]) and row["model"] == "linear" and pd.notna(row["epsilon"])):
        return float("nan")
    scores = exact_scores(row["dataset"], row["epsilon"], row["labels"])
    return scores.get(row["method"].removesuffix("_as_published"), float("nan"))
