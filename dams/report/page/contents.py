"""What a results folder holds and what it lacks, against what its configuration asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dams.datasets.registry import DATASETS, title_of
from dams.experiments.outputs import OUTPUTS, THEORY_FIGURES, names_in_order, wanted_outputs
from dams.report.evidence import Evidence
from dams.report.run_files import read_json, read_table
from dams.report.summary import in_display_order, in_given_order

# Parts of a run with a folder of their own: all their tables and figures are shown.
PARTS = {
    "theory": "The paper's statements, each checked on cases drawn anew",
    "eicu": "Mortality in two hospitals",
    "two_way": "Deletion and restoration together, for rates of either order",
    "diagnostics": "Whether values are lost completely at random",
}
PART_NAMES = {"theory": "Theory", "eicu": "eICU", "two_way": "Two-way adjustment", "diagnostics": "Diagnostics"}
CAPTIONS = {
    ("theory", "theory"): "What the paper states, how it was checked, and by how much the worst case missed.",
    ("eicu", "performance"): "Every predictor in both directions; beside ours, the published protocol and the paper.",
    ("eicu", "features"): "The largest coefficients of each hospital's oracle, with how often the feature is recorded.",
    ("eicu", "prevalence"): "How often each feature is recorded in one hospital and in the other.",
    ("eicu", "relative_missingness_summary"): "In which direction the hospitals differ, and for how many features.",
    ("diagnostics", "verdicts"): (
        "check_ucar on one cell of every regime. Values are lost completely at random here, by design, so about one "
        "cell in twenty is rejected by chance."
    ),
    ("diagnostics", "missingness_by_cell"): (
        "The same cells. Covered: share of intervals that hold the true r. Where the least eigenvalue is near zero or "
        "below, the closed form as printed breaks down. Negative: share of features that the target records better, "
        "where a filter can't follow."
    ),
    ("diagnostics", "relative_missingness"): (
        "Estimated 1 − r against the true one, one mark a feature: intervals should touch the line. Right of the "
        "dotted line the target records more than the source."
    ),
    ("diagnostics", "hospital_verdicts"): (
        "check_ucar between the two hospitals, then between simulated ones whose mechanism is known. Of these only "
        "ucar and population, whose labels differ and not the loss, keep the assumption; the trace of hourly is weak."
    ),
    ("diagnostics", "hospital_checks"): (
        "How far pairs of features are from what UCAR allows, in the same cohorts. A line that leaves the dotted one "
        "to the right speaks against UCAR."
    ),
}
# A table of more rows than this is linked, not shown.
LONGEST = 60


@dataclass(frozen=True)
class Item:
    """A table or figure: its name, what to see in it, and its files relative to the results folder."""

    name: str
    kind: str
    title: str
    caption: str
    files: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The file that the page shows: an HTML table, else a figure, else the data."""
        return next(file for suffix in (".html", ".svg", ".csv") for file in self.files if file.endswith(suffix))


def outputs_of(evidence: Evidence) -> tuple[list[Item], list[str]]:
    """Tables and figures of the studies that exist, and the names of those that were asked for and do not."""
    wanted = wanted_outputs(evidence.run) if evidence.run else {}
    found = {
        path.stem: path.parent.name
        for pattern in ("tables/*.html", "figures/*.svg")
        for path in sorted(evidence.folder.glob(pattern))
        if evidence.owns(f"{path.parent.name}/{path.name}")
    }
    items = []
    # Where the configuration is not known, all that is there is shown.
    for name in [*(n for n in wanted if n in found), *(n for n in found if n not in wanted)]:
        registered = next((key for key in sorted(OUTPUTS, key=len, reverse=True) if name.startswith(key)), None)
        if registered is None:
            continue
        dataset = name.removeprefix(registered).strip("_")
        title = registered.replace("_", " ").replace("table1", "table 1").capitalize()
        items.append(
            Item(
                name,
                OUTPUTS[registered].kind,
                f"{title}: {title_of(dataset)}" if dataset else title,
                OUTPUTS[registered].caption,
                _files(evidence, found[name], name),
            )
        )
    return items, [name for name in wanted if name not in found]


def parts_of(evidence: Evidence) -> dict[str, list[Item]]:
    """Tables and figures of the parts that have folders of their own; bare data and many rows are only linked."""
    parts = {}
    for part in PARTS:
        paths = [
            path
            for suffix in ("svg", "html", "csv")
            for path in sorted(evidence.folder.glob(f"{part}/*.{suffix}"))
            if evidence.owns(f"{part}/{path.name}")
        ]
        captioned = [name for where, name in CAPTIONS if where == part]
        stems = sorted(dict.fromkeys(path.stem for path in paths), key=_position(captioned))
        items = []
        for name in stems:
            files = _files(evidence, part, name)
            caption = THEORY_FIGURES[name].caption if name in THEORY_FIGURES else CAPTIONS.get((part, name), "")
            if files[0].endswith(".csv") and len(read_table(evidence.folder / files[0])) > LONGEST:
                continue
            kind = "figure" if files[0].endswith(".svg") else "table"
            items.append(Item(name, kind, name.replace("_", " ").capitalize(), caption, files))
        # What has no caption are the data behind the rest: worth showing where the rest is not made yet.
        if shown := [item for item in items if item.kind == "figure" or item.caption] or items:
            parts[part] = shown
    return parts


def _position(names: list[str]) -> Callable[[str], int]:
    """Sort by place in `names`, what is not there last."""
    return lambda name: names.index(name) if name in names else len(names)


def what_is_missing(evidence: Evidence) -> list[str]:
    """Say, one line each, what the configuration asks for and the folder lacks."""
    lines = []
    if evidence.run is None:
        lines.append("The configuration of this run is not known, so what it lacks can't be told.")
    else:
        n_blocks, missing = len(evidence.blocks), len(evidence.blocks) - len(evidence.finished_blocks)
        # A finished run may have cleared its blocks away.
        if missing and not evidence.owns("records.csv"):
            lines.append(f"{missing} of {n_blocks} blocks of fits; what follows rests on the others.")
        _, absent = outputs_of(evidence)
        lines += [f"Table or figure {name}." for name in absent]
    present = {*parts_of(evidence), *evidence.records["method"]}
    for part, title in PARTS.items():
        if part not in present:
            lines.append(f"{PART_NAMES[part]}: {title[0].lower()}{title[1:]}.")
    if not evidence.owns("provenance.json"):
        lines.append("Provenance: the run has not come to its end.")
    return lines


def records_in_order(evidence: Evidence) -> pd.DataFrame:
    """Return the records in the order of the configuration, where that is known."""
    if evidence.run is None:
        return evidence.records
    return in_given_order(evidence.records, names_in_order(evidence.run.studies.values()))


def data_sources(evidence: Evidence, raw: Path) -> pd.DataFrame:
    """One row a data set and raw file: kind, rows and columns of the run, file, SHA-256, source, licence."""
    used = dict.fromkeys(in_display_order(records_in_order(evidence))["dataset"])
    rows: list[dict[str, Any]] = []
    for name in used:
        kind = DATASETS[name].kind if name in DATASETS else "own"
        about = {"dataset": title_of(name), "what": _KINDS[kind]}
        files = (read_json(raw / f"{name}.json") or []) if kind == "uci" else []
        rows += [{**about, **file} for file in files] or [{**about, "file": _FILES[kind]}]
    if not evidence.eicu.empty:
        what, file = ("simulated cohort", "none") if evidence.eicu_is_simulated else ("real patients", "your own copy")
        rows.append({"dataset": "eICU", "what": what, "file": file})
    return pd.DataFrame(rows, columns=["dataset", "what", "file", "sha256", "source", "licence"])


_KINDS = {
    "scenario": "simulated",
    "table": "real covariates; labels and missingness simulated",
    "uci": "real covariates; labels and missingness simulated",
    "own": "your own covariates; labels and missingness simulated",
}
_FILES = {"scenario": "none", "table": "part of scikit-learn", "uci": "not recorded", "own": "your own"}


def _files(evidence: Evidence, part: str, name: str) -> tuple[str, ...]:
    """List the files of an output, for the page to show and link."""
    order = ["html", "svg", "csv", "md", "tex", "pdf", "png"]
    return tuple(file for suffix in order if evidence.owns(file := f"{part}/{name}.{suffix}"))
