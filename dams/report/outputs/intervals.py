"""The appendix tables: scores of one data set with intervals."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from dams.report.outputs.score_table import COLUMN, column_heads, design_notes, score_sections
from dams.report.summary import Bootstrap, summarise
from dams.report.tables import Table


def intervals(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """Means with crossed-bootstrap intervals, and once more with the pooled intervals of the paper."""
    summary = summarise(records, bootstrap)
    columns = summary[COLUMN].drop_duplicates()
    pooled = summary.assign(lower=summary["pooled_lower"], upper=summary["pooled_upper"])
    crossed_sections = score_sections(summary, columns, intervals=True)
    pooled_sections = score_sections(pooled, columns, intervals=True)
    return Table(
        title=f"Target MSE/Var(Y) with {bootstrap.confidence:.0%} intervals",
        heads=column_heads(columns),
        sections=[
            *crossed_sections,
            *(
                replace(section, title=f"{section.title}, pooled intervals (as published)")
                for section in pooled_sections
            ),
        ],
        data=summary,
        notes=[
            "Intervals: bootstrap over rate draws and β, which are crossed, stretched where these are few. The pooled "
            "ones take all entries for independent and are too narrow.",
            *design_notes(summary),
        ],
    )
