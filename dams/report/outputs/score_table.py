"""Sections of scores by model family, as the paper's tables have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dams.datasets.registry import is_scenario, title_of
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.report.summary import on_fewer_cells
from dams.report.tables import REGIME_SYMBOLS, Entry, Section, Table
from dams.theory.scenarios import exact_scores

# Marks a mean over fewer cells than the others of its block have: what it compares with is the oracle's over the same.
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


def _exact(row: Mapping[Any, Any]) -> float:
    if not (is_scenario(row["dataset"]) and row["model"] == "linear" and pd.notna(row["epsilon"])):
        return float("nan")
    scores = exact_scores(row["dataset"], row["epsilon"], row["labels"])
    return scores.get(row["method"].removesuffix("_as_published"), float("nan"))


def score_sections(
    summary: pd.DataFrame,
    columns: pd.DataFrame,
    *,
    intervals: bool,
    printed: Mapping[tuple[str, ...], float] | None = None,
    brief: bool = False,
) -> list[Section]:
    """One section per model family, one row per method; the best method that needs no target labels in bold.

    `printed` has the paper's numbers by data set, regime, model and method, for small print. In `brief`, exact scores
    are left out, scores over fewer cells are brought to all of them (`_over_all`), and a last row says what is at
    stake: the source predictor's score minus the oracle's.
    """
    sections = []
    summary = summary.assign(fewer=on_fewer_cells(summary))
    for model in [m for m in MODELS if m in set(summary["model"])]:
        part = summary[summary["model"] == model]
        found = {(_key(row), row["method"]): row for row in part.to_dict("records")}
        # Compared as printed: what looks equal is equally bold.
        best: dict[tuple[str, ...], float] = {}
        for (column, method), row in found.items():
            if method != "oracle" and not math.isnan(row["mean"]) and not row["fewer"]:
                best[column] = min(round(row["mean"], 3), best.get(column, math.inf))
        rows = []
        for method in [m for m in METHODS if m in set(part["method"])]:
            entries = []
            for column in map(_key, columns.to_dict("records")):
                score, text = found.get((column, method)), NONE
                bold = False
                if score is not None and not math.isnan(score["mean"]):
                    text = f"{_over_all(score, found):.3f}" if brief else _text(score, intervals)
                    text += FEWER if score["fewer"] else ""
                    bold = method != "oracle" and not score["fewer"] and round(score["mean"], 3) == best.get(column)
                second = _small_print(printed or {}, None if brief else score, (column[0], column[1], model, method))
                entries.append(Entry(text, second, bold=bold, grey=method == "oracle"))
            rows.append((METHODS[method].title, entries))
        if brief and any(method == "source" for _, method in found):
            rows.append(
                ("Source − oracle", [_gap(found, _key(c), model, printed or {}) for c in columns.to_dict("records")])
            )
        sections.append(Section(f"{MODELS[model].title} models", rows))
    return sections


def _over_all(score: Mapping[Any, Any], found: Mapping[Any, Any]) -> float:
    """Return a mean over fewer cells as it compares with means over all: the oracle's, and the difference from it.

    Cells differ more from each other than methods do within a cell, so that the mean as it is would compare cells.
    """
    mean = float(score["mean"])
    oracle = found.get((_key(score), "oracle"))
    if not score["fewer"] or oracle is None or math.isnan(oracle["mean"] - score["oracle"]):
        return mean
    return float(oracle["mean"]) + mean - float(score["oracle"])


def _small_print(printed: Mapping[tuple[str, ...], float], score: Any, key: tuple[str, ...]) -> str:
    """Write the printed number of a cell, and the exact one where that is known."""
    numbers = [f"{printed[key]:.3f}"] if key in printed else []
    if score is not None and not math.isnan(score.get("exact", math.nan)):
        numbers.append(f"exact {score['exact']:.3f}")
    return ", ".join(numbers)


def _gap(
    found: Mapping[Any, Any], column: tuple[str, ...], model: str, printed: Mapping[tuple[str, ...], float]
) -> Entry:
    source, oracle = (found.get((column, method)) for method in ("source", "oracle"))
    if source is None or oracle is None or source["fewer"] or math.isnan(source["mean"] - oracle["mean"]):
        return Entry(NONE)
    ends = [(column[0], column[1], model, method) for method in ("source", "oracle")]
    second = f"{printed[ends[0]] - printed[ends[1]]:.3f}" if all(end in printed for end in ends) else ""
    return Entry(f"{source['mean'] - oracle['mean']:.3f}".replace("-", "−"), second.replace("-", "−"))


def _key(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """A column's key as text, so that a missing ε equals itself."""
    return tuple(str(row[name]) for name in COLUMN)


def _text(row: Mapping[Any, Any], intervals: bool) -> str:
    text = f"{row['mean']:.3f}"
    if row["fewer"] and row["method"] != "oracle" and not math.isnan(row["oracle"]):
        text = f"{text} / {row['oracle']:.3f}"
    # A single run has no interval.
    return f"{text} ({row['lower']:.3f} to {row['upper']:.3f})" if intervals and not math.isnan(row["lower"]) else text


def design_notes(summary: pd.DataFrame) -> list[str]:
    """Return how many repeats are behind the numbers, and how many fits failed."""
    fewer = on_fewer_cells(summary)
    whole = summary[~fewer].drop_duplicates([*COLUMN, "model"])
    repeats = {model: _repeats(part, units=True) for model, part in whole.groupby("model", sort=False)}
    notes = [f"Repeats per entry: {_by_model(repeats)}.", f"Fits that failed: {int(summary['failures'].sum())}."]
    if fewer.any():
        marked = {
            model: ", ".join(
                f"{METHODS[str(method)].title} {_repeats(rows)}" for method, rows in part.groupby("method", sort=False)
            )
            for model, part in summary[fewer].groupby("model", sort=False)
        }
        which = _by_model(marked)
        notes.insert(
            1,
            f"{FEWER} Over fewer cells ({which}), so never bold; after the stroke, the oracle's mean over these cells.",
        )
    if "exact" in summary and summary["exact"].notna().any():
        notes.append("Exact: from the moments of the scenario, as the number of rows grows without bound.")
    return notes


def _by_model(texts: Mapping[Any, str]) -> str:
    """Join what is said of each model family; of those of which the same is said, once."""
    families: dict[str, list[str]] = {}
    for model in [name for name in MODELS if name in texts]:
        families.setdefault(texts[model], []).append(MODELS[model].title)
    return "; ".join(f"{_listed(names)}: {text}" for text, names in families.items())


def _repeats(rows: pd.DataFrame, *, units: bool = False) -> str:
    """Draws and β of columns, one row each: once where all agree, else with the columns that have as many."""
    sizes = [
        f"{draws} draw{'s' * (draws != 1)} × {betas} β" if units else f"{draws} × {betas}"
        for draws, betas in zip(rows["draws"], rows["betas"], strict=True)
    ]
    if len(set(sizes)) == 1:
        return sizes[0]
    heads = column_heads(rows[COLUMN])
    of_dataset: dict[str, set[str]] = {}
    for (dataset, *_), size in zip(heads, sizes, strict=True):
        of_dataset.setdefault(dataset, set()).add(size)
    places: dict[str, dict[str, None]] = {}
    for (dataset, *others), size in zip(heads, sizes, strict=True):
        place = dataset if len(of_dataset[dataset]) == 1 else f"{dataset} ({', '.join(others)})"
        places.setdefault(size, {})[place] = None
    return ", ".join(f"{size} on {_listed(list(names))}" for size, names in places.items())


def _listed(names: Sequence[str]) -> str:
    """Names as one list in words."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
