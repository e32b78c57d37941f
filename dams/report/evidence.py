"""What a run left behind, whole or in part: the evidence that claims, the comparison and the page rest on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any

import pandas as pd

from dams.datasets.arrays import load_covariates
from dams.datasets.registry import title_of
from dams.experiments import design
from dams.experiments.config import Config, ConfigError, parse
from dams.experiments.gather import gather
from dams.experiments.methods import METHODS
from dams.experiments.records import COLUMNS, KEYS, read_records
from dams.models import MODELS
from dams.report.summary import COMPARISON, Bootstrap, score_table
from dams.report.tables import REGIME_SYMBOLS

Scope = Mapping[str, Any]


class NotTestable(Exception):  # noqa: N818 - not an error: a verdict
    """The run holds nothing that a check could be made on; the text says what is missing."""


@dataclass(frozen=True)
class Evidence:
    """The files of one results folder, read when they are asked for; what does not exist is empty."""

    folder: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration of the run, written when it started."""
        for name in ("config.json", "provenance.json"):
            content = read_json(self.folder / name)
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
    def records(self) -> pd.DataFrame:
        """All records; of an interrupted run, those of the blocks that were finished."""
        if (self.folder / "records.csv").exists():
            return read_records(self.folder / "records.csv")
        # Where blocks were cut anew, files of the earlier cut may hold the same cells: the newest count.
        blocks = sorted(self._blocks(), key=lambda path: (path.stat().st_mtime, path))
        if not blocks:
            return pd.DataFrame(columns=COLUMNS)
        return gather(blocks).drop_duplicates(KEYS, keep="last", ignore_index=True)

    def _blocks(self) -> list[Path]:
        """Files of the blocks that were finished, if the configuration is known of those that belong to it."""
        if self.run is None:
            return [path for path in self.folder.glob("blocks/*/*.csv") if not path.name.endswith(".timings.csv")]
        paths = [self.folder / "blocks" / f"{block.path}.csv" for block in design.blocks(self.run)]
        return [path for path in paths if path.exists()]

    @cached_property
    def theory(self) -> pd.DataFrame:
        """The checked statements of the paper."""
        return read_table(self.folder / "theory" / "theory.csv")

    @cached_property
    def eicu(self) -> pd.DataFrame:
        """Scores of the eICU experiment."""
        return read_table(self.folder / "eicu" / "scores.csv")

    @cached_property
    def eicu_rates(self) -> pd.DataFrame:
        """Summary of the relative missingness between the eICU hospitals."""
        return read_table(self.folder / "eicu" / "relative_missingness_summary.csv")

    @cached_property
    def eicu_is_simulated(self) -> bool:
        """Whether the eICU cohort was made up: taken for granted unless the configuration names real files."""
        return (self.config.get("eicu") or {}).get("source", "simulated") == "simulated"

    def rows_of(self, dataset: str) -> int:
        """Count the rows of a prepared data set."""
        path = self.folder / "data" / f"{dataset}.npz"
        if not path.exists():
            raise NotTestable(f"{title_of(dataset)} is not part of this run")
        return len(load_covariates(path))

    def score_tables(self, scope: Scope, predictors: Sequence[str]) -> list[pd.DataFrame]:
        """Scores of each predictor ("method", or "model method") as tables of draws × β, all over the same entries.

        Where several studies hold them all, the one with the most entries counts.
        """
        found: dict[str, list[pd.DataFrame]] = {}
        for study, part in self._matching(scope).groupby("experiment"):
            tables = []
            for predictor in predictors:
                model, method = split_predictor(predictor, scope)
                chosen = part[(part["model"] == model) & (part["method"] == method)]
                tables.append(score_table(chosen))
            common = _common_entries(tables)
            if common[0].size:
                found[str(study)] = common
        if not found:
            raise NotTestable(self._what_is_missing(scope, predictors))
        return max(found.values(), key=lambda tables: tables[0].size)

    def distances(self, scope: Scope) -> pd.Series:
        """Distance between source and target rates, by the same draws as the rows of `score_tables`."""
        return self._matching(scope).groupby("draw")["rate_distance"].first()

    @cached_property
    def _scores(self) -> pd.DataFrame:
        """What checks need of the records; draws named with their regime and ε, so that a scope may span several."""
        records = self.records
        epsilon = records["epsilon"].map(lambda value: "" if pd.isna(value) else f"{value:g}")
        draw = records["regime"] + "/" + epsilon + "/" + records["draw"].astype(str)
        return records[[*COMPARISON, "method", "beta", "score", "rate_distance"]].assign(draw=draw)

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


def split_predictor(predictor: str, scope: Scope) -> tuple[str, str]:
    """Model and method of "model method"; with the method alone the model is that of the scope, or linear."""
    model, _, method = predictor.rpartition(" ")
    return model or scope.get("model", "linear"), method


def title_of_method(method: str) -> str:
    """Return a method's title in running text; a method that is not in the software yet goes by its name."""
    return (METHODS[method].title if method in METHODS else method.replace("_", " ")).lower()


def title_of_model(model: str) -> str:
    """Return a model family's title in running text."""
    return "linear" if model == "linear" else MODELS[model].title


def describe(scope: Scope, without: str = "") -> str:
    """Say in a few words which part of the records a scope is about."""
    words = []
    if "dataset" in scope:
        words.append(title_of(scope["dataset"]))
    if "regime" in scope and "epsilon" not in scope:
        words.append(str(REGIME_SYMBOLS.get(scope["regime"], scope["regime"])))
    if "epsilon" in scope:
        words.append(f"ε = {scope['epsilon']:g}")
    if scope.get("labels") == "structural":
        words.append("stated labels")
    if "model" in scope and without != "model":
        words.append(title_of_model(scope["model"]))
    words += [str(scope[name]) for name in ("method", "source", "target", "metric") if name in scope]
    return ", ".join(words) or "all records"


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame as dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def read_json(path: Path) -> Any:
    """Read a JSON file; None where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file; empty where there is none."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def _common_entries(tables: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Restrict tables to draws and β that all have, and to entries that none lacks."""
    rows = sorted(set.intersection(*(set(table.index) for table in tables)))
    columns = sorted(set.intersection(*(set(table.columns) for table in tables)))
    tables = [table.loc[rows, columns] for table in tables]
    known = reduce(and_, [table.notna() for table in tables])
    return [table.where(known) for table in tables]
