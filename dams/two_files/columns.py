"""One row per column of the files, what matters most first; the levels of a column of words are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dams.diagnostics import UCARReport
from dams.relative import RelativeMissingness
from dams.two_files.encoding import encoded_names
from dams.two_files.reading import Pair

# What the target shows of a column.
LESS, MORE, NOTHING, UNCLEAR = "less", "more", "nothing", "no clear difference"
NEVER_LOST, RECORDED = "never lost", "always recorded"
DIFFERENT = (LESS, MORE, NOTHING)


def parts_of(pair: Pair) -> dict[str, list[int]]:
    """Return the places in the tables of each column of the files.

    Levels of a column of words are kept apart where the user put some of them into groups of columns.
    """
    place = {name: j for j, name in enumerate(pair.X_source.columns)}
    group = {name: k for k, names in enumerate(pair.column_groups) for name in names}
    recorded = set(pair.always_recorded)
    parts: dict[str, list[int]] = {}
    for name in pair.columns:
        made = encoded_names([name], pair.encoding)
        alike = len({(group.get(level, level if len(made) > 1 else ""), level in recorded) for level in made}) == 1
        together = alike or {*made} <= recorded
        parts |= {name: [place[m] for m in made]} if together else {m: [place[m]] for m in made}
    return parts


def columns_of(
    relative: RelativeMissingness,
    parts: Mapping[str, Sequence[int]],
    encoding: Mapping[str, Sequence[str]],
    report: UCARReport | None,
    *,
    named: Sequence[str],
    never_lost: Sequence[str],
) -> pd.DataFrame:
    """Return the table of `Comparison.columns`."""
    first = [places[0] for places in parts.values()]
    frame = relative.to_frame().iloc[first]
    frame = frame[["r", "lower", "upper", "simultaneous_lower", "simultaneous_upper"]]
    frame.index = pd.Index(list(parts), name="column")
    # At most one level of a column of words is 1.
    has = {
        side: np.array([q[list(places)].sum() for places in parts.values()])
        for side, q in (("source_has", relative.q_source), ("target_has", relative.q_target))
    }
    whole = frame.index.isin([name for name in never_lost if name in encoding])
    frame = frame.assign(**{side: np.where(whole, 1.0, share) for side, share in has.items()})
    frame.insert(0, "kind", np.where(frame.index.isin(list(encoding)), "words", "numbers"))
    frame["target_shows"] = _shows(frame, relative, first, named, never_lost)
    suspects, differing = (set(), set()) if report is None else (set(report.suspects), set(report.population_differs))
    names = relative.feature_names or []
    for column, found in (("suspect", suspects), ("mix_differs", differing)):
        frame[column] = [any(names[j] in found for j in places) for places in parts.values()]
    return frame.iloc[_order(frame)]


def _shows(
    frame: pd.DataFrame,
    relative: RelativeMissingness,
    first: Sequence[int],
    named: Sequence[str],
    never_lost: Sequence[str],
) -> np.ndarray:
    conditions = [
        frame.index.isin(named),
        frame.index.isin(never_lost) | relative.always_recorded[list(first)],
        (frame["target_has"] == 0) & (frame["simultaneous_lower"] > 0),
        frame["simultaneous_lower"] > 0,
        frame["simultaneous_upper"] < 0,
    ]
    return np.select(conditions, [RECORDED, NEVER_LOST, NOTHING, LESS, MORE], UNCLEAR)


def _order(frame: pd.DataFrame) -> np.ndarray:
    """Suspects, then what differs by how much, then the rest by how near it is to a difference."""
    differs = frame["target_shows"].isin(DIFFERENT) | frame["mix_differs"]
    size = np.abs(np.log(np.maximum(1 - frame["r"], 1e-6)))
    near = np.abs(frame["r"].to_numpy()) / np.maximum((frame["upper"] - frame["lower"]).to_numpy(), 1e-12)
    whole = frame["target_shows"].isin([NEVER_LOST, RECORDED])
    return np.lexsort((-np.where(differs, size, near), whole & ~differs, ~differs, ~frame["suspect"]))
