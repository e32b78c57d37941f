"""Knowledge of the columns that a user supplies: which are always recorded, and which are lost together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from dams._registry import nearest
from dams._validation import describe_columns

Array = np.ndarray


def resolve_columns(columns: Any, n_features: int, names: Sequence[Any] | None, *, parameter: str) -> Array:
    """Return columns as a mask of shape (d,); they are given by name, by position or as a mask, None for none.

    `parameter` is what the user called them, for messages.
    """
    chosen = np.zeros(n_features, dtype=bool)
    if columns is None:
        return chosen
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(f"{parameter} must be a list of columns or a mask, got {columns!r}: write [{columns!r}].")
    given = list(columns)
    if given and all(isinstance(entry, bool | np.bool_) for entry in given):
        if len(given) != n_features:
            raise ValueError(f"{parameter} is a mask of {len(given)} entries, expected one per column, {n_features}.")
        return np.array(given, dtype=bool)
    plain = None if names is None else [_plain(name) for name in names]
    numbers: set[int] = set()
    for entry in map(_plain, given):
        position = _position(entry, n_features, plain, parameter)
        if isinstance(entry, Integral):
            if position in numbers:
                raise ValueError(f"{parameter} names {entry} more than once: write a mask as booleans, not as 0 and 1.")
            numbers.add(position)
        chosen[position] = True
    return chosen


def _plain(entry: Any) -> Any:
    """A number or text of NumPy as Python's own, so that arrays mean what lists do."""
    return entry.item() if isinstance(entry, np.number | np.bool_ | np.str_) else entry


def resolve_groups(
    column_groups: Any, n_features: int, names: Sequence[Any] | None, *, parameter: str = "column_groups"
) -> Array:
    """Return the number of each column's group, shape (d,); a column in no list is a group of its own.

    Groups are numbered by their first column, so that without lists the answer is 0, 1, …, d − 1.
    """
    owner = np.arange(n_features)
    taken = np.zeros(n_features, dtype=bool)
    for columns in () if column_groups is None else column_groups:
        members = resolve_columns(columns, n_features, names, parameter=parameter)
        if (members & taken).any():
            twice = describe_columns(np.flatnonzero(members & taken), names)
            raise ValueError(f"{parameter} names {twice} in more than one group: a column belongs to one at most.")
        taken |= members
        if members.any():
            owner[members] = np.flatnonzero(members)[0]
    return np.unique(owner, return_inverse=True)[1]


def known_columns(
    always_recorded: Any, column_groups: Any, n_features: int, names: Sequence[Any] | None
) -> tuple[Array, Array]:
    """Return which columns are always recorded, and the number of each column's group; no column may be in both."""
    always = resolve_columns(always_recorded, n_features, names, parameter="always_recorded")
    groups = resolve_groups(column_groups, n_features, names)
    both = np.flatnonzero(always & (np.bincount(groups)[groups] > 1))
    if both.size:
        raise ValueError(
            f"{describe_columns(both, names)}: named in always_recorded and in column_groups. What is always recorded, "
            "as anchors are, is not lost with others; name it in one of the two."
        )
    return always, groups


def _position(entry: Any, n_features: int, names: Sequence[Any] | None, parameter: str) -> int:
    if names is not None:
        found = [j for j, name in enumerate(names) if type(name) is type(entry) and name == entry]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise ValueError(f"{parameter} names {entry!r}, which {len(found)} columns are called: give a mask.")
    if isinstance(entry, Integral) and 0 <= int(entry) < n_features:
        return int(entry)
    if isinstance(entry, str) and names is not None:
        hint = nearest(entry, [str(name) for name in names])
        raise ValueError(f"{parameter} names {entry!r}, which is no column; {hint}")
    expected = f"a position from 0 to {n_features - 1}" + (" or a column's name" if names is not None else "")
    raise ValueError(f"{parameter} names {entry!r}, expected {expected}.")
