"""Sections of a configuration beside its studies: own tables, hospitals, mechanisms, intervals."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from dams.datasets.eicu.names import HOSPITALS, Scenario, Size, choose_mechanism
from dams.experiments.beyond.names import DATASETS as BEYOND_DATASETS
from dams.experiments.beyond.names import MECHANISMS
from dams.experiments.config.fields import (
    MOST_REPLICATES,
    MOST_ROWS,
    Count,
    Draws,
    FilePath,
    OneOrMore,
    Strict,
    Unique,
    known,
    shortened,
)


def _check_separator(separator: str) -> str:
    # Late, as pandas comes with it, which a configuration is read without.
    from dams.datasets.csv_files import check_separator

    return check_separator(separator)


class CsvDataset(Strict):
    """A user's own table: a CSV file with one header line, and the types of the columns to use."""

    path: FilePath
    numeric: list[str] = []
    binary: list[str] = []
    categorical: list[str] = []
    separator: Annotated[str, AfterValidator(_check_separator)] = ","

    @model_validator(mode="after")
    def _columns_are_typed_once(self) -> CsvDataset:
        columns = [*self.numeric, *self.binary, *self.categorical]
        twice = sorted(name for name, count in Counter(columns).items() if count > 1)
        if twice:
            raise ValueError(f"columns must be listed once, got {shortened(twice)} twice")
        if not columns:
            raise ValueError("no columns; list them under numeric, binary or categorical")
        return self


class Eicu(Strict):
    """The eICU study. Without credentialed data it runs on a simulated cohort, and says so."""

    source: Literal["simulated", "physionet", "folder"] = "simulated"
    folder: FilePath = "data/eicu"
    hospitals: Annotated[Unique[int], Field(min_length=2, max_length=2)] = list(HOSPITALS)
    size: Size = "default"
    scenario: Scenario = "ucar"
    strength: Annotated[float, Field(ge=0)] = 1.0
    two_way: bool = True

    @model_validator(mode="after")
    def _can_be_simulated(self) -> Eicu:
        if self.source == "simulated":
            choose_mechanism(self.scenario, None, self.strength)
        return self


class Sepsis(Strict):
    """The study of two hospital systems with known losses, whose data everybody may download."""

    source: Literal["physionet", "folder", "if_there"] = "physionet"
    folder: FilePath = "data/sepsis"
    splits: Count = 10


class Beyond(Strict):
    """The study of what to do when: mechanisms of loss and shift × methods, on covariates that come with dams."""

    datasets: OneOrMore[str] = ["adult", "bank", "thyroid", "eicu"]
    mechanisms: OneOrMore[str] = list(MECHANISMS)
    strengths: OneOrMore[Annotated[float, Field(gt=0, le=1)]] = [0.5, 1.0]
    draws: Draws = 5
    rows: Annotated[int, Field(ge=200, le=MOST_ROWS)] = 5_000
    # CORAL, optimal transport and reweighting, for which skada is needed.
    others: bool = True

    @field_validator("datasets")
    @classmethod
    def _known_tables(cls, datasets: list[str]) -> list[str]:
        return known(datasets, BEYOND_DATASETS, "data set")

    @field_validator("mechanisms")
    @classmethod
    def _known_mechanisms(cls, mechanisms: list[str]) -> list[str]:
        return known(mechanisms, MECHANISMS, "mechanism")


class Bootstrap(Strict):
    """Intervals: crossed bootstrap over β and rate draws."""

    replicates: Annotated[int, Field(ge=1, le=MOST_REPLICATES)] = 2000
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
