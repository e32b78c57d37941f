"""A comparison as text for a terminal: the verdict, what to do, the columns that matter, the test."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from dams.two_files.columns import DIFFERENT, NEVER_LOST, RECORDED, UNCLEAR
from dams.two_files.naming import count, printable
from dams.two_files.presence import most_varying
from dams.two_files.verdict import CANT_SEE

if TYPE_CHECKING:
    from dams.two_files.comparison import Comparison

# Columns that are shown unless all are asked for.
SHOWN, SHOWN_BY_ANCHOR = 20, 5
KEY = "r = 0.5: the target shows half of what the source shows; r = -1: twice as much."


def describe(found: Comparison, *, all_columns: bool = False) -> str:
    """Return the text of `Comparison`."""
    (source, target), (n_source, n_target) = found.files, found.rows
    shown = found.columns if all_columns else found.columns.head(SHOWN)
    rest = found.columns["target_shows"].iloc[len(shown) :]
    blocks = [
        f"{found.headline}\n({source}: {n_source:,} rows; {target}: {n_target:,} rows; {count(len(found.columns))})",
        "What to do:\n" + "\n".join(f"- {step}" for step in found.advice),
        table(shown) + (f"\n… and {count(len(rest))} more: {counted(rest)} (--all lists them)." if len(rest) else ""),
        f"{KEY} Intervals hold {100 * found.relative.confidence:.3g} % for all columns at once.",
    ]
    if len(found.presence):
        blocks.append(_by_anchor(found))
    blocks.append("\n".join([*(f"Note: {printable(note, most=2000)}" for note in found.notes), test_of(found)]))
    if found.report is None or found.report.rejected:
        blocks.append(CANT_SEE)
    return "\n\n".join(blocks)


def test_of(found: Comparison) -> str:
    """Return what the test of UCAR says; of the population the headline has told, by the files' columns."""
    report = found.report
    if report is None:
        return f"Whether values are lost at random was not checked: {found.not_checked}"
    of_loss = report.checks[report.checks["kind"] != "population"]
    return printable(str(replace(report, checks=of_loss, anchors=tuple(found.anchors))), most=5000)


def table(columns: pd.DataFrame) -> str:
    """One line per column, in the words of somebody who knows neither symbol."""
    frame = columns[["r", "simultaneous_lower", "simultaneous_upper", "source_has", "target_has"]].round(3)
    frame.columns = pd.Index(["r", "lower", "upper", "source has", "target has"])
    remarks = [
        "suspect" if suspect else "mix differs" if mix else ""
        for suspect, mix in zip(columns["suspect"], columns["mix_differs"], strict=True)
    ]
    frame["target shows"] = columns["target_shows"]
    if any(remarks):
        frame[""] = remarks
    frame.index = pd.Index([printable(name) for name in columns.index])
    return frame.to_string(float_format=lambda value: f"{value:.3f}")


def counted(shows: pd.Series) -> str:
    """Count columns by what the target shows of them."""
    counts = {
        "with a clear difference": int(shows.isin(DIFFERENT).sum()),
        "without": int((shows == UNCLEAR).sum()),
        "never lost": int(shows.isin([NEVER_LOST, RECORDED]).sum()),
    }
    return ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)


def _by_anchor(found: Comparison) -> str:
    """The columns whose r varies most, by level of each anchor."""
    names = most_varying(found.presence, SHOWN_BY_ANCHOR)
    shown = found.presence[found.presence["column"].isin(names)]
    lines = []
    for anchor, part in shown.groupby("anchor", sort=False):
        wide = part.assign(level=part["level"].map(printable), column=part["column"].map(printable))
        wide = wide.pivot_table(index="level", columns="column", values="r", sort=False)
        frame = wide.rename_axis(index=None, columns=None).to_string(float_format=lambda value: f"{value:.3f}")
        lines.append(f"r by {printable(str(anchor))}, of the columns that vary most:\n{frame}")
    return "\n\n".join(lines)
