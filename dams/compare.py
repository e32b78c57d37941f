"""Two CSV files side by side: how much more the target loses of each column, and whether it does so at random."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dams._registry import nearest
from dams._validation import describe_columns
from dams.datasets.csv_files import read_header
from dams.datasets.csv_numbers import read_numbers
from dams.diagnostics import UCARReport, prepare_check
from dams.relative import RelativeMissingness, estimate_relative_missingness


def compare_files(
    source: str | Path,
    target: str | Path,
    *,
    labels: Collection[str] = (),
    always_recorded: Sequence[str] = (),
    column_groups: Sequence[Sequence[str]] = (),
    groups: str | None = None,
    nan_as_zero: bool = False,
    separator: str = ",",
    random_state: int = 0,
) -> str:
    """Return the relative missingness of every column with its interval, and the verdict of `check_ucar`, as text.

    Parameters
    ----------
    source, target : path
        Files with one header line and the same columns of numbers, in any order; 0 means zero or lost.
    labels : names of columns
        Left out, in whichever file they are: labels, identifiers.
    always_recorded : names of columns
        Columns that neither place ever loses, such as sex, age or site.
    column_groups : lists of names of columns
        Columns that are lost together.
    groups : name of a column or None
        Column that says which rows belong together, such as a patient's number; in the file without it rows stand
        alone. It may hold text, and is left out otherwise.
    nan_as_zero : bool
        Whether an empty field is a lost value; otherwise it is refused.
    """
    headers = [[name for name in read_header(path, separator=separator) if name] for path in (source, target)]
    known = list(dict.fromkeys(name for header in headers for name in header))
    for name in labels:
        if name not in known:
            raise ValueError(f"neither file has a column {name!r} to leave out; {nearest(name, known)}")
    if groups is not None and groups not in known:
        raise ValueError(f"neither file has a column {groups!r} to group rows by; {nearest(groups, known)}")
    left_out = {*labels, groups}
    kept = [[name for name in header if name not in left_out] for header in headers]
    _refuse_other_columns((source, kept[0]), (target, kept[1]))
    (X_source, ids_source), (X_target, ids_target) = (
        _read(path, kept[0], groups if groups in header else None, separator, nan_as_zero)
        for path, header in zip((source, target), headers, strict=True)
    )
    sizes = f"{source}: {len(X_source):,} rows; {target}: {len(X_target):,} rows"
    structure: dict[str, Any] = {
        "always_recorded": list(always_recorded),
        "column_groups": [list(columns) for columns in column_groups],
        "groups": ids_source,
        "groups_target": ids_target,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        relative = estimate_relative_missingness(X_source, X_target, **structure)
        try:
            prepared = prepare_check(X_source, X_target, **structure)
            # The checks need room, and the tables are not needed any more.
            del X_source, X_target
            verdict = _verdict(prepared.judge(random_state=random_state))
        except ValueError as error:
            verdict = f"Whether values are lost at random was not checked: {error}"
    notes = dict.fromkeys(f"Note: {warning.message}" for warning in caught)
    return "\n".join(
        [f"{sizes}; {_columns(len(relative.r))}", "", _table(relative), "", *_summary(relative), *notes, verdict]
    )


def _refuse_other_columns(source: tuple[str | Path, list[str]], target: tuple[str | Path, list[str]]) -> None:
    """Raise unless both files have the same columns."""
    alone = [
        (path, sorted(set(names) - set(others))) for (path, names), (_, others) in ((source, target), (target, source))
    ]
    lists = [f"only {path} has {', '.join(map(repr, names[:20]))}" for path, names in alone if names]
    if lists:
        raise ValueError(
            f"Both files must have the same columns, but {'; '.join(lists)}. Leave out labels and identifiers with "
            f"`--label {' '.join(name for _, names in alone for name in names[:3])}`, and keep what both have."
        )
    if not source[1]:
        raise ValueError(f"{source[0]} has no column left to compare; leave out fewer with --label.")


def _read(
    path: str | Path, columns: list[str], groups: str | None, separator: str, nan_as_zero: bool
) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return the values of a file, a lost one as 0, and the ids of its rows if it has any."""
    expected = "a number; give levels a 0/1 column each, or leave the column out with --label"
    values, ids = read_numbers(path, columns, ids=groups, separator=separator, expected=expected)
    empty = values.isna().to_numpy()
    if empty.any() and not nan_as_zero:
        where = describe_columns(np.flatnonzero(empty.any(axis=0)), list(values.columns))
        raise ValueError(
            f"{path} has {empty.sum():,} empty fields in {where}. If an empty field is a value that nobody recorded, "
            "say --nan-as-zero: it then counts as lost, like a 0. If it is something else, fill it in before."
        )
    return values.mask(empty, 0.0) if empty.any() else values, ids


def _table(relative: RelativeMissingness) -> str:
    """One line per column, in the words of somebody who knows neither symbol."""
    known = relative.always_recorded & (relative.lower == relative.upper)
    unclear = np.where(known, "always recorded", "no clear difference")
    shows = np.where(relative.upper < 0, "more", np.where(relative.lower > 0, "less", unclear))
    frame = relative.to_frame()[["r", "lower", "upper", "q_source", "q_target"]].round(3)
    frame = frame.rename(columns={"q_source": "source has", "q_target": "target has"})
    return frame.assign(**{"target shows": shows}).rename_axis(None).to_string()


def _summary(relative: RelativeMissingness) -> list[str]:
    lines = ["r = 0.5: the target shows half of what the source shows; r = -1: twice as much."]
    more = relative.improper
    # An always-recorded column has an interval without a width.
    open_ = (relative.lower <= 0) & (relative.upper >= 0) & (relative.lower < relative.upper)
    if not relative.is_proper:
        lines.append(
            f"The target shows more in {_columns(more.sum())}, and deleting can't imitate that: use "
            "ClosedFormRegressor or TwoWayEstimator."
        )
    elif not (more | open_).any():
        lines.append("Deleting source values can imitate the target: any of the estimators will do.")
    else:
        lines.append("Deleting source values can imitate the target, as far as all columns together tell.")
        if more.any():
            lines.append(
                f"Taken alone, {_columns(more.sum())} would say that the target shows more; an exact test that is "
                "corrected for looking at all columns does not bear it out."
            )
        if open_.any():
            lines.append(
                f"{_columns(open_.sum())} without a clear difference: the interval of r holds 0, so the target may "
                "show more or less."
            )
        lines.append(
            "ClosedFormRegressor and TwoWayEstimator will do in any case, FilteredEstimator where the target shows no "
            "more than the source."
        )
    # What was said to be always recorded has an interval of no width.
    whole = (relative.q_source == 1) & (relative.q_target == 1) & (relative.upper > relative.lower)
    if whole.any():
        assert relative.feature_names is not None
        where = describe_columns(np.flatnonzero(whole), relative.feature_names)
        lines.append(f"No zero in {where}: nothing is lost there, or it was centred and its zeros are hidden.")
    return lines


def _columns(n: int) -> str:
    return "1 column" if n == 1 else f"{n} columns"


def _verdict(report: UCARReport) -> str:
    advice = '\nSee "Before you trust it" in README.md for what to do.' if report.rejected else ""
    return f"{report}{advice}"
