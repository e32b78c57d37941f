"""Every data set that a configuration may name. To add one: a module with a loader, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dams._registry import load


@dataclass(frozen=True)
class Dataset:
    """A source of covariates.

    A `scenario` is a law: its loader takes (rows, generator) and returns a sample of covariates with the law's own
    labels. A `table` is real data: its loader takes nothing and returns prepared covariates, the same at every call.
    `uci` data are tables whose raw files are fetched first: the loader takes (name, paths, recipe).
    """

    title: str
    kind: Literal["scenario", "table", "uci"]
    path: str
    rows: int | None = None  # of a table, where known: longer ones are cut into shorter jobs

    @property
    def load(self) -> Callable[..., Any]:
        """The loader or sampler."""
        return load(self.path)


DATASETS: dict[str, Dataset] = {
    "redundant": Dataset("Redundant features", "scenario", "dams.datasets.synthetic:sample_redundant"),
    "confounded": Dataset("Confounded features", "scenario", "dams.datasets.synthetic:sample_confounded"),
    "adult": Dataset("Adult", "uci", "dams.datasets.uci.recipes:prepare_uci", 48842),
    "bank": Dataset("Bank", "uci", "dams.datasets.uci.recipes:prepare_uci", 41188),
    "thyroid": Dataset("Thyroid", "uci", "dams.datasets.uci.recipes:prepare_uci", 2800),
    "digits": Dataset("Digits", "table", "dams.datasets.embedded:load_digits", 1797),
    "diabetes": Dataset("Diabetes", "table", "dams.datasets.embedded:load_diabetes", 442),
}


def title_of(name: str) -> str:
    """Return the title of a data set; a user's own goes by its name."""
    return DATASETS[name].title if name in DATASETS else name.replace("_", " ").capitalize()


def is_scenario(name: str) -> bool:
    """Whether the data set is a law to sample from; a user's own is a table."""
    return name in DATASETS and DATASETS[name].kind == "scenario"
