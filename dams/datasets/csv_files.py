"""CSV files as text: every row is as long as the header, or the file is refused with the line and the way out."""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dams._registry import nearest

# Fields that say "no value", as pandas reads them.
NO_VALUE = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
    | {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
# Fields of a column of flags, as pandas, R and spreadsheets write them.
TRUTH = {"True": "1", "true": "1", "TRUE": "1", "False": "0", "false": "0", "FALSE": "0"}
# Fields that are numbers, by whatever mark of decimals or thousands.
NUMBER_LIKE = r"\s*[+-]?(?:[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?|inf|Infinity)\s*"
# A message names at most so many columns.
MOST_NAMES = 20
# Where a file is; what `str` makes of it is its name in messages.
PathLike = str | os.PathLike[str]


def check_separator(separator: str) -> str:
    """Return the separator if it is one character that can stand between fields."""
    if len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f'separator must be one character such as "," or ";" or "\\t" (a tab), got {separator[:20]!r}')
    return separator


def read_text(
    path: PathLike, *, separator: str = ",", choose: Callable[[list[str]], Sequence[str]] | None = None
) -> pd.DataFrame:
    """Read a file with one header line; an empty field, or a word for one such as NA, is missing.

    pandas would take the first column for an index where rows are longer than the header, fill up short rows and
    rename a column that comes twice: a table of wrong columns, without a word.

    Parameters
    ----------
    choose : function from the header to the columns to keep, or None for all of them

    Returns
    -------
    A DataFrame of strings. The index holds the line of the file on which each row starts.
    """
    rows, header = _open(path, separator)
    names = list(choose(header)) if choose else header
    lacking = [name for name in names if name not in header]
    if lacking:
        raise ValueError(
            f"{path} has no column {_names(lacking)}; it has {_names(header)}{_meant(lacking[0], header)}. "
            f"Check the names and the separator, which is {separator!r}."
        )
    positions = [header.index(name) for name in names]
    columns: list[list[str]] = [[] for _ in names]
    lines = []
    for line, fields in rows:
        if len(fields) != len(header):
            raise ValueError(_uneven(path, line, fields, header, separator))
        lines.append(line)
        for column, position in zip(columns, positions, strict=True):
            column.append(fields[position])
    if not lines:
        raise ValueError(f"{path} has a header but no rows.")
    index = pd.Index(lines, name="line")
    parts = {name: pd.Series(column, index, dtype="string") for name, column in zip(names, columns, strict=True)}
    return pd.DataFrame({name: text.mask(text.isin(NO_VALUE)) for name, text in parts.items()}, index=index)


def read_header(path: PathLike, *, separator: str = ",") -> list[str]:
    """Return the names of the columns; raise where one comes twice, or where there are none."""
    return _open(path, separator)[1]


def numbers(
    text: pd.Series,
    path: PathLike,
    *,
    expected: str = "a number",
    decimal: str = ".",
    expected_mark: str = "a number with a decimal {mark} and no {other}",
) -> pd.Series:
    """Turn a column of `read_text` into floats, NaN where there is no value; one of True and False into 1 and 0.

    `decimal` is "." or ","; of a field with the other mark `expected_mark` is said.
    """
    marks = ("point", "comma") if decimal == "." else ("comma", "point")
    if text.dropna().isin(TRUTH.keys()).all():
        text = text.map(TRUTH)
    plain = text if decimal == "." else text.mask(text.str.contains(".", regex=False)).str.replace(",", ".")
    values = pd.to_numeric(plain, errors="coerce").astype("Float64").astype(np.float64)
    bad = text.notna() & ~np.isfinite(values)
    # The field does not say whether it marks decimals or thousands.
    other = "," if decimal == "." else r"\."
    if bad.any() and re.fullmatch(rf"[+-]?[\d.,]*{other}[\d.,]+", text[bad].iloc[0].strip()):
        expected = expected_mark.format(mark=marks[0], other=marks[1], sign="," if decimal == "." else ".")
    refuse(text, bad, path, expected)
    return values


def is_mostly_words(text: pd.Series) -> bool:
    """Whether half or more of a column's recorded fields are no numbers, and not all of them flags."""
    counts = text.value_counts()
    levels = counts.index.to_series().astype("string")
    if levels.isin(TRUTH.keys()).all():
        return False
    words = ~levels.str.fullmatch(NUMBER_LIKE).to_numpy(dtype=bool)
    return bool(2 * counts[words].sum() >= counts.sum() > 0)


def refuse(text: pd.Series, bad: pd.Series, path: PathLike, expected: str) -> None:
    """Raise for the first field of a column that is `bad`."""
    if bad.any():
        line, field = text.index[bad][0], text[bad].iloc[0]
        raise ValueError(f"{path}, line {line}, column {text.name!r}: got {field!r}, expected {expected}.")


def refuse_missing(path: PathLike) -> None:
    """Raise where there is no file at a path."""
    if not Path(path).exists():
        # Python says no more than that; whoever wrote a path below another folder needs to know below which it is.
        below = "" if Path(path).is_absolute() else f" below {Path.cwd()}, the folder that it is sought from"
        raise FileNotFoundError(f"{path} does not exist{below}.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a CSV file.")


def _open(path: PathLike, separator: str) -> tuple[Iterator[tuple[int, list[str]]], list[str]]:
    """Return the rows below the header, and the header."""
    check_separator(separator)
    rows = _rows(path, separator)
    _, header = next(rows, (0, None))
    if header is None:
        raise ValueError(f"{path} is empty; expected a header line and rows below it.")
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise ValueError(f"{path} has more than one column {_names(twice)}; rename or remove the others.")
    return rows, header


def _rows(path: PathLike, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with the line on which it starts."""
    refuse_missing(path)
    line = 0
    # Excel marks UTF-8 at the start of a file.
    with open(path, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=separator, strict=True)
        try:
            for fields in reader:
                start, line = line + 1, reader.line_num
                if fields and not (len(fields) == 1 and fields[0].isspace()):
                    yield start, fields
        except UnicodeDecodeError:
            raise ValueError(
                f"{path} is not UTF-8 text. Save it as UTF-8 (in a spreadsheet: CSV UTF-8); for a file of an older "
                f"program `iconv -f latin1 -t utf-8 {shlex.quote(str(path))} > new.csv` may do."
            ) from None
        except csv.Error as error:
            raise ValueError(
                f"{path}, line {line + 1}: {error}. A quote may be left open there, or stand inside a field: a field "
                'with quotes is written "so ""quoted"" here".'
            ) from None


def _uneven(path: PathLike, line: int, fields: list[str], header: list[str], separator: str) -> str:
    if len(fields) == len(header) + 1 and fields[-1] == "":
        advice = f"It ends in {separator!r}: take that off, or end the header in it too."
    else:
        advice = f"Put quotes around a field that holds {separator!r}, and leave no field out."
    count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
    return f"{path}, line {line}: got {count}, expected {len(header)} as in the header. {advice}"


def _names(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + rest


def _meant(name: str, header: list[str]) -> str:
    """Name the column that may be meant, where the list of all of them is cut."""
    return f" ({nearest(name, header)})" if len(header) > MOST_NAMES else ""
