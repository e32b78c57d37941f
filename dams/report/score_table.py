"""Sections of scores by model family, as the paper's tables have them."""

from __future__ import annotations

import pandas as pd

from dams.datasets.registry import DATASETS
from dams.experiments.methods import METHODS
from dams.models import MODELS
from dams.report.tables import REGIME_SYMBOLS, Entry, Section

# What makes a column of its own.
COLUMN = ["dataset", "regime", "epsilon", "labels"]


def column_heads(columns: pd.DataFrame) -> list[tuple[str, ...]]:
    """Heads for the rows of `columns` (COLUMN): data set, regime, and what else tells them apart."""
    several_labels = columns["labels"].nunique() > 1
    heads = []
    for column in columns.itertuples():
        symbol = REGIME_SYMBOLS.get(column.regime)
        regime = symbol if symbol else str(column.regime)
        if pd.notna(column.epsilon):
            regime += f", ε = {column.epsilon:g}"
        head = [DATASETS[column.dataset].title if column.dataset in DATASETS else str(column.dataset), regime]
        if several_labels:
            head.append(str(column.labels).replace("_", " "))
        heads.append(tuple(head))
    return heads


def score_sections(summary: pd.DataFrame, columns: pd.DataFrame, *, intervals: bool) -> list[Section]:
    """One section a model family, one row a method; the best adjusted or unadjusted method of each column in bold."""
    sections = []
    for model in [m for m in MODELS if m in set(summary["model"])]:
        part = summary[summary["model"] == model]
        keyed = part.set_index([*COLUMN, "method"])[["mean", "lower", "upper"]]
        # Compared as printed: what looks equal is equally bold.
        printed = part[part["method"] != "oracle"].assign(mean=part["mean"].round(3))
        best = printed.groupby(COLUMN, dropna=False)["mean"].min()
        rows = []
        for method in [m for m in METHODS if m in set(part["method"])]:
            entries = []
            for column in columns.itertuples(index=False):
                key = (*column, method)
                if key not in keyed.index:
                    entries.append(Entry("—"))
                    continue
                mean, lower, upper = keyed.loc[key]
                text = f"{mean:.3f}" + (f" ({lower:.3f} – {upper:.3f})" if intervals else "")
                oracle = method == "oracle"
                entries.append(Entry(text, bold=not oracle and round(mean, 3) == best[tuple(column)], grey=oracle))
            rows.append((METHODS[method].title, entries))
        sections.append(Section(f"{MODELS[model].title} models", rows))
    return sections


def design_notes(summary: pd.DataFrame) -> list[str]:
    """Say how many repeats stand behind the numbers, and how many fits failed."""
    repeats = summary.groupby("model", sort=False).agg(draws=("draws", "max"), betas=("betas", "max"))
    per_model = "; ".join(f"{MODELS[m].title}: {row.draws} draws × {row.betas} β" for m, row in repeats.iterrows())
    failures = int(summary["failures"].sum())
    return [f"Repeats per entry: {per_model}.", f"Fits that failed: {failures}{'.' if failures else ', all counted.'}"]
