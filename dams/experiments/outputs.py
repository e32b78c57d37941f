"""Every table and figure that a study may ask for. To add one: a module in dams/report, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dams._registry import load

if TYPE_CHECKING:
    from dams.experiments.config import Config, Study


@dataclass(frozen=True)
class Output:
    """A table or figure made from the records of all studies that ask for it.

    With `each_dataset` there is one for every data set, named <output>_<dataset>, from that data set's records. A study
    that asks for it must have the `regime` (by kind) and the `model` that it shows.
    """

    kind: Literal["table", "figure"]
    path: str
    caption: str
    each_dataset: bool = False
    regime: str | None = None
    model: str | None = None

    @property
    def make(self) -> Callable[..., Any]:
        """The function that turns records into a Table or a Figure."""
        return load(self.path)


OUTPUTS: dict[str, Output] = {
    "table1": Output(
        "table",
        "dams.report.outputs.table1:table1",
        "Target MSE/Var(Y) of every predictor; the best of each block in bold, the oracle in grey.",
    ),
    "intervals": Output(
        "table",
        "dams.report.outputs.intervals:intervals",
        "Target MSE/Var(Y) with intervals over β and rate draws, and, beside them, the pooled ones as published.",
        each_dataset=True,
    ),
    "paired_differences": Output(
        "table",
        "dams.report.outputs.paired_differences:paired",
        "Score of every method minus that of the source predictor and of the oracle, cell by cell.",
    ),
    "error_against_distance": Output(
        "figure",
        "dams.report.outputs.error_against_distance:error_against_distance",
        "Target MSE/Var(Y) of linear predictors against the distance between source and target rates; below, how far "
        "it lies above the oracle's in the same cells.",
        model="linear",
    ),
    "error_against_epsilon": Output(
        "figure",
        "dams.report.outputs.error_against_epsilon:error_against_epsilon",
        "Target MSE/Var(Y) of linear predictors as source and target rates oppose each other.",
        regime="opposing",
        model="linear",
    ),
}


# Figures that need no records.
THEORY_FIGURES: dict[str, Output] = {
    "redundant_risk": Output(
        "figure",
        "dams.report.outputs.theory:redundant_risk",
        "Example 1: as ε → 0 the source predictor is no better on the target than the label mean.",
    ),
    "confounded_risk": Output(
        "figure",
        "dams.report.outputs.theory:confounded_risk",
        "Example 2: without adaptation the risk can exceed that of the label mean by any factor.",
    ),
    "regularisation_paths": Output(
        "figure",
        "dams.report.outputs.theory:regularisation_paths",
        "Losing values completely at random acts on linear regression as a quadratic penalty.",
    ),
    "bound_on_relative_missingness": Output(
        "figure",
        "dams.report.outputs.theory:bound_on_relative_missingness",
        "The finite-sample bound on the relative missingness always covers; the delta interval is narrower.",
    ),
    "improper_filter": Output(
        "figure",
        "dams.report.outputs.theory:improper_filter",
        "A filter that can only delete reproduces the target where it loses more, and nowhere else.",
    ),
}


def names_in_order(studies: Iterable[Study]) -> dict[str, list[str]]:
    """Names of data sets and regimes as a configuration lists them."""
    studies = list(studies)
    return {
        "dataset": list(dict.fromkeys(name for study in studies for name in study.datasets)),
        "regime": list(dict.fromkeys(regime.name for study in studies for regime in study.regimes)),
    }


def wanted_outputs(config: Config) -> dict[str, dict[str, Any]]:
    """Tables and figures of a run by file name: which output, of what kind, from which studies and data set.

    `order` holds the names that these studies have, in their order.
    """
    made: dict[str, dict[str, Any]] = {}
    for study_name, study in config.studies.items():
        for name in study.outputs:
            output = OUTPUTS[name]
            for dataset in study.datasets if output.each_dataset else [None]:
                file = f"{name}_{dataset}" if dataset else name
                entry = made.setdefault(file, {"name": name, "kind": output.kind, "studies": [], "dataset": dataset})
                entry["studies"].append(study_name)
    for entry in made.values():
        entry["order"] = names_in_order(config.studies[name] for name in entry["studies"])
    return made
