"""A user's own table: a CSV file and the types of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dams.datasets.prepare import drop_uninformative, standardise


def load_csv(
    path: str | Path,
    *,
    numeric: Sequence[str] = (),
    binary: Sequence[str] = (),
    categorical: Sequence[str] = (),
    separator: str = ",",
) -> pd.DataFrame:
    """Prepare the covariates of a CSV file as the paper prepares its own.

    Parameters
    ----------
    path : path
        A file with one header line. Columns that are not named below are left out.
    numeric : columns of numbers
        Centred and scaled; an empty field becomes 0.
    binary : columns of 0 and 1
        An empty field becomes 0.
    categorical : columns of levels
        One 0/1 column a level; an empty field is 0 in all of them.
    separator : str
        What stands between fields.
    """
    wanted = [*numeric, *binary, *categorical]
    raw = pd.read_csv(path, sep=separator, dtype="string")
    lacking = [name for name in wanted if name not in raw.columns]
    if lacking:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, lacking))}; it has {', '.join(map(repr, raw.columns))}. "
            f"Check the names and the separator, which is {separator!r}."
        )
    if not len(raw):
        raise ValueError(f"{path} has a header but no rows.")
    parts = {name: standardise(_numbers(raw[name], path)) for name in numeric}
    flags = {name: _zero_or_one(raw[name], path) for name in binary}
    for name in categorical:
        flags |= {f"{name}_{level}": raw[name] == level for level in sorted(raw[name].dropna().unique())}
    table = pd.DataFrame({**parts, **flags}).astype("Float64").fillna(0.0).astype(np.float64)
    return drop_uninformative(table, rare=list(flags))


def _numbers(text: pd.Series, path: str | Path) -> pd.Series:
    numbers = pd.to_numeric(text, errors="coerce").astype("Float64").astype(np.float64)
    _refuse(text, text.notna() & ~np.isfinite(numbers), path, "a number")
    return numbers


def _zero_or_one(text: pd.Series, path: str | Path) -> pd.Series:
    numbers = _numbers(text, path)
    _refuse(
        text,
        text.notna() & ~numbers.isin([0.0, 1.0]),
        path,
        "0 or 1; list the column under `categorical` if it has levels",
    )
    return numbers


def _refuse(text: pd.Series, bad: pd.Series, path: str | Path, expected: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad.to_numpy())[0])
        # The header is line 1.
        raise ValueError(f"{path}, line {row + 2}, column {text.name!r}: got {text.iloc[row]!r}, expected {expected}.")
