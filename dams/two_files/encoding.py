"""Columns of text as 0/1 columns, one per level; a field that is empty is 0 in all of them, as a lost value is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dams._registry import nearest
from dams.datasets.csv_files import PathLike
from dams.datasets.csv_numbers import Columns

# Levels of a column beyond which it is rather an identifier, a date or free text.
MOST_LEVELS = 100


@dataclass(frozen=True)
class Words:
    """A column of text: the number of each row's level, −1 where the field is empty."""

    levels: tuple[str, ...]
    codes: np.ndarray

    @property
    def is_complete(self) -> bool:
        """Whether no field is empty."""
        return bool((self.codes >= 0).all())

    def counts(self) -> np.ndarray:
        """Return the rows of each level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))

    def coded_by(self, levels: Sequence[str]) -> np.ndarray:
        """Return the codes of other levels, −1 for what is not among them."""
        place = {level: k for k, level in enumerate(levels)}
        # The last entry is that of the code −1.
        return np.array([*(place.get(level, -1) for level in self.levels), -1])[self.codes]


def read_words(text: pd.Categorical) -> Words:
    """Return a column of text by level, spaces around a word left out."""
    stripped = [str(level).strip() for level in text.categories]
    levels = sorted({level for level in stripped if level})
    place = {level: k for k, level in enumerate(levels)}
    return Words(tuple(levels), np.array([*(place.get(level, -1) for level in stripped), -1])[text.codes])


def refuse_no_category(words: Words, name: str, path: PathLike) -> None:
    """Raise where a column has more than `MOST_LEVELS` levels, or a level "0", which may be a lost value."""
    levels = words.levels
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"{path}, column {name!r}: got text with {len(levels):,} different values, such as {levels[0]!r}, expected "
            f"numbers or at most {MOST_LEVELS} levels. Leave out an identifier, a date or free text with --label, or "
            "name the column that says which rows belong together with --groups."
        )
    if "0" in levels:
        raise ValueError(
            f"{path}, column {name!r}: got the level '0' beside words such as {levels[-1]!r}, which may be a lost "
            "value or a level. Leave the field empty in the first case, and give the level a name in the second."
        )


def encoded_names(columns: Iterable[str], encoding: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns with each column of text replaced by its levels, `column=level`."""
    return [
        made
        for name in columns
        for made in ([f"{name}={level}" for level in encoding[name]] if name in encoding else [name])
    ]


def encode(
    columns: Sequence[str], found: Columns, words: Mapping[str, Words], encoding: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Return all columns as floats, those of text as one 0/1 column per level of `encoding`."""
    names = encoded_names(columns, encoding)
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"A level of a column of text would be called {twice[0]!r}, as another column is: rename one.")
    if not encoding:
        return pd.DataFrame(found.values, columns=names, copy=False)
    table = np.zeros((len(found.values), len(names)))
    place = {name: j for j, name in enumerate(found.names)}
    start = 0
    for name in columns:
        if name not in encoding:
            table[:, start] = found.values[:, place[name]]
            start += 1
            continue
        # A column without a single word may have been read as empty numbers.
        if name in words:
            codes = words[name].coded_by(encoding[name])
            rows = np.flatnonzero(codes >= 0)
            table[rows, start + codes[rows]] = 1.0
        start += len(encoding[name])
    return pd.DataFrame(table, columns=names, copy=False)


def expand(
    names: Iterable[str], columns: Sequence[str], encoding: Mapping[str, Sequence[str]], *, option: str
) -> list[str]:
    """Return what columns that a user named became; raise for a name that no column has."""
    made = encoded_names(columns, encoding)
    chosen: list[str] = []
    for name in names:
        if name not in columns and name not in made:
            raise ValueError(f"{option} names {name!r}, which is no column; {nearest(name, columns)}")
        chosen += encoded_names([name], encoding)
    return list(dict.fromkeys(chosen))
