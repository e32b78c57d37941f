"""Two files side by side: how much more the target loses of each column, and whether it does so at random."""

from __future__ import annotations

import json
import logging
import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import dams
from dams.datasets.csv_files import PathLike
from dams.diagnostics import UCARReport, prepare_check
from dams.estimators._doubts import warn_of_marks
from dams.relative import RelativeMissingness, estimate_relative_missingness
from dams.two_files.columns import columns_of, parts_of
from dams.two_files.compare_text import describe
from dams.two_files.naming import as_option
from dams.two_files.notes import notes_on, notes_on_flags
from dams.two_files.presence import presence_by_anchor
from dams.two_files.reading import Pair, read_pair
from dams.two_files.verdict import Verdict, advise, headline, judge

logger = logging.getLogger(__name__)

# Of what `to_dict` returns; a key that changes its meaning, or goes, raises it.
FORMAT = 1
# Shares, loss at random, population.
LOOKS = 3
# The bootstrap's smallest p-value is about 0.001.
LEAST_ALPHA = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of `compare_files`; `print` shows it, verdict first.

    Attributes
    ----------
    files, rows : pair
        Names of source and target, and their rows.
    columns : DataFrame
        One row per column of the files, what matters most first: kind ("numbers" or "words"), r with its interval
        (lower, upper) and the interval that holds for all columns at once (simultaneous_lower, simultaneous_upper),
        shares of rows that have a value (source_has, target_has), target_shows ("less", "more", "nothing",
        "no clear difference", "never lost" or "always recorded"), suspect, mix_differs. `target_shows` is judged for
        all columns at once.
    relative : RelativeMissingness
        After encoding.
    report : UCARReport or None
        The test of whether values are lost at random; None where `not_checked` says why there is none.
    notes : list of str
        What is remarkable about the data, or was assumed of them.
    alpha : float
        Probability, at most, of a shift that is found where there is none.
    presence : DataFrame
        How much both show of each column by level of each anchor, r among it; empty without anchors.
    """

    files: tuple[str, str]
    rows: tuple[int, int]
    columns: pd.DataFrame
    relative: RelativeMissingness
    report: UCARReport | None
    not_checked: str
    notes: list[str]
    presence: pd.DataFrame
    alpha: float
    anchors: list[str] = field(default_factory=list)
    has_groups: bool = False
    is_same: bool = False

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict in a word: Verdict.NO_SHIFT, POPULATION_SHIFT, MISSINGNESS_SHIFT or REJECTED."""
        return judge(self)

    @property
    def shift(self) -> bool:
        """Whether anything differs: shares of what is recorded, the population, or whatever rejects UCAR."""
        return self.verdict is not Verdict.NO_SHIFT

    @property
    def exit_code(self) -> int:
        """0 where no shift was found, 1 otherwise."""
        return int(self.shift)

    @property
    def headline(self) -> str:
        """The verdict in a sentence or two."""
        return headline(self)

    @property
    def advice(self) -> list[str]:
        """Advice: what to do about it."""
        return advise(self)

    def __str__(self) -> str:
        return describe(self)

    __repr__ = __str__

    def to_text(self, *, all_columns: bool = False) -> str:
        """Return what `print` shows; with `all_columns`, not only those that matter most."""
        return describe(self, all_columns=all_columns)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per column, what matters most first."""
        return self.columns.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; None where a number is not finite."""
        report = self.report
        return {
            "format": FORMAT,
            "dams": dams.__version__,
            "verdict": self.verdict.value,
            "shift": self.shift,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "advice": self.advice,
            "source": {"file": self.files[0], "rows": self.rows[0]},
            "target": {"file": self.files[1], "rows": self.rows[1]},
            "alpha": self.alpha,
            "confidence": self.relative.confidence,
            "deleting_can_imitate": self.relative.is_proper,
            "ucar": None
            if report is None
            else {
                "rejected": report.rejected,
                "p_value": report.p_value,
                "alpha": report.alpha,
                "p_by_family": report.p_by_family,
                "suspects": report.suspects,
                "population_differs": report.population_differs,
                "anchors": list(report.anchors),
                "checks": len(report.checks),
                "pairs_left_out": report.pairs_left_out,
                "not_checked": report.not_checked,
            },
            "not_checked": self.not_checked,
            "columns": _records(self.columns.rename_axis("column").reset_index()),
            "presence_by_anchor": _records(self.presence),
            "notes": self.notes,
        }

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return a page: one file that needs no other."""
        from dams.two_files.compare_page import render

        return render(self)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): _plain(value) for key, value in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def compare_files(
    source: PathLike, target: PathLike, *, alpha: float = 0.05, random_state: int = 0, **reading: Any
) -> Comparison:
    """Compare two files: relative missingness of every column, and whether values are lost at random.

    Three looks are taken: at the shares of what is recorded, at whether values are lost at random, and at the laws of
    what is always recorded. Each has the level alpha/3, for all its columns or checks at once, so that files without
    any shift are said to have one with probability alpha at most.

    Parameters
    ----------
    source, target : path
        Files with the same columns, as `dams.two_files.reading.read_pair` reads them; 0 means zero or lost.
    alpha : float
        Level of the verdict, between 0.005 and 0.5.
    random_state : int
        Seed of the test's bootstrap.
    **reading
        Options of `read_pair`: left_out, always_recorded, anchors, column_groups, groups, nan_as_zero, separator,
        decimal.

    Raises
    ------
    ValueError, OSError
        Where a file can't be read, or the source never records a column; the message says what to do.
    """
    if not LEAST_ALPHA <= alpha <= 0.5:
        raise ValueError(f"alpha must lie between {LEAST_ALPHA} and 0.5, got {alpha!r}.")
    level = alpha / LOOKS
    pair = read_pair(source, target, **reading)
    anchors = list(reading.get("anchors", ()))
    parts = parts_of(pair)
    refuse_never_recorded(pair)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        relative = estimate_relative_missingness(pair.X_source, pair.X_target, confidence=1 - level, **pair.structure)
        known = relative.always_recorded & (relative.lower == relative.upper)
        warn_of_marks(pair.X_source.to_numpy(), pair.X_target.to_numpy(), list(pair.X_source.columns), known)
        lost = {name: places for name, places in parts.items() if not known[places[0]]}
        presence = presence_by_anchor(pair, relative, lost, anchors) if anchors and lost else pd.DataFrame()
        is_same = pair.X_source.shape == pair.X_target.shape and np.array_equal(pair.X_source, pair.X_target)
        facts: dict[str, Any] = {
            "files": pair.names,
            "rows": pair.rows,
            "relative": relative,
            "presence": presence,
            "alpha": alpha,
            "anchors": anchors,
            "has_groups": pair.ids_source is not None or pair.ids_target is not None,
            "is_same": is_same,
        }
        report, not_checked = None, ""
        notes = [*notes_on(pair), *notes_on_flags(pair.X_source, pair.X_target, relative)]
        named = [*reading.get("always_recorded", ()), *anchors]
        never_lost, encoding = pair.never_lost, pair.encoding
        logger.info("Testing whether values are lost at random")
        try:
            prepared = prepare_check(pair.X_source, pair.X_target, **pair.structure)
            # The checks need room, and the tables are not needed any more.
            del pair
            report = prepared.judge(alpha=level, random_state=random_state)
        except ValueError as error:
            not_checked = str(error)
    notes += dict.fromkeys(str(warning.message) for warning in caught)
    columns = columns_of(relative, parts, encoding, report, named=named, never_lost=never_lost)
    return Comparison(**facts, columns=columns, report=report, not_checked=not_checked, notes=notes)


def refuse_never_recorded(pair: Pair) -> None:
    """Raise where the source has no value in a column that may be lost: nothing is known of it there."""
    empty = ~(pair.X_source.to_numpy() != 0).any(axis=0)
    names = [
        name
        for name in pair.X_source.columns[empty]
        if name not in pair.always_recorded and not any(name in group for group in pair.column_groups)
    ]
    if names:
        shown = ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        raise ValueError(
            f"{pair.names[0]}, the source, has no value but 0 in {shown}: how much more or less the target shows can't "
            f"be known. Leave it out ({as_option('--label', names, most=20)}), or change the places of the files."
        )
