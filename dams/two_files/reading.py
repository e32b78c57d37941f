"""Two files as two tables with the same columns of numbers, in which a lost value is 0."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dams._registry import nearest
from dams._validation import describe_columns
from dams.datasets.csv_files import PathLike
from dams.two_files.encoding import encode, encoded_names, expand
from dams.two_files.naming import as_option
from dams.two_files.one_file import OneFile, ReadFile
from dams.two_files.one_hot import complete_one_hot
from dams.two_files.opening import STANDARD_INPUT, TableFile, open_table

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One file, read.

    Attributes
    ----------
    X : DataFrame
        Columns of floats; 0 means zero or lost.
    labels : DataFrame
        Columns that were left out of X as labels, those that the file has: numbers, or text.
    ids : Series or None
        Which rows belong together.
    columns : list of str
        Columns before encoding.
    encoding : dict
        Levels of each column of text, in the order of their 0/1 columns.
    unseen : dict
        Rows with a level that the encoding does not have, and which therefore count as lost, by column and level.
    """

    X: pd.DataFrame
    labels: pd.DataFrame
    ids: pd.Series | None
    columns: list[str]
    encoding: dict[str, tuple[str, ...]]
    unseen: dict[str, dict[str, int]]


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """Two files, read.

    Attributes
    ----------
    X_source, X_target : DataFrame
        Floats; the same columns in the same order, 0 meaning zero or lost. A column of text has one 0/1 column per
        level of the source, named `column=level`, all of them 0 where it is lost.
    labels_source, labels_target : DataFrame
        Columns that were left out as labels, those that the file has: numbers, or text.
    ids_source, ids_target : Series or None
        Which rows belong together.
    anchors, always_recorded : list of str
        Names among the columns of X. Of a column of text all levels are always recorded, and all but the most frequent
        are anchors: together they say no more. Anchors are among what is always recorded.
    column_groups : list of list of str
        Names among the columns of X; levels of one column of text that may be lost are a group.
    never_lost : list of str
        Columns that are among what is always recorded although nobody named them: columns of text of which neither
        file has an empty field, and sets of 0/1 columns (`ward_north`, `ward_south`) of which every row has one.
    columns : list of str
        Columns before encoding.
    encoding : dict
        Levels of each column of text, in the order of their 0/1 columns; `read_one` reads a later file by it.
    unseen : dict
        Rows of the target with a level that the source never has, by column and level: they count as lost.
    rows : tuple of int
        Rows of source and target.
    names : tuple of str
        What the files are called.
    """

    X_source: pd.DataFrame
    X_target: pd.DataFrame
    labels_source: pd.DataFrame
    labels_target: pd.DataFrame
    ids_source: pd.Series | None
    ids_target: pd.Series | None
    anchors: list[str]
    always_recorded: list[str]
    column_groups: list[list[str]]
    never_lost: list[str]
    columns: list[str]
    encoding: dict[str, tuple[str, ...]]
    unseen: dict[str, dict[str, int]]
    names: tuple[str, str]

    @property
    def rows(self) -> tuple[int, int]:
        """Rows of source and target."""
        return len(self.X_source), len(self.X_target)

    @property
    def structure(self) -> dict[str, Any]:
        """Structure of columns and rows that is known, as `check_ucar` and `estimate_relative_missingness` take it."""
        return {
            "always_recorded": self.always_recorded,
            "column_groups": self.column_groups,
            "anchors": self.anchors or None,
            "groups": self.ids_source,
            "groups_target": self.ids_target,
        }


def read_pair(
    source: PathLike,
    target: PathLike,
    *,
    labels: Collection[str] = (),
    left_out: Collection[str] = (),
    always_recorded: Sequence[str] = (),
    anchors: Sequence[str] = (),
    column_groups: Sequence[Sequence[str]] = (),
    groups: str | None = None,
    nan_as_zero: bool = False,
    separator: str | None = None,
    decimal: str | None = None,
) -> Pair:
    """Read two files with the same columns, in any order, of numbers or words.

    Parameters
    ----------
    source, target : path
        CSV files with a header line, plain or packed by gzip or zip, or Parquet files; "-" is standard input.
    labels : names of columns
        Read beside the covariates, in whichever file they are.
    left_out : names of columns
        Not read at all, in whichever file they are: identifiers, dates, free text.
    always_recorded : names of columns
        Columns that neither place ever loses, such as sex, age or site.
    anchors : names of columns
        Columns that neither place ever loses and on which loss, and the population, may depend.
    column_groups : lists of names of columns
        Columns that are lost together.
    groups : name of a column or None
        Column that says which rows belong together, such as a patient's number; in the file without it rows stand
        alone. It may hold text, and is left out otherwise.
    nan_as_zero : bool
        Whether an empty field among numbers is a lost value; otherwise it is refused. Among words it is always one.
    separator : str or None
        Character between fields of a CSV file; None recognises a comma, a semicolon, a tab or a bar.
    decimal : "." or "," or None
        Mark of decimals in a CSV file; None recognises it from the first lines.

    Raises
    ------
    ValueError, OSError
        Where a file can't be read, or not in one way only; the message names file, column, line and option.
    """
    if str(source) == str(target) == STANDARD_INPUT:
        raise ValueError("Only one of the two files can come through standard input; give the other by its name.")
    logger.info("Reading %s and %s", source, target)
    with open_table(source) as first, open_table(target) as second:
        files = [OneFile.look_at(file, separator, decimal) for file in (first, second)]
        every = list(dict.fromkeys(name for file in files for name in file.columns))
        wanted = [(name, ", the label") for name in labels] + [(name, " to leave out") for name in left_out]
        for name, purpose in wanted if groups is None else [*wanted, (groups, " to group rows by")]:
            if name not in every:
                raise ValueError(f"neither file has a column {name!r}{purpose}; {nearest(name, every)}")
        kept = [[name for name in file.columns if name not in {*labels, *left_out, groups}] for file in files]
        _refuse_other_columns((first, kept[0]), (second, kept[1]))
        columns = kept[0]
        here, there = (file.read(columns, groups) for file in files)
        label_tables = [
            file.read_labels(labels, len(side.numbers.values)) for file, side in zip(files, (here, there), strict=True)
        ]
    _refuse_mixed(here, there)
    encoding = {name: here.words[name].levels for name in columns if name in here.words}
    structure = _structure(columns, encoding, (here, there), always_recorded, anchors, column_groups)
    recorded = [name for name in [*always_recorded, *anchors] if name in columns]
    numbers = [name for name in columns if name not in encoding]
    here.refuse_empty(numbers, recorded, nan_as_zero)
    there.refuse_empty(numbers, recorded, nan_as_zero)
    ids, unseen = (here.ids, there.ids), there.unseen(encoding)
    # One after the other, as encoding copies what it is given.
    X_source = encode(columns, here.numbers, here.words, encoding)
    del here
    X_target = encode(columns, there.numbers, there.words, encoding)
    del there
    known = {*structure["always_recorded"], *(name for names in structure["column_groups"] for name in names)}
    others = [name for name in X_source.columns if name not in known]
    for names in complete_one_hot(X_source, X_target, others):
        structure["never_lost"] += names
        structure["always_recorded"] += names
    return Pair(
        X_source=X_source,
        X_target=X_target,
        labels_source=label_tables[0],
        labels_target=label_tables[1],
        ids_source=ids[0],
        ids_target=ids[1],
        **structure,
        columns=columns,
        encoding=encoding,
        unseen=unseen,
        names=(first.name, second.name),
    )


def read_one(
    path: PathLike,
    *,
    columns: Sequence[str] | None = None,
    encoding: Mapping[str, Sequence[str]] | None = None,
    labels: Collection[str] = (),
    left_out: Collection[str] = (),
    groups: str | None = None,
    nan_as_zero: bool = False,
    separator: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Read one file in the same way, for instance a later one by the encoding of a `Pair`.

    Parameters
    ----------
    columns : names of columns or None
        The columns of the file to read, in this order, before encoding (`Pair.columns`); others are left out. None
        reads all but `labels`, `left_out` and `groups`, and refuses a file that has nothing of that name to leave out.
    encoding : dict or None
        Levels of the columns of text. None takes the levels that the file has.
    labels, left_out, groups, nan_as_zero, separator, decimal
        As in `read_pair`; labels that the file does not have are left out.
    """
    with open_table(path) as file:
        one = OneFile.look_at(file, separator, decimal)
        if columns is None:
            # Whoever misspells an identifier does not want it among the covariates.
            if lacking := [name for name in left_out if name not in one.columns]:
                raise ValueError(
                    f"{file} has no column {lacking[0]!r} to leave out; {nearest(lacking[0], one.columns)}"
                )
            columns = [name for name in one.columns if name not in {*labels, *left_out, groups}]
        lacking = [name for name in columns if name not in one.columns]
        if lacking:
            raise ValueError(
                f"{file} has no {describe_columns(np.arange(len(lacking)), lacking)}; "
                f"{nearest(lacking[0], one.columns)}"
            )
        read = one.read(list(columns), groups, encoding)
        label_table = one.read_labels(labels, len(read.numbers.values))
    levels = {name: tuple(encoding[name]) if encoding else read.words[name].levels for name in read.words}
    read.refuse_empty([name for name in columns if name not in levels], [], nan_as_zero)
    X = encode(columns, read.numbers, read.words, levels)
    return Table(X, label_table, read.ids, list(columns), levels, read.unseen(levels))


def _refuse_other_columns(source: tuple[TableFile, list[str]], target: tuple[TableFile, list[str]]) -> None:
    """Raise unless both files have the same columns."""
    alone = [
        (path, sorted(set(names) - set(others))) for (path, names), (_, others) in ((source, target), (target, source))
    ]
    lists = [f"only {path} has {', '.join(map(repr, names[:20]))}" for path, names in alone if names]
    if lists:
        alike = {name: other for name in alone[0][1] for other in alone[1][1] if _folded(name) == _folded(other)}
        if alike:
            name, other = next(iter(alike.items()))
            lists.append(f"{name!a} and {other!a} differ in case, spaces or the code of a letter, rename one")
        option = as_option("--label", [name for _, names in alone for name in names], most=20)
        raise ValueError(
            f"Both files must have the same columns, but {'; '.join(lists)}. Leave out labels and identifiers "
            f"({option}), and keep what both have."
        )
    if not source[1]:
        raise ValueError(f"{source[0]} has no column left to compare; leave out fewer with --label.")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().casefold()


def _refuse_mixed(source: ReadFile, target: ReadFile) -> None:
    """Raise where a column holds words in one file and numbers, or in the source nothing, in the other."""
    for one, other in ((source, target), (target, source)):
        for name in one.words:
            if name in other.words:
                continue
            nothing = other.empty(name) == len(other.numbers.values)
            if nothing and other is target:
                continue
            raise ValueError(
                f"Column {name!r} holds words in {one.name}, such as {one.words[name].levels[0]!r}, and "
                f"{'nothing' if nothing else 'numbers'} in {other.name}: write it alike in both, or leave it out "
                f"({as_option('--label', [name])})."
            )


def _structure(
    columns: list[str],
    encoding: dict[str, tuple[str, ...]],
    sides: tuple[ReadFile, ReadFile],
    always_recorded: Sequence[str],
    anchors: Sequence[str],
    column_groups: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """Return what is known of the columns after encoding."""
    lost_together = [expand(names, columns, encoding, option="--column-group") for names in column_groups]
    taken = {name for names in lost_together for name in names}
    recorded = expand(always_recorded, columns, encoding, option="--always-recorded")
    recorded += [name for name in expand(anchors, columns, encoding, option="--anchors") if name not in recorded]
    never_lost = [
        name
        for name in encoding
        if not {*encoded_names([name], encoding)} & {*taken, *recorded} and all(side.empty(name) == 0 for side in sides)
    ]
    recorded += encoded_names(never_lost, encoding)
    for name in encoding:
        levels = encoded_names([name], encoding)
        if len(levels) > 1 and not {*levels} & {*taken, *recorded}:
            lost_together.append(levels)
    chosen = []
    for name in anchors:
        levels = encoded_names([name], encoding)
        if name in encoding:
            del levels[int(np.argmax(sides[0].words[name].counts()))]
        chosen += levels
    return {
        "always_recorded": recorded,
        "anchors": list(dict.fromkeys(chosen)),
        "column_groups": lost_together,
        "never_lost": never_lost,
    }
