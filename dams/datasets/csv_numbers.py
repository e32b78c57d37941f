"""Columns of numbers from CSV files, by pandas wherever it reads what `csv_files` would read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dams.datasets.csv_files import numbers, read_header, read_text

Array = np.ndarray

# Bytes that are looked at, and rows that are parsed, at a time: a few megabytes.
BLOCK = 2**20
ROWS = 20_000
# pandas takes these for nothing else.
PLAIN_SEPARATORS = ",;\t|:"
NEWLINE, RETURN, QUOTE = b'\n\r"'


def read_numbers(
    path: str | Path,
    columns: Sequence[str],
    *,
    ids: str | None = None,
    separator: str = ",",
    expected: str = "a number",
) -> tuple[pd.DataFrame, pd.Series | None]:
    """Read columns of numbers, NaN where a field has no value, and a column of text beside them.

    The result, and every refusal, is that of `read_text` and `numbers`, which read field by field. pandas reads files
    whose rows are all as long as the header, and columns in which it finds nothing but finite numbers or flags; the
    others are left to them. The values take the memory of the table, and a few megabytes on the way.

    Parameters
    ----------
    columns : names of columns, in the order of the result
    ids : name of a column of text, or None
    expected : str
        What a field must be, for messages.
    """
    header = read_header(path, separator=separator)
    n_rows = _count_rows(Path(path), separator, len(header))
    fast = None if n_rows is None else _read_fast(path, header, columns, ids, separator, n_rows)
    if fast is None:
        wanted = [*columns, *([] if ids is None else [ids])]
        text = read_text(path, separator=separator, choose=lambda _: wanted)
        values = {name: numbers(text[name], path, expected=expected) for name in columns}
        return pd.DataFrame(values).reset_index(drop=True), None if ids is None else text[ids].reset_index(drop=True)
    found, slow, names = fast
    if slow:
        text = read_text(path, separator=separator, choose=lambda _: slow)
        for name in slow:
            found[:, columns.index(name)] = numbers(text[name], path, expected=expected)
    return pd.DataFrame(found, columns=list(columns), copy=False), names


def _read_fast(
    path: str | Path, header: list[str], columns: Sequence[str], ids: str | None, separator: str, n_rows: int
) -> tuple[Array, list[str], pd.Series | None] | None:
    """Values, the columns that are to be read again with care, and the ids; None for a file that pandas can't read."""
    places = [header.index(name) for name in columns]
    place_of_ids = None if ids is None else header.index(ids)
    wanted = {*places, *([] if place_of_ids is None else [place_of_ids])}
    values = np.empty((n_rows, len(columns)))
    flags, others, slow = (np.zeros(len(columns), dtype=bool) for _ in range(3))
    parts: list[pd.Series] = []
    start = 0
    try:
        with pd.read_csv(
            path,
            sep=separator,
            header=None,
            names=range(len(header)),
            skiprows=1,
            index_col=False,
            # To choose all of them would take time.
            usecols=None if len(wanted) == len(header) else sorted(wanted),
            dtype=None if place_of_ids is None else {place_of_ids: "string"},
            compression=None,
            encoding="utf-8",
            low_memory=False,
            chunksize=ROWS,
        ) as chunks:
            for chunk in chunks:
                stop = start + len(chunk)
                table, part = chunk[places], values[start:stop]
                kinds = np.array([dtype.kind for dtype in table.dtypes])
                usable = np.isin(kinds, list("biuf"))
                part[:, usable] = table.loc[:, usable].to_numpy(dtype=float)
                part[:, ~usable] = 0
                flags |= kinds == "b"
                finite = np.isfinite(part)
                others |= usable & (kinds != "b") & finite.any(axis=0)
                slow |= ~usable | (not finite.all() and np.isinf(part).any(axis=0))
                if place_of_ids is not None:
                    parts.append(chunk[place_of_ids])
                start = stop
    except (ValueError, OverflowError):  # ParserError and UnicodeDecodeError are ValueErrors
        return None
    if start != n_rows:
        return None
    slow |= flags & others
    again = [name for name, careful in zip(columns, slow, strict=True) if careful]
    return values, again, pd.concat(parts, ignore_index=True) if parts else None


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
