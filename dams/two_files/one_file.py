"""One file: its header, how it is written, and its columns before words are encoded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dams._validation import describe_columns
from dams.datasets.csv_files import read_header
from dams.datasets.csv_numbers import Columns, read_columns
from dams.two_files.dialect import Dialect, recognise
from dams.two_files.encoding import Words, read_words, refuse_no_category
from dams.two_files.opening import TableFile
from dams.two_files.parquet import read_parquet_columns, read_parquet_names

EXPECTED = "a number; leave the column out with --label, or write levels as words"
# Of columns that are given, and of which none can be left out.
EXPECTED_AGAIN = "a number, as in the source"
EXPECTED_LABEL = "a number, or in most rows a word; leave the field empty where there is no label"
EXPECTED_MARK = (
    "a number with a decimal {mark} and no {other}; say --decimal {sign} if the {other} marks decimals, and write no "
    "mark between thousands"
)


@dataclass(frozen=True)
class OneFile:
    """A file, the names of its columns, and how it is written."""

    file: TableFile
    columns: list[str]
    dialect: Dialect

    @classmethod
    def look_at(cls, file: TableFile, separator: str | None, decimal: str | None) -> OneFile:
        """Read the header; columns without a name, such as those of an index, are left out."""
        if file.kind == "parquet":
            names, dialect = read_parquet_names(file), Dialect(",", ".", frozenset())
        else:
            dialect = recognise(file, separator=separator, decimal=decimal)
            names = read_header(file, separator=dialect.separator)
        return cls(file, [name for name in names if name], dialect)

    def read(
        self, columns: Sequence[str], groups: str | None, encoding: Mapping[str, Sequence[str]] | None = None
    ) -> ReadFile:
        """Read covariates and ids; columns of words are those of the encoding, or those that hold words."""
        ids = [groups] if groups in self.columns and groups is not None else []
        text = [name for name in columns if name in (self.dialect.words if encoding is None else encoding)]
        expected = EXPECTED if encoding is None else EXPECTED_AGAIN
        found = self._columns(columns, [*text, *ids], or_text=encoding is None, expected=expected)
        words = {name: read_words(found.words[name]) for name in columns if name in found.words}
        if encoding is None:
            for name in words:
                refuse_no_category(words[name], name, self.file)
            for name in ids:
                self._refuse_no_id(found.words[name], name)
        return ReadFile(self.file.name, found, words, pd.Series(found.words[ids[0]], name=groups) if ids else None)

    def _refuse_no_id(self, ids: pd.Categorical, name: str) -> None:
        if count := int((ids.codes < 0).sum()):
            raise ValueError(
                f"{self.file} has {count:,} empty fields in column {name!r}, which says which rows belong together "
                "(--groups): give a row that stands alone an id of its own."
            )

    def read_labels(self, labels: Collection[str], n_rows: int) -> pd.DataFrame:
        """Read those labels that the file has, as numbers or text."""
        names = [name for name in self.columns if name in labels]
        if not names:
            return pd.DataFrame(index=range(n_rows))
        text = [name for name in names if name in self.dialect.words]
        found = self._columns(names, text, or_text=True, expected=EXPECTED_LABEL)
        return found.frame().assign(**found.words)[names]

    def _columns(self, columns: Sequence[str], text: Sequence[str], *, or_text: bool, expected: str) -> Columns:
        if self.file.kind == "parquet":
            return read_parquet_columns(self.file, columns, text=text, or_text=or_text, expected=expected)
        return read_columns(
            self.file,
            columns,
            text=text,
            or_text=or_text,
            separator=self.dialect.separator,
            decimal=self.dialect.decimal,
            expected=expected,
            expected_mark=EXPECTED_MARK,
        )


@dataclass(frozen=True, eq=False)
class ReadFile:
    """Columns of one file before columns of words are encoded."""

    name: str
    numbers: Columns
    words: dict[str, Words]
    ids: pd.Series | None

    def empty(self, name: str) -> int:
        """Return how many fields of a column are empty."""
        if name in self.words:
            return int((self.words[name].codes < 0).sum())
        return int(np.isnan(self.numbers.values[:, self.numbers.names.index(name)]).sum())

    def refuse_empty(self, columns: Sequence[str], recorded: Sequence[str], nan_as_zero: bool) -> None:
        """Raise where numbers are missing, unless they are said to be lost; these become 0.

        What is said to be always `recorded` may not be missing at all.
        """
        for name in recorded:
            if count := self.empty(name):
                raise ValueError(
                    f"{self.name} has {count:,} empty fields in column {name!r}, which is said to be always recorded. "
                    "Leave these rows out, or the column out of --always-recorded and --anchors."
                )
        values = self.numbers.values
        empty = np.isnan(values)
        if not empty.any():
            return
        found = np.flatnonzero(empty.any(axis=0) & np.isin(self.numbers.names, columns))
        if found.size and not nan_as_zero:
            raise ValueError(
                f"{self.name} has {empty[:, found].sum():,} empty fields in "
                f"{describe_columns(found, self.numbers.names)}. If an empty field is a value that nobody recorded, "
                "say --nan-as-zero: it then counts as lost, like a 0. If it is something else, fill it in before."
            )
        values[empty] = 0.0

    def unseen(self, encoding: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
        """Return the rows with levels that the encoding does not have, by column and level."""
        found: dict[str, dict[str, int]] = {}
        for name, words in self.words.items():
            others = {
                level: int(count)
                for level, count in zip(words.levels, words.counts(), strict=True)
                if level not in encoding[name]
            }
            found |= {name: others} if others else {}
        return found
