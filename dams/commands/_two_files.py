"""Options that the commands for two files share."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dams.commands._common import Refused

if TYPE_CHECKING:
    from dams.two_files.reading import Table

FILES = "CSV with a header line, also packed by gzip or zip, or Parquet; - is standard input"


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add both files."""
    parser.add_argument("source", help=f"the place with labels: {FILES}")
    parser.add_argument("target", help="the place to predict in: the same columns, in any order")


def add_reading(parser: argparse.ArgumentParser, *, left_out: str = "--label", what: str = "labels, ") -> None:
    """Add what is known of columns and rows, and how files are written; `reading` collects it.

    `left_out` is the option that leaves columns out, which `what` describes.
    """
    several: dict[str, Any] = {"nargs": "+", "metavar": "COLUMN", "default": []}
    parser.add_argument(
        left_out,
        action="extend",
        dest="leave_out",
        help=f"columns to leave out, in whichever file they are: {what}identifiers",
        **several,
    )
    parser.add_argument(
        "--always-recorded", action="extend", help="columns that neither place ever loses: sex, age, site", **several
    )
    parser.add_argument(
        "--anchors",
        action="extend",
        help="columns that neither place ever loses and on which loss, and the population, may depend",
        **several,
    )
    parser.add_argument(
        "--column-group", action="append", help="columns that are lost together; once per group", **several
    )
    parser.add_argument("--groups", metavar="COLUMN", help="column that says which rows belong together: patients")
    add_dialect(parser)


def add_dialect(parser: argparse.ArgumentParser) -> None:
    """Add how files are written."""
    parser.add_argument(
        "--nan-as-zero", action="store_true", help="an empty field among numbers is a lost value, like a 0"
    )
    parser.add_argument(
        "--separator", type=_separator, help=r"character between fields, \t for a tab (default: recognised: , ; \t |)"
    )
    parser.add_argument("--decimal", choices=(".", ","), help="mark of decimals (default: recognised)")


def reading(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options as `dams.two_files.reading.read_pair` takes them."""
    return {
        "left_out": given.leave_out,
        "always_recorded": given.always_recorded,
        "anchors": given.anchors,
        "column_groups": given.column_group,
        "groups": given.groups,
        "nan_as_zero": given.nan_as_zero,
        "separator": given.separator,
        "decimal": given.decimal,
    }


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show what is being done, a line per step, where somebody looks at a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    logger, handler = logging.getLogger("dams.two_files"), logging.StreamHandler(sys.stderr)
    before = logger.level
    handler.setFormatter(logging.Formatter("%(message)s …"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def refuse(error: Exception) -> Refused:
    """Return the refusal of a command in which --label is what to predict, and --leave-out leaves columns out."""
    return Refused(str(error).replace("--label", "--leave-out"))


def refuse_no_groups(given: argparse.Namespace, table: Table) -> None:
    """Refuse a file without the column that says which of its rows belong together."""
    if given.groups is not None and table.ids is None:
        raise Refused(f"{given.file} has no column {given.groups!r} to group rows by (--groups).")


def _separator(text: str) -> str:
    # A shell has no easy way to write a tab.
    return "\t" if text == r"\t" else text
