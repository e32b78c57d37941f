"""Readers of the files that a run leaves; a damaged one is named with the way out."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dams._files import damaged
from dams.experiments.product import SUFFIXES


def files_of(target: str | Path | Sequence[str | Path], kind: str) -> list[Path]:
    """Return the files to write: those given, or all formats of a kind where the target is a stem."""
    if isinstance(target, str | Path):
        return [Path(f"{target}.{suffix}") for suffix in SUFFIXES[kind]]
    return [Path(file) for file in target]


def read_json(path: str | Path) -> Any:
    """Read a JSON file; None where there is none."""
    path = Path(path)
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"expected JSON, got {error}") from None


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV file."""
    try:
        return pd.read_csv(path)
    except ValueError as error:
        raise damaged(path, error) from None


def designs_in(timings: Path) -> set[str]:
    """Digests of the blocks that a file of timings is of; none where it does not tell."""
    if not timings.exists():
        return set()
    try:
        with open(timings, encoding="utf-8") as stream:
            return {row["design"] for row in csv.DictReader(stream) if row.get("design")}
    except (ValueError, csv.Error) as error:
        raise damaged(timings, error) from None


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame as dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
