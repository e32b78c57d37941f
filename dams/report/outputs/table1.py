"""Table 1: target MSE/Var(Y) of every predictor on every data set."""

import pandas as pd

from dams.report.outputs.score_table import main_columns, score_table_of, with_exact_scores
from dams.report.summary import Bootstrap, summarise
from dams.report.tables import Table

TITLE = "Target MSE/Var(Y); best predictor of each block in bold, the oracle (which uses target labels) in grey"


def table1(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """Means in the paper's layout; the CSV holds the intervals, crossed and pooled, and all labels.

    Where there are both, the labels of the scenarios' stated equations have a table of their own, `stated_labels`.
    """
    summary = with_exact_scores(summarise(records, bootstrap))
    return score_table_of(summary, main_columns(summary), TITLE)
