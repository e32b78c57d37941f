"""Every data set that a configuration may name. To add one: a module with a loader, and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dams.registry import load


@dataclass(frozen=True)
class Dataset:
    """A source of covariates.

    A `table` is real data: its loader returns prepared covariates as a DataFrame, the same at every call. A `scenario`
    is a law: its loader takes (rows, generator) and returns a sample of covariates with the law's own labels.
    """

    title: str
    kind: Literal["table", "scenario"]
    path: str

    def __call__(self, *args: object) -> object:
        """Load or sample."""
        return load(self.path)(*args)


DATASETS: dict[str, Dataset] = {
    "redundant": Dataset("Redundant features", "scenario", "dams.datasets.synthetic:sample_redundant"),
    "confounded": Dataset("Confounded features", "scenario", "dams.datasets.synthetic:sample_confounded"),
    "digits": Dataset("Digits", "table", "dams.datasets.embedded:load_digits"),
    "diabetes": Dataset("Diabetes", "table", "dams.datasets.embedded:load_diabetes"),
}
