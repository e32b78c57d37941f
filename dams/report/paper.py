"""What the paper prints, kept as data in resources/paper: its numbers, and where they and its text are in error."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from pydantic import Field

from dams.experiments.config import Strict

PAPER = Path(__file__).resolve().parents[2] / "resources" / "paper"
CLAIMS = PAPER / "claims.yaml"
# The synthetic columns are those of this ε and these labels (errata E2 and E3).
SYNTHETIC = {"epsilon": 0.1, "labels": "random_linear"}


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


def published_score(scope: Mapping[str, Any], method: str) -> float:
    """Look up a printed score of table 1."""
    table = read_published("table1")
    wanted = {"dataset": scope["dataset"], "regime": scope["regime"], "model": scope["model"], "method": method}
    for column, value in wanted.items():
        table = table[table[column] == value]
    if len(table) != 1:
        raise KeyError(f"table 1 prints {len(table)} numbers for {wanted}, expected one; see {PAPER / 'table1.csv'}")
    return float(table["value"].iloc[0])
