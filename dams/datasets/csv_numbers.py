"""Columns of numbers and of text from CSV files, by pandas wherever it reads what `csv_files` would read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from dams.datasets.csv_files import PathLike, is_mostly_words, numbers, read_header, read_text

Array = np.ndarray

# Bytes that are looked at, and rows that are parsed, at a time: a few megabytes.
BLOCK = 2**20
ROWS = 20_000
# pandas takes these for nothing else.
PLAIN_SEPARATORS = ",;\t|:"
NEWLINE, RETURN, QUOTE = b'\n\r"'


@dataclass(frozen=True)
class Columns:
    """Columns of a file.

    Attributes
    ----------
    names : list of str
        Columns of numbers, in the order in which they were asked for.
    values : array of shape (n, d)
        Their values, NaN where a field is empty.
    words : dict
        Columns of text by name, a Categorical each, missing where a field is empty.
    """

    names: list[str]
    values: Array
    words: dict[str, pd.Categorical]

    def frame(self) -> pd.DataFrame:
        """Return the numbers as a DataFrame that shares their memory."""
        return pd.DataFrame(self.values, columns=self.names, copy=False)


def read_columns(
    path: PathLike,
    columns: Sequence[str],
    *,
    text: Collection[str] = (),
    or_text: bool = False,
    separator: str = ",",
    decimal: str = ".",
    **messages: str,
) -> Columns:
    """Read columns of numbers, NaN where a field has no value, and columns of text beside them.

    The result, and every refusal, is that of `read_text` and `numbers`, which read field by field. pandas reads files
    whose rows are all as long as the header, and columns in which it finds nothing but finite numbers or flags; the
    others are left to them. The values take the memory of the table, and a few megabytes on the way.

    Parameters
    ----------
    columns : names of columns, in the order of the result
    text : names of columns
        Columns, among the others or beside them, whose fields are text whatever they hold, such as ids.
    or_text : bool
        Whether a column of which half the recorded fields or more are no numbers is text; otherwise it is refused.
    decimal : "." or ","
    **messages : str
        `expected` and `expected_mark` of `numbers`.
    """
    wanted = [name for name in columns if name not in text]
    header = read_header(path, separator=separator)
    n_rows = _count_rows(Path(path), separator, len(header))
    fast = None if n_rows is None else _read_fast(path, header, wanted, list(text), separator, decimal, n_rows)
    if fast is None:
        fields = read_text(path, separator=separator, choose=lambda _: [*wanted, *text])
        values = np.empty((len(fields), len(wanted)))
        words = {name: _categories(fields[name]) for name in text}
        slow = wanted
    else:
        values, slow, words = fast
        if slow:
            fields = read_text(path, separator=separator, choose=lambda _: slow)
    for name in slow:
        if or_text and is_mostly_words(fields[name]):
            words[name] = _categories(fields[name])
        else:
            values[:, wanted.index(name)] = numbers(fields[name], path, decimal=decimal, **messages)
    kept = [j for j, name in enumerate(wanted) if name not in words]
    return Columns([wanted[j] for j in kept], values if len(kept) == len(wanted) else values[:, kept], words)


def _categories(text: pd.Series) -> pd.Categorical:
    return pd.Categorical(text.array.astype(object))


def _read_fast(
    path: PathLike,
    header: list[str],
    columns: Sequence[str],
    text: Sequence[str],
    separator: str,
    decimal: str,
    n_rows: int,
) -> tuple[Array, list[str], dict[str, pd.Categorical]] | None:
    """Values, the columns that are to be read again with care, and the text; None for a file that pandas can't read."""
    places, places_of_text = ([header.index(name) for name in names] for names in (columns, text))
    wanted = {*places, *places_of_text}
    values = np.empty((n_rows, len(columns)))
    flags, others, slow = (np.zeros(len(columns), dtype=bool) for _ in range(3))
    parts: dict[int, list[pd.Categorical]] = {place: [] for place in places_of_text}
    start = 0
    try:
        with pd.read_csv(
            path,
            sep=separator,
            decimal=decimal,
            header=None,
            names=range(len(header)),
            skiprows=1,
            index_col=False,
            # To choose all of them would take time.
            usecols=None if len(wanted) == len(header) else sorted(wanted),
            dtype=dict.fromkeys(places_of_text, "string"),
            compression=None,
            encoding="utf-8",
            low_memory=False,
            chunksize=ROWS,
        ) as chunks:
            for chunk in chunks:
                stop = start + len(chunk)
                table, part = chunk[places], values[start:stop]
                kinds = np.array([dtype.kind for dtype in table.dtypes], dtype="U1")
                usable = np.isin(kinds, list("biuf"))
                part[:, usable] = table.loc[:, usable].to_numpy(dtype=float)
                part[:, ~usable] = 0
                flags |= kinds == "b"
                finite = np.isfinite(part)
                others |= usable & (kinds != "b") & finite.any(axis=0)
                slow |= ~usable | (not finite.all() and np.isinf(part).any(axis=0))
                for place, found in parts.items():
                    # Few levels take little room; the text of all rows would not.
                    found.append(_categories(chunk[place]))
                start = stop
    except (ValueError, OverflowError):  # ParserError and UnicodeDecodeError are ValueErrors
        return None
    if start != n_rows:
        return None
    slow |= flags & others
    again = [name for name, careful in zip(columns, slow, strict=True) if careful]
    return values, again, {header[place]: union_categoricals(found) for place, found in parts.items()}


def _count_rows(path: Path, separator: str, n_fields: int) -> int | None:
    """Rows below the header; None unless every line is blank or a row of so many fields, and quotes are in order."""
    if separator not in PLAIN_SEPARATORS or n_fields == 1:
        return None
    n_rows, rest = -1, b""
    with open(path, "rb") as stream:
        while block := stream.read(BLOCK):
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            found = _count_in_lines(block[:end], ord(separator), n_fields)
            if found is None:
                return None
            n_rows += found
    found = _count_in_lines(rest + b"\n", ord(separator), n_fields)
    return None if found is None or n_rows + found < 1 else n_rows + found


def _count_in_lines(lines: bytes, separator: int, n_fields: int) -> int | None:
    """Rows among whole lines, none of which ends inside quotes; None where `_count_rows` has none."""
    if b"\0" in lines or not _is_utf8(lines):
        return None
    if b"\r" in lines and lines.count(b"\r") != lines.count(b"\r\n"):
        return None
    letters = np.frombuffer(lines, dtype=np.uint8)
    newline, between = letters == NEWLINE, letters == separator
    if b'"' in lines:
        inside = (np.cumsum(letters == QUOTE, dtype=np.uint8) & 1).astype(bool)
        if (newline & inside).any() or not _are_quotes_in_order(letters, inside, separator):
            return None
        between &= ~inside
    ends = np.flatnonzero(newline)
    counts = np.diff(np.searchsorted(np.flatnonzero(between), ends), prepend=0)
    other = np.flatnonzero(counts != n_fields - 1)
    if not other.size:
        return len(ends)
    lengths = np.diff(ends, prepend=-1)[other] - 1
    blank = (lengths == 0) | ((lengths == 1) & (letters[ends[other] - 1] == RETURN))
    return len(ends) - len(other) if blank.all() else None


def _are_quotes_in_order(letters: Array, inside: Array, separator: int) -> bool:
    """Whether a quote that opens stands where a field begins, and one that closes where it ends, or beside another."""
    quotes = np.flatnonzero(letters == QUOTE)
    opening, closing = quotes[inside[quotes]], quotes[~inside[quotes]]
    before = letters[opening[opening > 0] - 1]
    after = letters[closing + 1]
    return bool(np.isin(before, [separator, NEWLINE, QUOTE]).all()) and bool(
        np.isin(after, [separator, NEWLINE, RETURN, QUOTE]).all()
    )


def _is_utf8(lines: bytes) -> bool:
    try:
        return lines.isascii() or bool(lines.decode())
    except UnicodeDecodeError:
        return False
