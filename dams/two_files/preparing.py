"""Two tables as candidates take them: matched by name, with labels, without columns of which too little is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dams._columns import resolve_columns, resolve_groups
from dams._rows import resolve_row_groups
from dams._validation import match_columns, refuse_repeated_names
from dams.two_files.labels import Labels
from dams.two_files.one_hot import complete_one_hot

Array = np.ndarray
# Source rows that must show a value of a column for it to be used: it has to be seen wherever rows are divided.
LEAST_SHOWN = 20


def check_tables(
    X_source: Any,
    n_labels: int,
    X_target: Any,
    groups: Any,
    always_recorded: Sequence[str],
    column_groups: Sequence[Sequence[str]],
    anchors: Sequence[str],
) -> pd.DataFrame:
    """Return the target with its columns in the source's order; raise for tables and names that do not go together."""
    for name, X in (("X_source", X_source), ("X_target", X_target)):
        refuse_no_frame(X, name=name)
    names = list(X_source.columns)
    if n_labels != len(X_source):
        raise ValueError(f"y_source has {n_labels:,} labels, expected one per row of X_source, {len(X_source):,}.")
    resolve_row_groups(groups, len(X_source), parameter="groups")
    resolve_columns(always_recorded, len(names), names, parameter="always_recorded")
    resolve_columns(anchors, len(names), names, parameter="anchors")
    resolve_groups(column_groups, len(names), names)
    return match_columns(X_target, names, len(names))


def refuse_no_frame(X: Any, *, name: str) -> None:
    """Raise unless X is a DataFrame whose columns have names of their own."""
    if not isinstance(X, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame, as columns are matched by name; got {type(X).__name__}.")
    refuse_repeated_names(X, name=name)
    if other := [column for column in X.columns if not isinstance(column, str)]:
        raise TypeError(f"{name} has a column {other[0]!r}: names must be text, as of X.rename(columns=str).")


def take_columns(X: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the columns that a model takes, in its order."""
    refuse_no_frame(X, name="X")
    if missing := [name for name in columns if name not in X.columns]:
        raise ValueError(f"The table has no column {missing[0]!r}, which the model takes.")
    return X[list(columns)]


def labelled_rows(
    X: pd.DataFrame, labels: Labels, groups: Any, label: str, notes: list[str]
) -> tuple[pd.DataFrame, Array, Any]:
    """Return the rows with a label, their labels and ids."""
    known = labels.known
    if not known.all():
        notes.append(f"{(~known).sum():,} source rows without a label {label!r} were left out.")
    ids = None if groups is None else np.asarray(groups)[known]
    return X[known].reset_index(drop=True), labels.values[known], ids


def drop_rare(X: pd.DataFrame, X_target: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables without columns that hardly a row of X shows."""
    shown = np.count_nonzero(X.to_numpy(), axis=0)
    rare = [str(name) for name, count in zip(X.columns, shown, strict=True) if count < LEAST_SHOWN]
    if not rare:
        return X, X_target
    notes.append(f"Left out, as hardly a labelled source row shows them: {', '.join(rare)}.")
    if len(rare) == X.shape[1]:
        raise ValueError("The source shows values in too few rows of every column: give more rows.")
    return X.drop(columns=rare), X_target.drop(columns=rare)


def complete_knowledge(
    X: pd.DataFrame,
    X_target: pd.DataFrame,
    always_recorded: Sequence[str],
    column_groups: Sequence[Sequence[str]],
    anchors: Sequence[str],
    notes: list[str],
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return what is known of the columns that are left, sets of columns that are never lost among it."""
    left = set(X.columns)
    always, chosen = ([name for name in names if name in left] for names in (always_recorded, anchors))
    together = [kept for group in column_groups if len(kept := [name for name in group if name in left]) > 1]
    named = {*always, *chosen, *(name for group in together for name in group)}
    for found in complete_one_hot(X, X_target[X.columns], [name for name in X.columns if name not in named]):
        always += found
        notes.append(
            f"{', '.join(found)}: every row of both tables has exactly one of them, so they are never lost and are "
            "treated as always recorded."
        )
    return always, together, chosen
