"""Scores in the scenarios with the labels of their stated equations, which the printed numbers do not have."""

import pandas as pd

from dams.report.outputs.score_table import score_table_of, with_exact_scores
from dams.report.summary import Bootstrap, summarise
from dams.report.tables import Table


def stated_labels(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """Means as in table 1; the noise of these labels bounds every score from below (erratum E2)."""
    title, stated = "Target MSE/Var(Y) with the labels of the stated equations", records["labels"] == "structural"
    if not stated.any():
        return Table(title, [], [], pd.DataFrame())
    summary = with_exact_scores(summarise(records[stated], bootstrap))
    return score_table_of(summary, summary, title)
