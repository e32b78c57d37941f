"""The one schema of every result row, and how rows reach files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dams._files import damaged, whole_file

# What a row is about, then what was measured. A row without a score says in `failure` why.
KEYS = ["study", "dataset", "regime", "epsilon", "labels", "variant", "model", "method", "draw", "beta"]
VALUES = ["score", "mse", "var_y", "rate_distance", "dropped", "failure"]
COLUMNS = KEYS + VALUES
# Times differ from run to run, so they have a file of their own and the records stay the same to the byte. There
# `design` is the digest of the block: it tells for which configuration the records beside them were made.
TIMINGS = ["study", "dataset", "regime", "epsilon", "model", "method", "draw", "design", "fit_seconds"]

TEXT = ["study", "dataset", "regime", "labels", "variant", "model", "method", "dropped", "failure"]
DTYPES = {
    "epsilon": "float64",
    "draw": "int64",
    "beta": "int64",
    "score": "float64",
    "mse": "float64",
    "var_y": "float64",
    "rate_distance": "float64",
} | dict.fromkeys(TEXT, "str")


def as_records(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame of the types that `read_records` gives; None where there is no value."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype(DTYPES).where(frame.notna())


def as_text(name: str) -> str:
    """Return the name of a column of a user's own table so that no spreadsheet takes it for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write so that a reader sees the old file or the whole new one, never a part."""
    with whole_file(path) as partial:
        frame.to_csv(partial, index=False, lineterminator="\n")


def read_records(path: str | Path) -> pd.DataFrame:
    """Read rows written by `write_csv` and check that they are records, to the end of the last one."""
    content = Path(path).read_bytes()
    if not content.endswith(b"\n"):
        raise ValueError(
            f"{path} is cut off: expected its last line to end, got {len(content)} bytes whose last line does not. "
            "Delete the file and run again."
        )
    found = content.partition(b"\n")[0].decode(errors="replace").split(",")
    if found != COLUMNS:
        raise ValueError(f"{path} does not hold records: expected columns {COLUMNS}, got {found}.")
    # An empty field is the one sign of no value; a failure may well say "nan".
    no_value = {column: [""] for column in ("epsilon", *VALUES)}
    try:
        return pd.read_csv(path, dtype=DTYPES, keep_default_na=False, na_values=no_value)
    except ValueError as error:
        raise damaged(path, error) from None
