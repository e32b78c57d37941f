"""Contents of a results folder, and what is missing, against what its configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from dams.datasets.registry import DATASETS, raw_name, title_of
from dams.datasets.uci.origins import find_dataset
from dams.experiments.beyond.names import EICU
from dams.experiments.design import names_in_order
from dams.experiments.products import MANIFEST, PARTS, Made, file_of, study_outputs
from dams.report.run_files import read_json, read_table
from dams.report.run_folder import RunFolder
from dams.report.summary import in_display_order, in_given_order

# A table of more rows than this is linked, not shown.
LONGEST = 60
# Formats as they are linked; the page shows the first, if it can.
_ORDER = ["html", "svg", "csv", "md", "tex", "pdf", "png"]
_SHOWN = (".html", ".svg", ".csv")


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
        return self.files[0]


def item_of(run: RunFolder, made: Made) -> Item | None:
    """Return a product as the page shows it; None where nothing of it is there to be shown."""
    files = sorted(run.files_of(made), key=lambda file: _ORDER.index(file.rpartition(".")[2]))
    if not files or not files[0].endswith(_SHOWN):
        return None
    kind = "figure" if files[0].endswith(".svg") else "table"
    return Item(PurePosixPath(files[0]).stem, kind, made.title, made.caption, tuple(files))


def outputs_of(run: RunFolder) -> tuple[list[Item], list[str]]:
    """Tables and figures of the studies that exist, and the names of those that were asked for and do not."""
    asked = [made for made in run.products if made.product in (MANIFEST["table"], MANIFEST["figure"])]
    # As the studies ask for them, where these are known.
    wanted = [output.file for output in study_outputs(run.run)] if run.run else []
    asked.sort(key=lambda made: wanted.index(made.name) if made.name in wanted else len(wanted))
    found = {made.name: item_of(run, made) for made in asked}
    return [item for item in found.values() if item], [name for name, item in found.items() if item is None]


def parts_of(run: RunFolder) -> dict[str, list[Item]]:
    """Tables and figures of the sections of the page; bare data and many rows are only linked."""
    parts = {}
    for part in PARTS:
        items = [
            item
            for made in run.products
            if made.product.part == part and (item := item_of(run, made)) and not _is_long(run, item)
        ]
        # What has no caption are the data behind the rest: worth showing where the rest is not made yet.
        if shown := [item for item in items if item.caption] or items:
            parts[part] = shown
    return parts


def _is_long(run: RunFolder, item: Item) -> bool:
    return item.shown.endswith(".csv") and len(read_table(run.folder / item.shown)) > LONGEST


def what_is_missing(run: RunFolder) -> list[str]:
    """List what the configuration asks for and the folder does not hold, one line each."""
    lines = []
    if run.run is None:
        lines.append("The configuration of this run is not known, so missing parts can't be listed.")
    else:
        n_blocks, missing = len(run.blocks), len(run.blocks) - len(run.finished_blocks)
        # A finished run may have cleared its blocks away.
        if missing and not any(run.owns(file_of(name)) for name in ("records", "records_compact")):
            lines.append(f"{missing} of {n_blocks} blocks of fits; what follows rests on the others.")
        _, absent = outputs_of(run)
        lines += [f"Table or figure {name}." for name in absent]
    # A run without studies is not of the paper, and has none of its parts.
    if run.run is None or run.run.studies:
        present = {*parts_of(run), *run.records["method"].unique()}
        for name, part in PARTS.items():
            if name not in present and not part.optional:
                lines.append(f"{part.name}: {part.title[0].lower()}{part.title[1:]}.")
    if not run.owns(file_of("provenance")):
        lines.append("Provenance: the run has not come to its end.")
    return lines


def records_in_order(run: RunFolder) -> pd.DataFrame:
    """Return the records in the order of the configuration, where that is known."""
    return _in_order(run, run.records)


def datasets_in_order(run: RunFolder) -> list[str]:
    """Return the data sets of the records as tables show them."""
    # Of a million records hundreds differ in this, and are all that need be sorted.
    places = run.records[["study", "dataset", "regime", "epsilon", "labels", "model", "method"]].drop_duplicates()
    return list(dict.fromkeys(in_display_order(_in_order(run, places))["dataset"]))


def _in_order(run: RunFolder, records: pd.DataFrame) -> pd.DataFrame:
    return records if run.run is None else in_given_order(records, names_in_order(run.run.studies.values()))


def data_sources(run: RunFolder, raw: Mapping[str, Path]) -> pd.DataFrame:
    """One row per data set and raw file: what it is, file, SHA-256, origin, licence. `raw` says what served it."""
    used = dict.fromkeys(datasets_in_order(run))
    if run.run and run.run.beyond and run.owns(file_of("beyond_scores")):
        used |= dict.fromkeys(name for name in run.run.beyond.datasets if name != EICU)
    rows: list[dict[str, Any]] = []
    for name in used:
        kind = DATASETS[name].kind if name in DATASETS else "own"
        about = {"dataset": title_of(name), "what": _KINDS[kind]}
        fetched = raw.get(raw_name(name) or "")
        files = (read_json(fetched) if fetched else None) or _pinned(raw_name(name))
        rows += [{**about, **file} for file in files] or [{**about, "file": _FILES[kind]}]
    if not run.evidence.eicu.empty:
        simulated = {"what": "simulated cohort", "file": "none"}
        real = {"what": "real patients", "file": "your own copy"}
        rows.append({"dataset": "eICU"} | (simulated if run.evidence.eicu_is_simulated else real))
    if run.owns(file_of("sepsis_cohort")):
        about = {
            "dataset": "Challenge 2019",
            "what": "real patients, labels and losses",
            "file": f"{read_table(run.folder / file_of('sepsis_cohort'))['patients'].sum():,} patient files",
        }
        rows.append(about | {"source": "PhysioNet, doi 10.13026/v64v-d857", "licence": "open access"})
    return pd.DataFrame(rows, columns=["dataset", "what", "file", "sha256", "source", "licence"])


def _pinned(name: str | None) -> list[dict[str, Any]]:
    """Return the files that a run must have read, for a folder that does not say what served them, as a clone."""
    if name is None:
        return []
    dataset = find_dataset(name)
    return [{"file": file.name, "sha256": file.sha256, "licence": dataset.licence} for file in dataset.files]


_KINDS = {
    "scenario": "simulated",
    "table": "real covariates; labels and missingness simulated",
    "uci": "real covariates; labels and missingness simulated",
    "own": "your own covariates; labels and missingness simulated",
}
_FILES = {"scenario": "none", "table": "part of scikit-learn", "own": "your own"}
