"""The paper's printed content as data beside this module: its numbers, and where they and its text are in error."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from pydantic import Field

from dams.datasets.registry import is_scenario
from dams.experiments.config.fields import Strict
from dams.experiments.design import Sampler
from dams.rates import FreeRates, NestedRates

PAPER = Path(__file__).parent
CLAIMS = PAPER / "claims.yaml"
# The synthetic columns are those of this ε and these labels (errata E2 and E3).
SYNTHETIC = {"epsilon": 0.1, "labels": "random_linear"}
# The settings behind the printed numbers; in the scenarios' regime ε says all.
FREE, NESTED, ROWS = FreeRates(0.9), NestedRates(0.5, 0.5), 10_000


class Erratum(Strict):
    """A place where the paper, its released code and the mathematics disagree."""

    id: str
    what: str
    evidence: str
    here: str
    # For printed numbers that it explains: a short reason, and the columns that such a number must match.
    explains: str = ""
    numbers: list[dict[str, str | list[str]]] = Field(default_factory=list)

    def concerns(self, number: Mapping[str, Any]) -> bool:
        """Whether it explains why a printed number differs from ours."""
        return any(
            all(number.get(key) in (value if isinstance(value, list) else [value]) for key, value in wanted.items())
            for wanted in self.numbers
        )


@cache
def read_errata() -> dict[str, Erratum]:
    """Return the errata by their id."""
    raw = yaml.safe_load((PAPER / "errata.yaml").read_text(encoding="utf-8"))
    return {entry["id"]: Erratum.model_validate(entry) for entry in raw}


@cache
def read_published(table: str) -> pd.DataFrame:
    """Return a printed table: `table1`, `eicu` or `eicu_features`."""
    return pd.read_csv(PAPER / f"{table}.csv")


def departure(dataset: str, sampler: Sampler, rows: int) -> str:
    """Return where a study's cells are not the paper's; empty where they are.

    Fewer draws and β widen intervals and no more. Both recipes for the UCI data are the paper's, that of its text and
    that of its code.
    """
    if isinstance(sampler, FreeRates) and sampler != FREE:
        return f"rates up to {sampler.high:g}, the paper's go to {FREE.high:g}"
    if isinstance(sampler, NestedRates) and sampler != NESTED:
        return (
            f"source rates up to {sampler.source_high:g} and further losses up to {sampler.extra_high:g}, "
            f"the paper's go to {NESTED.source_high:g} and {NESTED.extra_high:g}"
        )
    if is_scenario(dataset) and rows != ROWS:
        return f"samples of {rows:,} rows, the paper's have {ROWS:,}"
    return ""


def published_score(scope: Mapping[str, Any], method: str) -> float:
    """Look up a printed score of table 1."""
    wanted = {"dataset": scope["dataset"], "regime": scope["regime"], "model": scope["model"], "method": method}
    values = _table1().get(tuple(wanted.values()), [])
    if len(values) != 1:
        raise KeyError(f"table 1 prints {len(values)} numbers for {wanted}, expected one; see {PAPER / 'table1.csv'}")
    return values[0]


@cache
def _table1() -> dict[tuple[str, ...], list[float]]:
    """Scores by where they stand: hundreds of numbers are looked up for one comparison."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in read_published("table1").to_dict("records"):
        found.setdefault((row["dataset"], row["regime"], row["model"], row["method"]), []).append(float(row["value"]))
    return found
