"""`dams summarise`: counts and moments of a file whose rows must stay in-house."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dams.commands._common import Refused, refuse_outputs
from dams.commands._two_files import FILES, add_reading, reading, refuse, refuse_no_groups

if TYPE_CHECKING:
    from dams.two_files.reading import Table
    from dams.two_files.summaries import TableSummary

# Files that one command may write.
MOST_LEVELS = 20


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `summarise` to the commands."""
    summarise = commands.add_parser(
        "summarise",
        help="write counts and moments of a file, from two of which `dams adapt` fits the linear model",
        description="Summarise a file whose rows must stay in-house. Counts of few rows are not disclosed, which is "
        "disclosure control and no differential privacy (docs/your_data.md). With --anchors, columns of few levels, "
        "there is one summary per level, source.json becoming source.sex=F.json and so on.",
    )
    summarise.add_argument("file", help=FILES)
    summarise.add_argument(
        "--label", metavar="COLUMN", help="what to predict, in the labelled file: numbers, or two values"
    )
    summarise.add_argument("--out", required=True, metavar="FILE", help="the summary, a JSON file")
    summarise.add_argument(
        "--smallest-cell",
        type=_cell,
        default=10,
        metavar="ROWS",
        help="fewest rows that a count may be of; 1 tells all (default: %(default)s)",
    )
    add_reading(summarise, left_out="--leave-out", what="")
    summarise.set_defaults(do=_summarise, error_code=2)


def _cell(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number, 1 or more, got '{text}'")
    return int(text)


def _summarise(given: argparse.Namespace) -> int:
    refuse_outputs({"--out": given.out}, given.file)
    try:
        notes, made = _make(given)
    except (ValueError, OSError) as error:
        raise refuse(error) from None
    for path, summary in made.items():
        try:
            summary.write(path)
        except OSError as error:
            raise Refused(error) from None
        print(f"{path}: {summary}" if given.anchors else summary)
    for note in notes:
        print(note)
    return 0


def _make(given: argparse.Namespace) -> tuple[list[str], dict[str, TableSummary]]:
    """Return what is left to say, and the summaries by file: one, or one per level of the anchors."""
    from dams.two_files.encoding import expand
    from dams.two_files.labels import read_labels
    from dams.two_files.reading import read_one
    from dams.two_files.summaries import summarise

    options = reading(given)
    labels = [name for name in (given.label, *given.anchors) if name is not None]
    further = {name: options[name] for name in ("left_out", "groups", "nan_as_zero", "separator", "decimal")}
    table = read_one(given.file, labels=labels, **further)
    for name in (given.label, *given.anchors):
        if name is not None and name not in table.labels:
            what = "the label" if name == given.label else "an anchor"
            raise Refused(f"{given.file} has no column {name!r}, {what}.")
    refuse_no_groups(given, table)
    read = None if given.label is None else read_labels(table.labels[given.label], given.label, as_numbers=True)
    always = expand(options["always_recorded"], table.columns, table.encoding, option="--always-recorded")
    together = [
        expand(names, table.columns, table.encoding, option="--column-group") for names in options["column_groups"]
    ]
    notes: list[str] = []
    if read is not None and read.classes is not None:
        notes.append(f"Label {given.label!r} is text: {read.classes[1]!r} counts as 1, {read.classes[0]!r} as 0.")
    made: dict[str, TableSummary] = {}
    for level, rows in _levels(table, given.anchors).items():
        chosen = rows if read is None else rows & read.known
        try:
            made[_file(given.out, level)] = summarise(
                table.X[chosen].reset_index(drop=True),
                None if read is None else read.values[chosen],
                label=given.label or "y",
                always_recorded=always,
                column_groups=together,
                groups=None if table.ids is None else table.ids[chosen].reset_index(drop=True),
                smallest_cell=given.smallest_cell,
                encoding=table.encoding,
            )
        except ValueError as error:
            if not given.anchors:
                raise
            notes.append(f"{level} is not disclosed: {error}")
    if not made:
        raise Refused("\n".join(notes))
    return notes, made


def _levels(table: Table, anchors: list[str]) -> dict[str, Any]:
    """Return the rows of each level of the anchors, a mask by name; all rows, without a name, if there are none."""
    import numpy as np

    if not anchors:
        return {"": np.ones(len(table.X), dtype=bool)}
    shown = table.labels[anchors].astype(object)
    if shown.isna().any(axis=None):
        raise ValueError(f"Empty fields in {', '.join(anchors)}: an anchor is recorded in every row.")
    names = shown.apply(lambda row: ",".join(f"{name}={_level(row[name])}" for name in anchors), axis=1).to_numpy()
    found = sorted(set(names))
    if len(found) > MOST_LEVELS:
        raise ValueError(
            f"{', '.join(anchors)} have {len(found)} levels, expected at most {MOST_LEVELS}: anchors of summaries are "
            "categories, such as sex or site. Make classes of a number."
        )
    return {name: names == name for name in found}


def _level(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).strip()


def _file(out: str, level: str) -> str:
    """Return the file of a level: `source.json` becomes `source.sex=F.json`."""
    if not level:
        return out
    return str(Path(out).with_suffix("")) + "." + re.sub(r"[^\w=,.-]+", "_", level) + ".json"
