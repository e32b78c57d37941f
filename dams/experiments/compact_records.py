"""Records as compressed arrays, to travel with the page.

A module of its own: run_block rests on records.py, and an edit here runs no block again.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from dams._files import damaged, whole_file
from dams.experiments.records import COLUMNS, DTYPES, KEYS, TEXT

CELL_FIRST = ["study", "dataset", "regime", "epsilon", "labels", "draw", "beta", "model", "method"]


def write_compact(frame: pd.DataFrame, path: str | Path) -> None:
    """Write records as compressed arrays, a small fraction of their CSV; no digit of a score is lost.

    Names are kept as numbers with a list of what they stand for. The error itself is left out: it is score × var_y.
    """
    arrays: dict[str, np.ndarray] = {}
    # All scores of a cell together, which share what belongs to the cell: equal neighbours are what compresses.
    frame = frame.sort_values(CELL_FIRST, kind="stable")
    for column in COLUMNS:
        if column in TEXT:
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
            names = {name: arrays[f"{name}_names"] for name in TEXT}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, error) from None
    for name, known in names.items():
        # The last place is that of no value, which has the code −1.
        columns[name] = np.array([*known.tolist(), None], dtype=object)[columns[name]]
    frame = pd.DataFrame({name: columns[name] for name in COLUMNS if name != "mse"})
    frame.insert(COLUMNS.index("mse"), "mse", frame["score"] * frame["var_y"])
    frame = frame.astype(DTYPES).where(frame.notna())
    return frame.sort_values(KEYS, kind="stable", ignore_index=True)
