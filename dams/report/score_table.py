"""Sections of scores by model family, as the paper's tables have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.models import MODELS
from dams.report.tables import REGIME_SYMBOLS, Entry, Section

# Marks a mean over fewer cells than the others of its block have: other cells, so not to be compared with them.
FEWER = "†"
NONE = "—"
# What makes a column of its own.
COLUMN = ["dataset", "regime", "epsilon", "labels"]


def column_heads(columns: pd.DataFrame) -> list[tuple[str, ...]]:
    """Heads for the rows of `columns` (COLUMN): data set, regime, and what else tells them apart."""
    several_labels = len(set(columns["labels"])) > 1
    heads = []
    for column in columns.to_dict("records"):
        dataset, regime = str(column["dataset"]), str(column["regime"])
        regime = REGIME_SYMBOLS.get(regime, regime)
        if pd.notna(column["epsilon"]):
            regime += f", ε = {column['epsilon']:g}"
        head = [title_of(dataset), regime]
        heads.append((*head, str(column["labels"]).replace("_", " ")) if several_labels else tuple(head))
    return heads


def score_sections(summary: pd.DataFrame, columns: pd.DataFrame, *, intervals: bool) -> list[Section]:
    """One section a model family, one row a method; the best method that needs no target labels in bold."""
    sections = []
    for model in [m for m in MODELS if m in set(summary["model"])]:
        part = summary[summary["model"] == model]
        found = {(_key(row), row["method"]): row for row in part.to_dict("records")}
        most: dict[tuple[str, ...], int] = {}
        for (column, _), row in found.items():
            most[column] = max(_cells(row), most.get(column, 0))
        # Compared as printed: what looks equal is equally bold.
        best: dict[tuple[str, ...], float] = {}
        for (column, method), row in found.items():
            if method != "oracle" and not math.isnan(row["mean"]) and _cells(row) == most[column]:
                best[column] = min(round(row["mean"], 3), best.get(column, math.inf))
        rows = []
        for method in [m for m in METHODS if m in set(part["method"])]:
            entries = []
            for column in map(_key, columns.to_dict("records")):
                score, text = found.get((column, method)), NONE
                bold = False
                if score is not None and not math.isnan(score["mean"]):
                    fewer = _cells(score) < most[column]
                    text = _text(score, intervals) + (FEWER if fewer else "")
                    bold = method != "oracle" and not fewer and round(score["mean"], 3) == best.get(column)
                entries.append(Entry(text, bold=bold, grey=method == "oracle"))
            rows.append((METHODS[method].title, entries))
        sections.append(Section(f"{MODELS[model].title} models", rows))
    return sections


def _key(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """A column's key as text, so that a missing ε equals itself."""
    return tuple(str(row[name]) for name in COLUMN)


def _cells(row: Mapping[Any, Any]) -> int:
    return int(row["draws"]) * int(row["betas"])


def _text(row: Mapping[Any, Any], intervals: bool) -> str:
    text = f"{row['mean']:.3f}"
    # A single run has no interval.
    return f"{text} ({row['lower']:.3f} – {row['upper']:.3f})" if intervals and not math.isnan(row["lower"]) else text


def design_notes(summary: pd.DataFrame) -> list[str]:
    """Say how many repeats stand behind the numbers, and how many fits failed."""
    repeats = summary.groupby("model", sort=False).agg(draws=("draws", "max"), betas=("betas", "max"))
    per_model = "; ".join(f"{MODELS[str(m)].title}: {row.draws} draws × {row.betas} β" for m, row in repeats.iterrows())
    failures = int(summary["failures"].sum())
    notes = [f"Repeats per entry: {per_model}.", f"Fits that failed: {failures}."]
    cells = summary["draws"] * summary["betas"]
    fewer = summary[
        cells < cells.groupby([summary[name] for name in [*COLUMN, "model"]], dropna=False).transform("max")
    ]
    if not fewer.empty:
        sizes = fewer.drop_duplicates(["method", "draws", "betas"]).to_dict("records")
        which = "; ".join(f"{METHODS[row['method']].title}: {row['draws']} × {row['betas']}" for row in sizes)
        notes.insert(
            1, f"{FEWER} Over fewer cells ({which}), so never bold; paired differences compare on the same cells."
        )
    return notes
