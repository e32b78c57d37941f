"""How a CSV file is written: what stands between fields, what marks decimals, and which columns hold words."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import pandas as pd

from dams.datasets.csv_files import NO_VALUE, NUMBER_LIKE, PathLike, check_separator, is_mostly_words

SEPARATORS = (",", ";", "\t", "|")
# The part of a file that is looked at.
SAMPLE_BYTES = 2**20
SAMPLE_ROWS = 500
WITH_COMMA, WITH_POINT = (re.compile(rf"\s*[+-]?\d*{mark}\d+(?:[eE][+-]?\d+)?\s*") for mark in (",", r"\."))
# May be thousands as well.
THREE_DIGITS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")


@dataclass(frozen=True)
class Dialect:
    """How a file is written; `words` are columns that hold words where they were looked at."""

    separator: str
    decimal: str
    words: frozenset[str]


def recognise(path: PathLike, *, separator: str | None = None, decimal: str | None = None) -> Dialect:
    """Look at the start of a CSV file; what is given is not guessed.

    Raises
    ------
    ValueError
        Where the start can be read in two ways, or not at all by the separator that is given; the message names the
        option.
    """
    lines = _first_lines(path)
    if lines and re.fullmatch(r"\"?sep=.\"?\s*", lines[0]):
        raise ValueError(f"{path} begins with {lines[0].strip()!r}, a line for spreadsheets: delete it.")
    if separator is None:
        separator = _separator(path, lines)
    else:
        check_separator(separator)
        _refuse_separator(path, lines, separator)
    rows = _rows(lines, separator)
    header, rows = (rows[0], rows[1:]) if rows else ([], [])
    rows = [row for row in rows if len(row) == len(header)]
    if decimal is None:
        decimal = _decimal(path, header, rows)
    elif decimal not in (".", ","):
        raise ValueError(f"--decimal must be . or , (the mark of decimals), got {decimal!r}.")
    return Dialect(separator, decimal, frozenset(_words(header, rows)))


def show_separator(separator: str) -> str:
    """Return the separator as it is typed in a shell."""
    return r"'\t'" if separator == "\t" else f"'{separator}'"


def _first_lines(path: PathLike) -> list[str]:
    with open(path, "rb") as stream:
        start = stream.read(SAMPLE_BYTES)
        whole = not stream.read(1)
    # What is no UTF-8 is refused by whoever reads it, with the line.
    lines = start.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    return lines if whole or len(lines) < 2 else lines[:-1]


def _rows(lines: Iterable[str], separator: str) -> list[list[str]]:
    """Rows of the first lines that are not blank, up to one that csv can't read."""
    rows: list[list[str]] = []
    try:
        for fields in csv.reader(lines, delimiter=separator, strict=True):
            if fields and not (len(fields) == 1 and not fields[0].strip()):
                rows.append(fields)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _separator(path: PathLike, lines: list[str]) -> str:
    widths, fitting = {}, []
    for candidate in SEPARATORS:
        rows = _rows(lines, candidate)
        widths[candidate] = len(rows[0]) if rows else 0
        if widths[candidate] > 1 and all(len(row) == widths[candidate] for row in rows):
            fitting.append(candidate)
    if len(fitting) > 1:
        shown = " and ".join(show_separator(candidate) for candidate in fitting)
        raise ValueError(
            f"{path}: fields may be separated by {shown}, as far as the first lines tell. Say which with --separator."
        )
    # Where none fits, rows are uneven: whoever reads them says where.
    return fitting[0] if fitting else max(SEPARATORS, key=lambda candidate: widths[candidate])


def _refuse_separator(path: PathLike, lines: list[str], separator: str) -> None:
    """Raise where a header is one field by the separator that was given, and several by another."""
    header = _rows(islice(lines, 1), separator)
    if not header or len(header[0]) > 1:
        return
    others = {candidate: len(rows[0]) for candidate in SEPARATORS if (rows := _rows(lines[:1], candidate))}
    best = max(others, key=lambda candidate: others[candidate], default=separator)
    if others.get(best, 1) > 1:
        raise ValueError(
            f"{path} has no {show_separator(separator)} in its header, {lines[0].strip()[:60]!r}, but "
            f"{show_separator(best)}: leave --separator out, or say --separator {show_separator(best)}."
        )


def _decimal(path: PathLike, header: list[str], rows: list[list[str]]) -> str:
    commas: list[tuple[str, str]] = []
    for row in rows:
        for name, field in zip(header, row, strict=True):
            if WITH_POINT.fullmatch(field):
                return "."
            if WITH_COMMA.fullmatch(field):
                commas.append((name, field))
    if not commas:
        return "."
    if all(THREE_DIGITS.fullmatch(field) for _, field in commas):
        name, field = commas[0]
        raise ValueError(
            f"{path}, column {name!r}: {field!r} may have a decimal comma, or one between thousands. Say --decimal , "
            "in the first case; in the second write numbers without it."
        )
    return ","


def _words(header: list[str], rows: list[list[str]]) -> Iterable[str]:
    for name, fields in zip(header, zip(*rows, strict=True), strict=False):
        different = set(fields) - NO_VALUE
        if all(re.fullmatch(NUMBER_LIKE, field) for field in different):
            continue
        text = pd.Series(fields, dtype="string")
        if is_mostly_words(text.mask(text.isin(NO_VALUE))):
            yield name
