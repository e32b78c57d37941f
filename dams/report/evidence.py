"""The evidence that claims and the comparison rest on, and how scores are looked up in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any

import pandas as pd

from dams.datasets.arrays import load_covariates
from dams.datasets.eicu.names import HOSPITALS
from dams.datasets.registry import title_of
from dams.experiments.config import Config, ConfigError, parse
from dams.experiments.records import read_records
from dams.report.paper import departure
from dams.report.run_files import read_json, read_table
from dams.report.scope import Scope, describe, split_predictor, title_of_method, title_of_model
from dams.report.summary import COMPARISON, Bootstrap, score_table

# Products that evidence rests on, beside the records and the prepared data.
EVIDENCE = ("theory", "eicu_scores", "eicu_rates", "eicu_differences", "eicu_cohort")
PREDICTOR = ["study", "model", "method"]
# Scores of draws × β, by study, then by model and method.
Tables = dict[str, dict[tuple[str, ...], pd.DataFrame]]


def parse_known(config: Mapping[str, Any]) -> Config | None:
    """Check the configuration that a run left; None where there is none, or one of another version."""
    try:
        return parse(config) if config else None
    except ConfigError:
        return None


class NotTestable(Exception):  # noqa: N818 - not an error: a verdict
    """The run holds nothing that a check could be made on; the text says what is missing."""


@dataclass(frozen=True)
class Evidence:
    """Records and results of one run; what the run does not have is empty.

    Attributes
    ----------
    records : DataFrame
    config : dict
        The configuration, as it is written; empty where it is not known.
    theory : DataFrame
        The checked statements of the paper.
    eicu, eicu_rates : DataFrame
        Scores of the eICU experiment, and the summary of the relative missingness between its hospitals.
    eicu_differences : DataFrame
        Paired differences of its methods.
    eicu_hospitals : dict
        Stays and mortality of its hospitals, by their labels.
    eicu_is_simulated : bool
        Whether the cohort was made up, as its files told the run: taken for granted where nothing is known. The
        configuration can't tell: a folder of the user's may hold a simulated cohort.
    covariates : mapping of str to path
        Prepared data sets.
    """

    records: pd.DataFrame
    config: Mapping[str, Any] = field(default_factory=dict)
    theory: pd.DataFrame = field(default_factory=pd.DataFrame)
    eicu: pd.DataFrame = field(default_factory=pd.DataFrame)
    eicu_rates: pd.DataFrame = field(default_factory=pd.DataFrame)
    eicu_differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    eicu_hospitals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    eicu_is_simulated: bool = True
    covariates: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def of_files(
        cls,
        records: pd.DataFrame,
        config: Mapping[str, Any],
        *,
        theory: str | Path | None = None,
        eicu_scores: str | Path | None = None,
        eicu_rates: str | Path | None = None,
        eicu_differences: str | Path | None = None,
        eicu_cohort: str | Path | None = None,
        covariates: Mapping[str, Path] | None = None,
    ) -> Evidence:
        """Read what is there of a run, by the names of its products."""
        given = {"theory": theory, "eicu": eicu_scores, "eicu_rates": eicu_rates, "eicu_differences": eicu_differences}
        tables = {name: read_table(Path(path)) for name, path in given.items() if path}
        cohort = (read_json(Path(eicu_cohort)) if eicu_cohort else None) or {}
        return cls(
            records,
            config,
            **tables,
            eicu_hospitals=cohort.get("hospitals", {}),
            eicu_is_simulated=cohort.get("simulated", True),
            covariates=covariates or {},
        )

    @cached_property
    def run(self) -> Config | None:
        """The configuration, checked; None where it is not known or of another version."""
        return parse_known(self.config)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """How this run makes its intervals."""
        return Bootstrap(**self.config.get("bootstrap", {}), seed=self.config.get("seed", 0))

    @cached_property
    def eicu_departure(self) -> str:
        """Why the eICU cohort is not the paper's; empty where it is."""
        if self.eicu_is_simulated:
            return "the eICU cohort is simulated"
        ours = (self.config.get("eicu") or {}).get("hospitals", HOSPITALS)
        if tuple(ours) == HOSPITALS:
            return ""
        first, second = (" and ".join(map(str, hospitals)) for hospitals in (ours, HOSPITALS))
        return f"H1 and H2 are hospitals {first}, the paper's {second}"

    def rows_of(self, dataset: str) -> int:
        """Count the rows of a prepared data set."""
        if dataset not in self.covariates:
            raise NotTestable(f"{title_of(dataset)} is not part of this run")
        return len(load_covariates(self.covariates[dataset]))

    def score_tables(
        self, scope: Scope, predictors: Sequence[str], *, variant: str = "corrected"
    ) -> list[pd.DataFrame]:
        """Scores of each predictor ("method", or "model method") as tables of draws × β, all over the same entries.

        Where several studies hold them all, the one with the most entries counts; studies with other settings than the
        paper's do not count, nor, but where `variant` asks for them, those that follow the published protocol.
        """
        found = _common(self._tables(scope, variant, usual=True), scope, predictors)
        if not found:
            others = _common(self._tables(scope, variant, usual=False), scope, predictors)
            if others:
                largest = max(others, key=lambda study: others[study][0].size)
                unlike = self._part(scope, variant, usual=False)
                reason = unlike.loc[unlike["study"] == largest, "departure"].iloc[0]
                raise NotTestable(f"{title_of(scope['dataset'])}: {reason}")
            raise NotTestable(self._what_is_missing(scope, predictors))
        return max(found.values(), key=lambda tables: tables[0].size)

    def distances(self, scope: Scope) -> pd.Series:
        """Distance between source and target rates, by the same draws as the rows of `score_tables`."""
        part = self._matching(scope)
        usual = (part["departure"] == "") & (part["design"] == "corrected")
        return part[usual].groupby("draw")["rate_distance"].first()

    @cached_property
    def _scores(self) -> pd.DataFrame:
        """Columns of the records that checks need; draws carry regime and ε, so that a scope may span several.

        `regime` is the kind, as the paper's settings are known by what they are and not by what a run calls them.
        """
        records = self.records
        # Of a million records hundreds differ in what texts are made of.
        of_draw = ["study", "dataset", "regime", "epsilon", "draw"]
        number = records.groupby(of_draw, sort=False, dropna=False).ngroup()
        rows = []
        for study, dataset, regime, epsilon, draw in records.loc[~number.duplicated(), of_draw].itertuples(index=False):
            # Without a configuration names are all there is to go by.
            kind, departs, variant = self._designs.get((study, dataset, regime), (regime, "", "corrected"))
            name = f"{regime}/{'' if pd.isna(epsilon) else f'{epsilon:g}'}/{draw}"
            rows.append({"draw": name, "regime": kind, "departure": departs, "design": variant})
        texts = pd.DataFrame(rows, columns=["draw", "regime", "departure", "design"], dtype=str)
        return records[[*COMPARISON, "method", "beta", "score", "rate_distance"]].assign(
            **{str(name): column.to_numpy()[number] for name, column in texts.items()}
        )

    @cached_property
    def _designs(self) -> dict[tuple[str, str, str], tuple[str, str, str]]:
        """Kind of regime, where its cells are not the paper's, and variant; by study, data set and name of regime."""
        return {
            (name, dataset, regime.name): (
                regime.kind,
                departure(dataset, regime.samplers()[0][1], study.rows),
                study.variant,
            )
            for name, study in (self.run.studies if self.run else {}).items()
            for dataset in study.datasets
            for regime in study.regimes
        }

    @cached_property
    def _found(self) -> dict[tuple, Any]:
        """What was looked up before: hundreds of checks ask for the same few scopes."""
        return {}

    def _matching(self, scope: Scope) -> pd.DataFrame:
        """Return the scores of a scope, of all models and methods."""
        wanted = _place(scope)
        if wanted not in self._found:
            part = self._scores
            for column, value in wanted:
                # Most claims are of data sets that a small run does not have.
                part = part[part[column] == value] if len(part) else part
            self._found[wanted] = part
        return self._found[wanted]

    def _part(self, scope: Scope, variant: str, *, usual: bool) -> pd.DataFrame:
        """Return those scores of a scope that follow a variant, with the paper's settings or with others."""
        part = self._matching(scope)
        return part[(part["design"] == variant) & ((part["departure"] == "") == usual)] if len(part) else part

    def _tables(self, scope: Scope, variant: str, *, usual: bool) -> Tables:
        """Return these scores as tables, by study, model and method."""
        wanted = (_place(scope), variant, usual)
        if wanted not in self._found:
            tables: Tables = defaultdict(dict)
            part = self._part(scope, variant, usual=usual)
            for (study, *predictor), scores in part.groupby(PREDICTOR) if len(part) else ():
                tables[str(study)][tuple(map(str, predictor))] = score_table(scores)
            self._found[wanted] = tables
        return self._found[wanted]

    @cached_property
    def _held(self) -> dict[str, set[str]]:
        """Data sets and methods of the records, of which there may be a million."""
        return {column: set(self.records[column].unique()) for column in ("dataset", "method")}

    def _what_is_missing(self, scope: Scope, predictors: Sequence[str]) -> str:
        """Name the largest thing that is not there."""
        records = self.records
        if records.empty:
            return "the run has no records"
        if scope["dataset"] not in self._held["dataset"]:
            return f"{title_of(scope['dataset'])} is not part of this run"
        part = self._matching(scope)
        if part.empty:
            return f"no records of {describe(scope)}"
        for predictor in predictors:
            model, method = split_predictor(predictor, scope)
            if method not in self._held["method"]:
                return f"the {title_of_method(method)} predictor is not part of this run"
            if not (part["model"] == model).any():
                return f"{title_of_model(model)} on {title_of(scope['dataset'])} is not part of this run"
            if not ((part["model"] == model) & (part["method"] == method)).any():
                return f"no {title_of_model(model)} {title_of_method(method)} of {describe(scope, without='model')}"
        return f"no study holds all of {', '.join(predictors)} for {describe(scope)}"


def evidence_of_job(files: Any, config: Mapping[str, Any]) -> Evidence:
    """Read what a rule declares as input, by the names of products; of covariates there may be several."""
    given = {name: files.get(name) for name in EVIDENCE}
    covariates = {Path(path).stem: Path(path) for path in files.get("covariates", [])}
    return Evidence.of_files(read_records(files.records), config, covariates=covariates, **given)


def _place(scope: Scope) -> tuple[tuple[str, Any], ...]:
    return tuple((key, scope[key]) for key in ("dataset", "regime", "epsilon", "labels") if key in scope)


def _common(tables: Tables, scope: Scope, predictors: Sequence[str]) -> dict[str, list[pd.DataFrame]]:
    """Return the scores of each predictor over the entries that all have, of every study that has such."""
    wanted = [split_predictor(predictor, scope) for predictor in predictors]
    found = {}
    for study, made in tables.items():
        if all(predictor in made for predictor in wanted):
            common = _common_entries([made[predictor] for predictor in wanted])
            if common[0].size:
                found[study] = common
    return found


def _common_entries(tables: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Restrict tables to draws and β that all have, and to entries that no table misses."""
    first, *others = tables
    # Tables are sorted, and those of one study mostly have the same entries.
    if not all(first.index.equals(table.index) and first.columns.equals(table.columns) for table in others):
        rows = sorted(set.intersection(*(set(table.index) for table in tables)))
        columns = sorted(set.intersection(*(set(table.columns) for table in tables)))
        tables = [table.loc[rows, columns] for table in tables]
    known = reduce(and_, [table.notna() for table in tables])
    return [table.where(known) for table in tables]
