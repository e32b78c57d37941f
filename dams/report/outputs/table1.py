"""Table 1: target MSE/Var(Y) of every predictor on every data set."""

import pandas as pd

from dams.report.outputs.score_table import COLUMN, column_heads, design_notes, score_sections
from dams.report.summary import Bootstrap, summarise
from dams.report.tables import Table


def table1(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """Means in the paper's layout; the CSV holds the intervals, crossed and pooled."""
    summary = summarise(records, bootstrap)
    columns = summary[COLUMN].drop_duplicates()
    return Table(
        title="Target MSE/Var(Y); best predictor of each block in bold, the oracle (which uses target labels) in grey",
        heads=column_heads(columns),
        sections=score_sections(summary, columns, intervals=False),
        data=summary,
        notes=design_notes(summary),
    )
