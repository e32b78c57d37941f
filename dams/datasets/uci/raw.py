"""Layouts of the raw UCI files, and a strict reader that says where a file departs from its layout."""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import pandas as pd

from dams.datasets.errors import RawDataError

__all__ = ["LAYOUTS", "Layout", "Recipe", "read_raw", "refuse", "refuse_value"]

Recipe = Literal["paper_text", "released_notebook"]


@dataclass(frozen=True)
class Layout:
    """Layout of the raw files of a data set, and the treatment of each column.

    Attributes
    ----------
    columns : tuple of str
        All columns, in file order. Those named in none of the next three fields are not covariates.
    numeric : tuple of str
    levels : mapping of str to int
        Categorical column and its number of levels, the missing marker not counted.
    flags : mapping of str to (str, str)
        Two-valued column, the value that becomes 1 and the value that becomes 0.
    missing : str
        Marker of a missing value.
    rows : tuple of int
        Rows of each file.
    widths : mapping of Recipe to int
        Columns that must be left.
    """

    columns: tuple[str, ...]
    numeric: tuple[str, ...]
    levels: Mapping[str, int]
    flags: Mapping[str, tuple[str, str]]
    missing: str
    rows: tuple[int, ...]
    widths: Mapping[Recipe, int]
    delimiter: str = ","
    header: bool = False


_THYROID_TESTS = ("TSH", "T3", "TT4", "T4U", "FTI", "TBG")
_THYROID_HISTORY = (
    *("on thyroxine", "query on thyroxine", "on antithyroid medication", "sick", "pregnant", "thyroid surgery"),
    *("I131 treatment", "query hypothyroid", "query hyperthyroid", "lithium", "goitre", "tumor", "hypopituitary"),
    "psych",
)

LAYOUTS: dict[str, Layout] = {
    "adult": Layout(
        columns=(
            *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
            *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
            "income",
        ),
        numeric=("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"),
        levels={
            "workclass": 8,
            "education": 16,
            "marital-status": 7,
            "occupation": 14,
            "relationship": 6,
            "race": 5,
            "sex": 2,
            "native-country": 41,
        },
        flags={},
        missing="?",
        rows=(32_561, 16_281),
        widths={"paper_text": 32, "released_notebook": 69},
    ),
    # cons.conf.idx is left out, as in the paper's experiments.
    "bank": Layout(
        columns=(
            *("age", "job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week"),
            *("duration", "campaign", "pdays", "previous", "poutcome", "emp.var.rate", "cons.price.idx"),
            *("cons.conf.idx", "euribor3m", "nr.employed", "y"),
        ),
        numeric=(
            *("age", "duration", "campaign", "pdays", "previous", "emp.var.rate", "cons.price.idx", "euribor3m"),
            "nr.employed",
        ),
        levels={"job": 11, "marital": 3, "education": 7, "month": 10, "day_of_week": 5, "poutcome": 3},
        flags={
            "default": ("yes", "no"),
            "housing": ("yes", "no"),
            "loan": ("yes", "no"),
            "contact": ("cellular", "telephone"),
        },
        missing="unknown",
        rows=(41_188,),
        widths={"paper_text": 39, "released_notebook": 50},
        delimiter=";",
        header=True,
    ),
    # TBG was never measured: it and its flag are constant, and every recipe drops them.
    "thyroid": Layout(
        columns=(
            *("age", "sex", *_THYROID_HISTORY),
            *(column for test in _THYROID_TESTS for column in (f"{test} measured", test)),
            *("referral source", "diagnosis"),
        ),
        numeric=("age", *_THYROID_TESTS),
        levels={"referral source": 5},
        flags={
            "sex": ("M", "F"),
            **dict.fromkeys((*_THYROID_HISTORY, *(f"{test} measured" for test in _THYROID_TESTS)), ("t", "f")),
        },
        missing="?",
        rows=(2_800,),
        widths={"paper_text": 18, "released_notebook": 30},
    ),
}


def read_raw(layout: Layout, paths: Sequence[Path]) -> pd.DataFrame:
    """Fields of all files as text, indexed by file name and line, so that every complaint can say where."""
    return pd.concat({path.name: _read(path, layout) for path in paths}, names=["file", "line"])


def _read(path: Path, layout: Layout) -> pd.DataFrame:
    """Fields of a raw file as text, indexed by line number."""
    rows: dict[int, list[str]] = {}
    columns = None if layout.header else list(layout.columns)
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.reader(stream, delimiter=layout.delimiter, skipinitialspace=True)
            for fields in reader:
                # The archive's files end in an empty line, and adult.test opens with a comment.
                if not fields or fields[0].startswith("|"):
                    continue
                if columns is None:
                    columns = _header(fields, layout, path.name)
                elif len(fields) == len(columns):
                    rows[reader.line_num] = fields
                else:
                    expected = f"expected {len(columns)} fields separated by {layout.delimiter!r}, found {len(fields)}"
                    refuse(f"{path.name}, line {reader.line_num}", expected)
    except (UnicodeDecodeError, csv.Error) as error:
        refuse(path.name, f"expected text separated by {layout.delimiter!r} ({error})")
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns or list(layout.columns), dtype=str)


def _header(fields: list[str], layout: Layout, file: str) -> list[str]:
    missing = [column for column in layout.columns if column not in fields]
    if len(missing) == len(layout.columns):
        found = textwrap.shorten(layout.delimiter.join(fields), 80)
        refuse(f"{file}, line 1", f"expected column names separated by {layout.delimiter!r}, found {found}")
    if missing:
        refuse(f"{file}, line 1", f"missing columns: {', '.join(missing)}")
    if len(fields) != len(layout.columns):
        surplus = [field for field in fields if field not in layout.columns] or ["a repeated name"]
        refuse(f"{file}, line 1", f"unexpected columns: {', '.join(surplus)}")
    return fields


def refuse_value(text: pd.Series, bad: pd.Series, expected: str) -> NoReturn:
    """Refuse the first of the `bad` values of a column."""
    file, line = text.index[bad][0]
    refuse(f"{file}, line {line}, column {text.name!r}", f"expected {expected}, found {text[bad].iloc[0]!r}")


def refuse(where: str, problem: str) -> NoReturn:
    """Raise a RawDataError that says where, what, and what to do."""
    raise RawDataError(f"{where}: {problem}. This is not the UCI archive's file: remove it and fetch it again.")
