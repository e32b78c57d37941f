"""What was assumed of columns when two files were read, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dams.estimators._doubts import describe_codes, is_coded
from dams.relative import RelativeMissingness
from dams.two_files.naming import as_option, listed
from dams.two_files.reading import Pair


def notes_on(pair: Pair) -> list[str]:
    """Return which columns were taken for always recorded, and which levels for lost."""
    notes = []
    words = [name for name in pair.never_lost if name in pair.encoding]
    flags = [name for name in pair.never_lost if name not in pair.encoding]
    if words:
        notes.append(
            f"No field of {_quoted(words)} is empty in either file: taken for always recorded, whatever its mix. If "
            "some of its words mean that nothing was recorded (unknown, none), leave these fields empty."
        )
    if flags:
        notes.append(
            f"Every row has exactly one of {_quoted(flags)}: taken for levels of a category that is always recorded."
        )
    return [*notes, *_notes_on_codes(pair), *notes_on_unseen(pair.unseen, pair.names[1])]


def _notes_on_codes(pair: Pair) -> list[str]:
    """Return the doubt about whole numbers, be they floats, that look like codes of categories; a column at a time."""
    X, known = pair.X_source, set(pair.always_recorded)
    coded = [j for j, name in enumerate(X.columns) if name not in known and _is_coded(X.iloc[:, j].to_numpy())]
    return [describe_codes(coded, list(X.columns))] if coded else []


def _is_coded(values: np.ndarray) -> bool:
    return bool((values % 1 == 0).all()) and is_coded(values)


def notes_on_unseen(unseen: Mapping[str, Mapping[str, int]], file: str) -> list[str]:
    """Return a sentence per column with levels that the source never has, and which count as lost."""
    return [
        f"{sum(rows.values()):,} rows of {file} have levels of {name!r} that the source never has "
        f"({_quoted(list(rows))}): they count as lost."
        for name, rows in unseen.items()
    ]


def notes_on_flags(X_source: pd.DataFrame, X_target: pd.DataFrame, relative: RelativeMissingness) -> list[str]:
    """Return a sentence on columns of 0 and 1 that differ: whether a 0 is an answer, files can't say."""
    differ = (relative.simultaneous_lower > 0) | (relative.simultaneous_upper < 0)
    names = [
        str(name)
        for name in X_source.columns[differ & ~relative.always_recorded]
        if all(np.isin(X[name].to_numpy(), (0, 1)).all() for X in (X_source, X_target)) and "=" not in str(name)
    ]
    if not names:
        return []
    return [
        f"Columns of nothing but 0 and 1 that the target shows less or more often: {_quoted(names)}. This counts as "
        "loss. Where 0 is an answer, and never a value that nobody recorded, it is another population: name these "
        f"columns ({as_option('--always-recorded', names)})."
    ]


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names])
