"""Paired differences: what a method gains over no adjustment, and how far it stays behind the oracle."""

from __future__ import annotations

import math

import pandas as pd

from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.report.outputs.score_table import COLUMN, column_heads
from dams.report.summary import Bootstrap, differences_from
from dams.report.tables import Entry, Section, Table

REFERENCES = ("source", "oracle")


def paired_differences(records: pd.DataFrame, bootstrap: Bootstrap) -> Table:
    """One section per reference and model family, one row per data set and regime, one column per method."""
    parts = [differences_from(records, name, bootstrap) for name in REFERENCES]
    parts = [part for part in parts if not part.empty]
    data = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["model", "method", "reference"])
    methods = [name for name in METHODS if name in set(data["method"])]
    sections = []
    for reference in REFERENCES:
        for model in [name for name in MODELS if name in set(data["model"])]:
            part = data[(data["reference"] == reference) & (data["model"] == model)]
            rows = []
            for _, group in part.groupby(["study", *COLUMN], dropna=False, sort=False):
                found = {row["method"]: row for row in group.to_dict("records")}
                label = ", ".join(column_heads(group[COLUMN].drop_duplicates())[0])
                rows.append((label, [_entry(found.get(name)) for name in methods]))
            if rows:
                title = f"{MODELS[model].title} models, difference from {METHODS[reference].title.lower()}"
                sections.append(Section(title, rows))
    return Table(
        title="Paired differences in target MSE/Var(Y); bold where the interval excludes 0",
        heads=[(METHODS[name].title,) for name in methods],
        sections=sections,
        data=data,
        notes=["Negative: better than the reference. Each difference is taken within a cell, so shared rates cancel."],
    )


def _entry(row: dict | None) -> Entry:
    if row is None:
        return Entry("—")
    text = f"{row['difference']:+.3f}"
    # A single cell has no interval.
    if not math.isnan(row["lower"]):
        text += f" ({row['lower']:+.3f} to {row['upper']:+.3f})"
    return Entry(text.replace("-", "−"), bold=bool(row["lower"] > 0 or row["upper"] < 0))
