"""The configuration of a run: every key a YAML file may hold, checked before anything starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from dams._registry import nearest
from dams.datasets.registry import DATASETS, is_scenario
from dams.experiments.config.fields import (
    MOST_CELLS,
    MOST_REGIMES,
    MOST_ROWS,
    MOST_STUDIES,
    Betas,
    Count,
    Draws,
    FilePath,
    Name,
    OneOrMore,
    RunName,
    Strict,
    Unique,
    known,
    once,
    shortened,
)
from dams.experiments.config.mistakes import explain, several_mistakes
from dams.experiments.config.regimes import Regime
from dams.experiments.config.sections import Beyond, Bootstrap, CsvDataset, Eicu, Sepsis
from dams.experiments.config.yaml_files import load_yaml
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.experiments.products import OUTPUTS

__all__ = ["Config", "Study", "parse", "read", "schema"]


class Repeats(Strict):
    """How often a model is fitted, rate draws times coefficient vectors β, and by which engine if not the default."""

    draws: Draws
    betas: Betas = 1
    engine: str | None = None


class Cap(Strict):
    """At most this many draws and β for one method, for methods that cost more than the rest."""

    draws: Draws | None = None
    betas: Betas | None = None


class Study(Strict):
    """Data sets × regimes × draws × β × models × methods, and the tables and figures made from them."""

    datasets: OneOrMore[str]
    regimes: Annotated[list[Regime], Field(min_length=1, max_length=MOST_REGIMES)]
    models: Annotated[dict[str, Repeats], Field(min_length=1)]
    methods: Annotated[dict[str, Cap], Field(min_length=1)]
    labels: OneOrMore[Literal["random_linear", "structural"]] = ["random_linear"]
    rows: Annotated[int, Field(ge=50, le=MOST_ROWS)] = 10_000
    # As published: one sample of a scenario and one split serve all draws, which lose other values; β does not change
    # with the draw either (erratum E20).
    variant: Literal["corrected", "as_published"] = "corrected"
    outputs: Unique[str] = []

    @field_validator("methods", mode="before")
    @classmethod
    def _list_of_methods(cls, methods: Any) -> Any:
        """Accept a plain list where no method has a cap."""
        if isinstance(methods, list) and all(isinstance(name, str) for name in methods):
            return {name: {} for name in once(methods)}
        if isinstance(methods, dict):
            return {name: {} if cap is None else cap for name, cap in methods.items()}
        raise ValueError(f"expected a list of methods, or methods with their caps, got {shortened(methods)}")

    @field_validator("methods")
    @classmethod
    def _known_methods(cls, methods: dict[str, Cap]) -> dict[str, Cap]:
        return known(methods, METHODS, "method")

    @field_validator("models")
    @classmethod
    def _known_models(cls, models: dict[str, Repeats]) -> dict[str, Repeats]:
        for name, repeats in known(models, MODELS, "model").items():
            if repeats.engine is not None:
                known([repeats.engine], MODELS[name].engines, f"engine of {name}")
        return models

    @field_validator("outputs")
    @classmethod
    def _known_outputs(cls, outputs: list[str]) -> list[str]:
        return known(outputs, OUTPUTS, "output")

    @model_validator(mode="after")
    def _names_are_unique(self) -> Study:
        names = [regime.name for regime in self.regimes]
        if len(set(names)) < len(names):
            raise ValueError(f"regimes must differ in name, got {names}; give each its own `name:`")
        return self

    @model_validator(mode="after")
    def _something_to_fit(self) -> Study:
        if not any(METHODS[method].applies_to(model) for method in self.methods for model in self.models):
            raise ValueError(
                f"none of the methods ({', '.join(self.methods)}) can be used with any of the models "
                f"({', '.join(self.models)}); add one that can"
            )
        return self

    @model_validator(mode="after")
    def _outputs_have_what_they_show(self) -> Study:
        kinds = [regime.kind for regime in self.regimes]
        for name in self.outputs:
            output = OUTPUTS[name]
            if output.regime is not None and output.regime not in kinds:
                raise ValueError(
                    f"outputs: {name} shows a regime of kind {output.regime}, got {', '.join(kinds)}; "
                    f"add one to regimes, or take {name} out"
                )
            if output.labels is not None and output.labels not in self.labels:
                raise ValueError(
                    f"outputs: {name} shows {output.labels} labels, got {', '.join(self.labels)}; "
                    f"add {output.labels} to labels, or take {name} out"
                )
            if output.model is not None and output.model not in self.models:
                raise ValueError(
                    f"outputs: {name} shows {output.model} models, got {', '.join(self.models)}; "
                    f"add {output.model} to models, or take {name} out"
                )
        return self

    def n_cells(self) -> int:
        """Count data sets × regimes × ε × draws, without listing them."""
        draws = max(repeats.draws for repeats in self.models.values())
        return len(self.datasets) * draws * sum(len(regime.samplers()) for regime in self.regimes)

    def entries(self) -> set[tuple[Any, ...]]:
        """Return what its numbers are about: data set, regime, ε, labels, model, method."""
        designs = [(regime.name, epsilon) for regime in self.regimes for epsilon, _ in regime.samplers()]
        return {
            (dataset, *design, labels, model, method)
            for dataset, design, labels, model, method in product(
                self.datasets, designs, self.labels, self.models, self.methods
            )
            if METHODS[method].applies_to(model)
        }

    def settings(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Return what its cells are made of, by data set, regime and labels: rates for each ε, rows of a scenario."""
        designs = [(regime.name, *design) for regime in self.regimes for design in regime.samplers()]
        made: dict[tuple[Any, ...], dict[str, Any]] = {}
        for dataset, (name, epsilon, sampler), labels in product(self.datasets, designs, self.labels):
            made[dataset, name, epsilon, labels] = {"rates": sampler}
            if is_scenario(dataset):
                # A line over ε joins what has the same regime; a table has the rows it has.
                made[dataset, name, labels] = {"rows": self.rows}
        return made


class Config(Strict):
    """One run, written to results/<name>/; made by `read` or `parse`.

    config/README.md explains every key.
    """

    name: RunName
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 2023
    studies: Annotated[dict[Name, Study], Field(max_length=MOST_STUDIES)]
    datasets: dict[Name, CsvDataset] = {}
    data_dir: FilePath | None = None
    theory: bool = False
    eicu: Eicu | None = None
    sepsis: Sepsis | None = None
    beyond: Beyond | None = None
    bootstrap: Bootstrap = Bootstrap()
    # Cells in one job, by what it fits: a model family, or a method with jobs of its own. Results do not depend on it.
    block_size: dict[str, Count] = {}

    @field_validator("block_size")
    @classmethod
    def _known_groups(cls, given: dict[str, int]) -> dict[str, int]:
        return known(given, [*MODELS, *(name for name, method in METHODS.items() if method.shared)], "group of fits")

    @model_validator(mode="after")
    def _something_to_do(self) -> Config:
        if not self.studies and self.sepsis is None and self.beyond is None:
            raise ValueError(
                "studies: expected at least one study, got none; only a run with `sepsis:` or `beyond:` may go without"
            )
        return self

    def _sharing(self) -> Iterator[tuple[str, str, str]]:
        """Names of two studies and of an output that both feed, for every two that have one."""
        for (first, one), (second, other) in combinations(self.studies.items(), 2):
            shared = [name for name in one.outputs if name in other.outputs]
            if shared:
                yield first, second, shared[0]

    @model_validator(mode="after")
    def _can_be_listed(self) -> Config:
        """Count the cells before anything lists them."""
        counts = {name: study.n_cells() for name, study in self.studies.items()}
        if sum(counts.values()) > MOST_CELLS:
            most = max(counts, key=lambda name: counts[name])
            raise ValueError(
                f"studies: expected at most {MOST_CELLS:,} cells in all, got {sum(counts.values()):,}, of which "
                f"{counts[most]:,} are of {most}; take fewer draws or ε, or split the configuration"
            )
        return self

    @model_validator(mode="after")
    def _one_number_an_entry(self) -> Config:
        """An output that several studies share has one place for each number."""
        for first, second, shared in self._sharing():
            both = self.studies[first].entries() & self.studies[second].entries()
            if both:
                raise ValueError(
                    f"studies.{second}.outputs: {shared} has one place for {_in_words(both)}, and {first} fills it "
                    f"too; take {shared} out of one of the two, or give its regime another `name:`"
                )
        return self

    @model_validator(mode="after")
    def _one_experiment_a_column(self) -> Config:
        """An output that several studies share compares what stands under one name, so that must be one experiment."""
        for first, second, shared in self._sharing():
            there, here = self.studies[first].settings(), self.studies[second].settings()
            for what in ("rates", "rows"):
                unlike = {key for key in there.keys() & here.keys() if there[key].get(what) != here[key].get(what)}
                if unlike:
                    key = min(unlike, key=str)
                    raise ValueError(
                        f"studies.{second}.outputs: {shared} compares all methods on {_in_words({key})}, and its "
                        f"{what} differ: {there[key][what]} in {first}, {here[key][what]} in {second}; give the regime "
                        f"of one of the two another `name:`, or take {shared} out of one of them"
                    )
        return self

    @model_validator(mode="after")
    def _known_datasets(self) -> Config:
        for name in self.datasets:
            if name in DATASETS:
                raise ValueError(
                    f"datasets.{name}: the name is taken by a data set that comes with dams; choose another"
                )
        for name, study in self.studies.items():
            for dataset in study.datasets:
                known = [*DATASETS, *self.datasets]
                if dataset not in known:
                    raise ValueError(
                        f"studies.{name}.datasets: unknown data set '{dataset}'; {nearest(dataset, known)}"
                    )
                if study.variant == "as_published" and not is_scenario(dataset):
                    raise ValueError(
                        f"studies.{name}.variant: 'as_published' draws one sample of a scenario for all runs; "
                        f"data set '{dataset}' is a table, of which there is one in any case. Leave `variant` out."
                    )
                if "structural" in study.labels and not is_scenario(dataset):
                    raise ValueError(
                        f"studies.{name}.labels: 'structural' labels belong to the synthetic scenarios; "
                        f"data set '{dataset}' has none. Use random_linear."
                    )
        return self

    def behind_verdicts(self) -> dict[str, Any]:
        """Return what claims and comparison rest on, as JSON has it: neither outputs nor other parts of the run."""
        others = {"data_dir", "sepsis", "beyond", "block_size"}
        return self.model_dump(mode="json", exclude={"studies": {"__all__": {"outputs"}}} | dict.fromkeys(others, True))


def _in_words(keys: set[tuple[Any, ...]]) -> str:
    """Write the first of what two studies share."""
    return ", ".join(str(part) for part in min(keys, key=str) if part is not None)


def parse(raw: Any, *, source: str = "the configuration") -> Config:
    """Check a configuration that was read from a file or written in Python.

    Parameters
    ----------
    raw : dict
        Keys and values as in a YAML file; config/README.md explains every key.
    source : str
        What messages call it.

    Returns
    -------
    Config
        The configuration, with all defaults.

    Raises
    ------
    ConfigError
        Names every mistake with its key, and the nearest valid key.

    See Also
    --------
    read : The same for a file.
    """
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise several_mistakes(source, explain(error, Config)) from None


def read(path: str | Path) -> Config:
    """Read and check a YAML file.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Config
        The configuration, with all defaults.

    Raises
    ------
    ConfigError
        Names every mistake with its key, and the nearest valid key.

    See Also
    --------
    parse : The same for a dict.
    """
    return parse(load_yaml(path), source=str(path))


def schema() -> str:
    """Return the JSON schema of a configuration, as kept in config/schema.json for editors."""
    return json.dumps(Config.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
