"""Readers of the files that a run leaves; a damaged one is named with the way out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd

from dams._files import damaged


def read_json(path: Path) -> Any:
    """Read a JSON file; None where there is none."""
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise damaged(path, f"expected JSON, got {error}") from None


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file."""
    try:
        return pd.read_csv(path)
    except ValueError as error:
        raise damaged(path, error) from None


def designs_in(timings: Path) -> set[str]:
    """Digests of the blocks that a file of timings is of; none where it does not tell."""
    if not timings.exists():
        return set()
    with open(timings, encoding="utf-8") as stream:
        return {row["design"] for row in csv.DictReader(stream) if row.get("design")}


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame as dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
