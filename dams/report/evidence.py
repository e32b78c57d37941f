"""What a run left behind, whole or in part: the evidence that claims, the comparison and the page rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from dams._files import damaged, sha256_of
from dams.datasets.arrays import load_covariates
from dams.datasets.eicu.names import HOSPITALS
from dams.datasets.registry import title_of
from dams.experiments import design
from dams.experiments.config import Config, ConfigError, parse
from dams.experiments.config.fields import shortened
from dams.experiments.gather import gather
from dams.experiments.outputs import wanted_outputs
from dams.experiments.records import COLUMNS, KEYS, read_records
from dams.report.paper import departure
from dams.report.run_files import designs_in, read_json, read_table
from dams.report.scope import Scope, describe, split_predictor, title_of_method, title_of_model
from dams.report.summary import COMPARISON, Bootstrap, score_table

# What one job makes of all blocks.
GATHERED = ("records.csv", "failures.csv", "timings.csv")
# A figure of every run, beside those that its studies ask for.
COMPARISON_FIGURE = "published_against_measured"


class NotTestable(Exception):  # noqa: N818 - not an error: a verdict
    """The run holds nothing that a check could be made on; the text says what is missing."""


@dataclass(frozen=True)
class Evidence:
    """The files of one results folder, read when they are asked for; what does not exist is empty.

    `current` says that Snakemake has just seen to all that is read, so that nothing can be of an earlier configuration.
    """

    folder: Path
    current: bool = False

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration of the run, written when it started."""
        for name in ("config.json", "provenance.json"):
            content = read_json(self.folder / name)
            if content and not isinstance(content, dict):
                raise damaged(self.folder / name, f"expected keys with values, got {shortened(content)}")
            if content:
                return content.get("config", content)
        return {}

    @cached_property
    def run(self) -> Config | None:
        """The configuration, checked; None where it is not known or of another version."""
        try:
            return parse(self.config) if self.config else None
        except ConfigError:
            return None

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """How this run makes its intervals."""
        return Bootstrap(**self.config.get("bootstrap", {}), seed=self.config.get("seed", 0))

    @cached_property
    def provenance(self) -> dict[str, Any] | None:
        """What made the results; None before the end, or once what it speaks of was made anew."""
        return self._last_end if all(self._unchanged.values()) else None

    @cached_property
    def _last_end(self) -> dict[str, Any] | None:
        """What was written when a run of this configuration last came to its end."""
        content = read_json(self.folder / "provenance.json")
        return content if content and content.get("config") == self.config else None

    @cached_property
    def _unchanged(self) -> dict[str, bool]:
        """Whether what that run made is as it was then, of those of its files that are there."""
        files = (self._last_end or {}).get("files", {})
        return {name: sha256_of(path) == files[name] for name in files if (path := self.folder / name).exists()}

    def owns(self, name: str) -> bool:
        """Whether a file is there, the configuration asks for it, and it was made for this configuration.

        A folder may hold what runs of earlier configurations left under the same name.
        """
        path = self.folder / name
        if not path.exists() or not self._asks_for(PurePosixPath(name)):
            return False
        if self.current or self.run is None:
            return True
        if name == "provenance.json":
            return self.provenance is not None
        if name == "report.html":
            # It is made of all else, so it comes last.
            ending = self.folder / "provenance.json"
            return self.provenance is not None and path.stat().st_mtime >= ending.stat().st_mtime
        if name in GATHERED and (designs := designs_in(self.folder / "timings.csv")):
            return designs == set(self._digests.values())
        # A run that came to its end vouches for what it made, whatever the time of the file. Else what was made since
        # the configuration changed is its own; config.json is written when it does.
        if self._last_end is not None and self._unchanged.get(name, "files" not in self._last_end):
            return True
        settings = self.folder / "config.json"
        return not settings.exists() or path.stat().st_mtime >= settings.stat().st_mtime

    def _asks_for(self, name: PurePosixPath) -> bool:
        if self.run is None:
            return True
        match name.parts:
            case ("theory", *_):
                return self.run.theory
            case ("eicu", *_):
                return self.run.eicu is not None
            case ("diagnostics", file):
                return self.run.eicu is not None or not file.startswith("hospital_")
            case ("tables" | "figures", _):
                return name.stem in wanted_outputs(self.run) or name.stem == COMPARISON_FIGURE
        return True

    @cached_property
    def blocks(self) -> list[design.Block]:
        """The blocks that the configuration asks for; none where it is not known."""
        return list(design.blocks(self.run)) if self.run else []

    @cached_property
    def _digests(self) -> dict[str, str]:
        return {block.path: block.digest for block in self.blocks}

    @cached_property
    def finished_blocks(self) -> list[design.Block]:
        """Those of them whose records are there: made for this block, not for one of the same name before."""
        return [
            block
            for block in self.blocks
            if self._file_of(block).exists()
            and designs_in(self._file_of(block).with_suffix(".timings.csv")) == {self._digests[block.path]}
        ]

    def _file_of(self, block: design.Block) -> Path:
        return self.folder / "blocks" / f"{block.path}.csv"

    @cached_property
    def records(self) -> pd.DataFrame:
        """All records; of an interrupted run, those of the blocks that were finished."""
        if self.owns("records.csv"):
            return read_records(self.folder / "records.csv")
        if self.run is not None:
            done = self.finished_blocks
            return gather([self._file_of(block) for block in done], done) if done else _no_records()
        # Where blocks were cut anew, files of the earlier cut may hold the same cells: the newest count.
        files = [path for path in self.folder.glob("blocks/*/*.csv") if not path.name.endswith(".timings.csv")]
        files.sort(key=lambda path: (path.stat().st_mtime, path))
        return gather(files).drop_duplicates(KEYS, keep="last", ignore_index=True) if files else _no_records()

    @cached_property
    def theory(self) -> pd.DataFrame:
        """The checked statements of the paper."""
        return self._table("theory/theory.csv")

    @cached_property
    def eicu(self) -> pd.DataFrame:
        """Scores of the eICU experiment."""
        return self._table("eicu/scores.csv")

    @cached_property
    def eicu_rates(self) -> pd.DataFrame:
        """Summary of the relative missingness between the eICU hospitals."""
        return self._table("eicu/relative_missingness_summary.csv")

    def _table(self, name: str) -> pd.DataFrame:
        return read_table(self.folder / name) if self.owns(name) else pd.DataFrame()

    @cached_property
    def eicu_is_simulated(self) -> bool:
        """Whether the eICU cohort was made up, as its files told the run: taken for granted where nothing is known.

        The configuration can't tell: a folder of the user's may hold a simulated cohort.
        """
        return (read_json(self.folder / "eicu" / "cohort.json") or {}).get("simulated", True)

    @cached_property
    def eicu_departure(self) -> str:
        """Say why the eICU cohort is not the paper's; empty where it is."""
        if self.eicu_is_simulated:
            return "the eICU cohort is simulated"
        ours = (self.config.get("eicu") or {}).get("hospitals", HOSPITALS)
        if tuple(ours) == HOSPITALS:
            return ""
        first, second = (" and ".join(map(str, hospitals)) for hospitals in (ours, HOSPITALS))
        return f"H1 and H2 are hospitals {first}, the paper's {second}"

    def rows_of(self, dataset: str) -> int:
        """Count the rows of a prepared data set."""
        path = self.folder / "data" / f"{dataset}.npz"
        asked_for = self.run is None or any(dataset in study.datasets for study in self.run.studies.values())
        if not asked_for or not path.exists():
            raise NotTestable(f"{title_of(dataset)} is not part of this run")
        return len(load_covariates(path))

    def score_tables(self, scope: Scope, predictors: Sequence[str]) -> list[pd.DataFrame]:
        """Scores of each predictor ("method", or "model method") as tables of draws × β, all over the same entries.

        Where several studies hold them all, the one with the most entries counts; studies with other settings than the
        paper's do not count.
        """
        part = self._matching(scope)
        found = _tables_by_study(part[part["departure"] == ""], scope, predictors)
        if not found:
            unlike = part[part["departure"] != ""]
            others = _tables_by_study(unlike, scope, predictors)
            if others:
                largest = max(others, key=lambda study: others[study][0].size)
                reason = unlike.loc[unlike["study"] == largest, "departure"].iloc[0]
                raise NotTestable(f"{title_of(scope['dataset'])}: {reason}")
            raise NotTestable(self._what_is_missing(scope, predictors))
        return max(found.values(), key=lambda tables: tables[0].size)

    def distances(self, scope: Scope) -> pd.Series:
        """Distance between source and target rates, by the same draws as the rows of `score_tables`."""
        part = self._matching(scope)
        return part[part["departure"] == ""].groupby("draw")["rate_distance"].first()

    @cached_property
    def _scores(self) -> pd.DataFrame:
        """What checks need of the records; draws named with their regime and ε, so that a scope may span several.

        `regime` is the kind, as the paper's settings are known by what they are and not by what a run calls them.
        """
        records = self.records
        epsilon = records["epsilon"].map(lambda value: "" if pd.isna(value) else f"{value:g}")
        draw = records["regime"] + "/" + epsilon + "/" + records["draw"].astype(str)
        keys = list(zip(records["study"], records["dataset"], records["regime"], strict=True))
        # Without a configuration names are all there is to go by.
        designs = [self._designs.get(key, (key[2], "")) for key in keys]
        return records[[*COMPARISON, "method", "beta", "score", "rate_distance"]].assign(
            draw=draw, regime=[kind for kind, _ in designs], departure=[text for _, text in designs]
        )

    @cached_property
    def _designs(self) -> dict[tuple[str, str, str], tuple[str, str]]:
        """Kind of regime, and where its cells are not the paper's, by study, data set and name of the regime."""
        return {
            (name, dataset, regime.name): (regime.kind, departure(dataset, regime.samplers()[0][1], study.rows))
            for name, study in (self.run.studies if self.run else {}).items()
            for dataset in study.datasets
            for regime in study.regimes
        }

    @cached_property
    def _parts(self) -> dict[frozenset, pd.DataFrame]:
        return {}

    def _matching(self, scope: Scope) -> pd.DataFrame:
        """Return the scores of a scope, of all models and methods."""
        wanted = {key: value for key, value in scope.items() if key in ("dataset", "regime", "epsilon", "labels")}
        found = self._parts.get(key := frozenset(wanted.items()))
        if found is None:
            found = self._scores
            for column, value in wanted.items():
                found = found[found[column] == value]
            self._parts[key] = found
        return found

    def _what_is_missing(self, scope: Scope, predictors: Sequence[str]) -> str:
        """Name the largest thing that is not there."""
        records = self.records
        if records.empty:
            return "the run has no records"
        if scope["dataset"] not in set(records["dataset"]):
            return f"{title_of(scope['dataset'])} is not part of this run"
        part = self._matching(scope)
        if part.empty:
            return f"no records of {describe(scope)}"
        for predictor in predictors:
            model, method = split_predictor(predictor, scope)
            if method not in set(records["method"]):
                return f"the {title_of_method(method)} predictor is not part of this run"
            if model not in set(part["model"]):
                return f"{title_of_model(model)} on {title_of(scope['dataset'])} is not part of this run"
            if not ((part["model"] == model) & (part["method"] == method)).any():
                return f"no {title_of_model(model)} {title_of_method(method)} of {describe(scope, without='model')}"
        return f"no study holds all of {', '.join(predictors)} for {describe(scope)}"


def _no_records() -> pd.DataFrame:
    return pd.DataFrame(columns=COLUMNS)


def _tables_by_study(part: pd.DataFrame, scope: Scope, predictors: Sequence[str]) -> dict[str, list[pd.DataFrame]]:
    """Return the scores of each predictor over the entries that all have, of every study that has such."""
    found = {}
    for study, scores in part.groupby("study"):
        tables = []
        for predictor in predictors:
            model, method = split_predictor(predictor, scope)
            tables.append(score_table(scores[(scores["model"] == model) & (scores["method"] == method)]))
        common = _common_entries(tables)
        if common[0].size:
            found[str(study)] = common
    return found


def _common_entries(tables: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Restrict tables to draws and β that all have, and to entries that none lacks."""
    rows = sorted(set.intersection(*(set(table.index) for table in tables)))
    columns = sorted(set.intersection(*(set(table.columns) for table in tables)))
    tables = [table.loc[rows, columns] for table in tables]
    known = reduce(and_, [table.notna() for table in tables])
    return [table.where(known) for table in tables]
