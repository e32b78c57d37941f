"""Means, intervals and paired differences of records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dams.datasets.registry import DATASETS
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.experiments.seeding import generator
from dams.stats import crossed_bootstrap, pooled_interval

# Records that differ only in method, draw and β belong to one comparison.
COMPARISON = ["study", "dataset", "regime", "epsilon", "labels", "model"]


_ORDER = {
    "dataset": DATASETS,
    "regime": ("opposing", "nested", "free"),
    "labels": ("random_linear", "structural"),
    "model": MODELS,
    "method": METHODS,
}


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made; the seed makes them reproducible."""

    replicates: int = 2000
    confidence: float = 0.95
    seed: int = 0

    def options(self, *key: Any) -> dict[str, Any]:
        """Options of `crossed_bootstrap` for the group of that name."""
        rng = generator(self.seed, "bootstrap", *(str(part) for part in key))
        return {"replicates": self.replicates, "confidence": self.confidence, "random_state": rng}


def score_table(records: pd.DataFrame) -> pd.DataFrame:
    """Scores of one method as a table of draws × β; NaN where a fit failed."""
    return records.set_index(["draw", "beta"])["score"].unstack("beta")


def summarise(records: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """One row for every comparison and method.

    `lower` and `upper` come from the crossed bootstrap; `pooled_lower` and `pooled_upper` take all entries for
    independent, as published. `oracle` is the oracle's mean over the cells of the method, which may be fewer than the
    oracle's own.
    """
    rows = []
    # By text, so that a missing ε equals itself.
    oracle_records = records[records["method"] == "oracle"]
    oracles = {_place(key): score_table(part) for key, part in _groups(oracle_records, COMPARISON)}
    for key, group in _groups(records, [*COMPARISON, "method"]):
        scores = score_table(group)
        table = scores.to_numpy()
        oracle = oracles.get(_place(key), pd.DataFrame())
        interval = crossed_bootstrap(table, **bootstrap.options(*key.values()))
        pooled = pooled_interval(table, confidence=bootstrap.confidence)
        rows.append(
            {
                **key,
                "mean": interval.mean,
                "lower": interval.lower,
                "upper": interval.upper,
                "pooled_lower": pooled.lower,
                "pooled_upper": pooled.upper,
                "oracle": _mean(oracle.reindex(index=scores.index, columns=scores.columns).where(scores.notna())),
                "worst": group["score"].max(),
                "draws": table.shape[0],
                "betas": table.shape[1],
                "failures": int(group["failure"].notna().sum()),
            }
        )
    return in_display_order(pd.DataFrame(rows))


def _place(key: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(key[name]) for name in COMPARISON)


def _mean(table: pd.DataFrame) -> float:
    """Mean over the entries that are there; NaN without any."""
    values = table.to_numpy(dtype=float)
    return float(values[np.isfinite(values)].mean()) if np.isfinite(values).any() else np.nan


def on_fewer_cells(summary: pd.DataFrame) -> pd.Series:
    """Which rows of `summarise` are means over fewer cells than those of other methods in the same place."""
    places = [summary[name] for name in COMPARISON if name != "study"]
    cells = summary["draws"] * summary["betas"]
    return cells < cells.groupby(places, dropna=False).transform("max")


def differences_from(
    records: pd.DataFrame, reference: str, bootstrap: Bootstrap, *, methods: Collection[str] | None = None
) -> pd.DataFrame:
    """Difference of every method's score, or of those of some `methods`, from `reference`, with its interval.

    Differences are taken cell by cell. Only draws and β that both have count; `wins` is the share of them in which the
    method scores lower.
    """
    rows = []
    if methods is not None:
        records = records[records["method"].isin([reference, *methods])]
    for key, group in _groups(records, COMPARISON):
        scores = {str(name): score_table(part) for name, part in group.groupby("method")}
        base = scores.pop(reference, None)
        if base is None:
            continue
        for method, table in scores.items():
            difference = (table - base).dropna(how="all").dropna(how="all", axis="columns").to_numpy()
            if not difference.size:
                continue
            interval = crossed_bootstrap(difference, **bootstrap.options(*key.values(), method, reference))
            known = difference[np.isfinite(difference)]
            rows.append(
                {
                    **key,
                    "method": method,
                    "reference": reference,
                    "difference": interval.mean,
                    "lower": interval.lower,
                    "upper": interval.upper,
                    "wins": float(np.mean(known < 0)),
                    "cells": len(known),
                }
            )
    return in_display_order(pd.DataFrame(rows))


def in_display_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort rows as tables and figures show them: names in their registered order, others after them as they come."""
    if frame.empty:
        return frame

    def key(column: pd.Series) -> pd.Series:
        known = _ORDER.get(str(column.name))
        return column if known is None else _ranks(column, list(dict.fromkeys([*known, *column.unique()])))

    order = ["dataset", "regime", "epsilon", "labels", "study", "model", "method"]
    return frame.sort_values(order, key=key, kind="stable", ignore_index=True)


def in_given_order(records: pd.DataFrame, order: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Sort records, which are kept by the alphabet, by lists of names for some columns, the first column first."""

    def key(column: pd.Series) -> pd.Series:
        return _ranks(column, order[str(column.name)])

    return records.sort_values(list(order), key=key, kind="stable", ignore_index=True)


def _ranks(column: pd.Series, order: Sequence[str]) -> pd.Series:
    """Places of a column's names in an order, NaN where a name is not in it; looked up once per name."""
    codes, names = pd.factorize(column, use_na_sentinel=False)
    places = pd.Series(np.arange(float(len(order))), index=list(order)).reindex(names)
    return pd.Series(places.to_numpy()[codes], index=column.index)


def _groups(records: pd.DataFrame, columns: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    for values, group in records.groupby(columns, dropna=False, sort=False):
        yield dict(zip(columns, values, strict=True)), group
