"""A user's own table: a CSV file and the types of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dams.datasets.csv_files import numbers, read_text, refuse
from dams.datasets.prepare import drop_uninformative, reasons_to_drop, standardise


@dataclass(frozen=True)
class OwnTable:
    """Prepared covariates, and the columns that were dropped with the reason of each."""

    covariates: pd.DataFrame
    dropped: dict[str, str]

    def describe(self) -> str:
        """Describe in words which columns are kept and which are dropped."""
        rows, columns = self.covariates.shape
        kept = f"{rows:,} rows × {columns} column{'s' * (columns != 1)}"
        return f"{kept}; dropped: {_describe_dropped(self.dropped)}" if self.dropped else kept


def load_csv(
    path: str | Path,
    *,
    numeric: Sequence[str] = (),
    binary: Sequence[str] = (),
    categorical: Sequence[str] = (),
    separator: str = ",",
) -> OwnTable:
    """Prepare the covariates of a CSV file as the paper prepares its own.

    Parameters
    ----------
    path : path
        A file with one header line. Columns that are not named below are left out.
    numeric : columns of numbers
        Centred and scaled; an empty field becomes 0.
    binary : columns of 0 and 1, or of False and True
        An empty field becomes 0.
    categorical : columns of levels
        One 0/1 column per level; an empty field is 0 in all of them.
    separator : str
        The character between fields.
    """
    wanted = [*numeric, *binary, *categorical]
    raw = read_text(path, separator=separator, choose=lambda header: wanted)
    parts = {name: standardise(numbers(raw[name], path)) for name in numeric}
    flags = {name: _zero_or_one(raw[name], path) for name in binary}
    for name in categorical:
        levels = {f"{name}_{level}": raw[name] == level for level in sorted(raw[name].dropna().unique())}
        if taken := sorted(levels.keys() & {*parts, *flags}):
            raise ValueError(f"{path}: a level of {name!r} makes a column {taken[0]!r}, and there is one; rename it.")
        flags |= levels
    table = pd.DataFrame({**parts, **flags}).astype("Float64").fillna(0.0).astype(np.float64).reset_index(drop=True)
    dropped = reasons_to_drop(table, rare=flags)
    if len(dropped) == table.shape[1]:
        raise ValueError(
            f"{path} keeps no column: {_describe_dropped(dropped)}. List columns that vary and that more rows have."
        )
    return OwnTable(drop_uninformative(table, rare=flags), dropped)


def _zero_or_one(text: pd.Series, path: str | Path) -> pd.Series:
    expected = "0 or 1; list the column under `categorical` if it has levels"
    values = numbers(text, path, expected=expected)
    refuse(text, text.notna() & ~values.isin([0.0, 1.0]), path, expected)
    return values


def _describe_dropped(dropped: dict[str, str]) -> str:
    """Name columns, each with its reason."""
    return ", ".join(f"{name} {reason}" for name, reason in dropped.items())
