"""The one schema of every result row, and how rows reach files."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dams._files import damaged, whole_file

# What a row is about, then what was measured. A row without a score says in `failure` why.
KEYS = ["study", "dataset", "regime", "epsilon", "labels", "variant", "model", "method", "draw", "beta"]
VALUES = ["score", "mse", "var_y", "rate_distance", "dropped", "failure"]
COLUMNS = KEYS + VALUES
# Times differ from run to run, so they have a file of their own and the records stay the same to the byte. There
# `design` is the digest of the block: it tells for which configuration the records beside them were made.
TIMINGS = ["study", "dataset", "regime", "epsilon", "model", "method", "draw", "design", "fit_seconds"]

_TEXT = ["study", "dataset", "regime", "labels", "variant", "model", "method", "dropped", "failure"]
_DTYPES = {
    "epsilon": "float64",
    "draw": "int64",
    "beta": "int64",
    "score": "float64",
    "mse": "float64",
    "var_y": "float64",
    "rate_distance": "float64",
} | dict.fromkeys(_TEXT, "str")


def as_records(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame of the types that `read_records` gives; None where there is no value."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype(_DTYPES).where(frame.notna())


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
        return pd.read_csv(path, dtype=_DTYPES, keep_default_na=False, na_values=no_value)
    except ValueError as error:
        raise damaged(path, error) from None


def write_compact(frame: pd.DataFrame, path: str | Path) -> None:
    """Write records as compressed arrays, a small fraction of their CSV; no digit of a score is lost.

    Names are kept as numbers with a list of what they stand for. The error itself is left out: it is score × var_y.
    """
    arrays: dict[str, np.ndarray] = {}
    # What is equal stands together, which is what compresses.
    frame = frame.sort_values([*_TEXT[:-2], "epsilon", "draw", "beta"], kind="stable")
    for column in COLUMNS:
        if column in _TEXT:
            codes, names = pd.factorize(frame[column], sort=True)
            arrays[column] = codes.astype(np.min_scalar_type(-len(names) - 1))
            arrays[f"{column}_names"] = np.array([str(name) for name in names], dtype=str)
        elif column in ("draw", "beta"):
            values = frame[column].to_numpy()
            arrays[column] = values.astype(np.min_scalar_type(values.max(initial=0)))
        elif column != "mse":
            arrays[column] = frame[column].to_numpy()
    with whole_file(path) as partial, open(partial, "wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def read_compact(path: str | Path) -> pd.DataFrame:
    """Read records written by `write_compact`, in the order of `write_csv`."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in COLUMNS if name != "mse"}
            names = {name: arrays[f"{name}_names"] for name in _TEXT}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, error) from None
    for name, known in names.items():
        # The last place is that of no value, which has the code −1.
        columns[name] = np.array([*known.tolist(), None], dtype=object)[columns[name]]
    frame = pd.DataFrame({name: columns[name] for name in COLUMNS if name != "mse"})
    frame.insert(COLUMNS.index("mse"), "mse", frame["score"] * frame["var_y"])
    frame = frame.astype(_DTYPES).where(frame.notna())
    return frame.sort_values(KEYS, kind="stable", ignore_index=True)
