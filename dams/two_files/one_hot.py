"""Sets of 0/1 columns that are one category: every row has exactly one of them, so that none is ever lost."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

# Between a category and its level, as in ward_north, ward=north, ward.north.
_STEM = re.compile(r"^(.+)[_=.: /-][^_=.: /-]*$")
# Rows that spare the others of nearly all candidates.
FIRST = 1000


def complete_one_hot(source: pd.DataFrame, target: pd.DataFrame, names: Iterable[str]) -> list[list[str]]:
    """Return sets of 0/1 columns of which every row of both tables has exactly one.

    If any of them were lost at random, some rows would have none. Candidates are columns whose names have one stem, and
    any two columns of which one is 1 where the other is 0.
    """
    place = {name: j for j, name in enumerate(source.columns)}
    tables = [table.to_numpy() for table in (source, target)]
    flags = [
        name for name in names if all(_are_flags(table[:n, [place[name]]]) for n in (FIRST, None) for table in tables)
    ]
    stems: dict[str, list[str]] = {}
    for name in flags:
        if found := _STEM.match(name):
            stems.setdefault(found[1], []).append(name)
    sets: list[list[str]] = []
    taken: set[str] = set()
    for members in [*stems.values(), *_opposites(flags, place, tables)]:
        columns = [place[name] for name in members]
        if len(members) > 1 and not taken & {*members} and all((t[:, columns].sum(axis=1) == 1).all() for t in tables):
            sets.append(members)
            taken |= {*members}
    return sets


def _are_flags(values: np.ndarray) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _opposites(flags: list[str], place: dict[str, int], tables: list[np.ndarray]) -> Iterable[list[str]]:
    """Pairs of columns of which one is 1 where the other is 0, as far as the first rows tell."""
    seen: dict[bytes, str] = {}
    for name in flags:
        bits = np.concatenate([table[:FIRST, place[name]] for table in tables]).astype(bool)
        if bits.all() or not bits.any():
            continue
        if (other := seen.get((~bits).tobytes())) is not None:
            yield [other, name]
        seen[bits.tobytes()] = name
