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
    `uci` data are tables whose raw files are fetched first: the loader takes (raw, paths, recipe), where `raw` is the
    name of the files. The same files make two data sets: by the recipe of the paper's text and by that of the notebook
    released with it.
    """

    title: str
    kind: Literal["scenario", "table", "uci"]
    path: str
    rows: int | None = None  # of a table, where known: longer ones are cut into shorter jobs
    raw: str | None = None
    recipe: str | None = None

    @property
    def load(self) -> Callable[..., Any]:
        """The loader or sampler."""
        return load(self.path)


def _uci(title: str, raw: str, rows: int, recipe: str = "paper_text") -> Dataset:
    return Dataset(title, "uci", "dams.datasets.uci.recipes:prepare_uci", rows, raw, recipe)


DATASETS: dict[str, Dataset] = {
    "redundant": Dataset("Redundant features", "scenario", "dams.datasets.synthetic:sample_redundant"),
    "confounded": Dataset("Confounded features", "scenario", "dams.datasets.synthetic:sample_confounded"),
    "adult": _uci("Adult", "adult", 48842),
    "bank": _uci("Bank", "bank", 41188),
    "thyroid": _uci("Thyroid", "thyroid", 2800),
    "adult_notebook": _uci("Adult (notebook)", "adult", 48842, "released_notebook"),
    "bank_notebook": _uci("Bank (notebook)", "bank", 41188, "released_notebook"),
    "thyroid_notebook": _uci("Thyroid (notebook)", "thyroid", 2800, "released_notebook"),
    "digits": Dataset("Digits", "table", "dams.datasets.embedded:load_digits", 1797),
    "diabetes": Dataset("Diabetes", "table", "dams.datasets.embedded:load_diabetes", 442),
}


def title_of(name: str) -> str:
    """Return the title of a data set; a user's own goes by its name."""
    return DATASETS[name].title if name in DATASETS else name.replace("_", " ").capitalize()


def raw_name(name: str) -> str | None:
    """Return the name of the raw files that a data set is prepared from; None where nothing is downloaded for it."""
    return DATASETS[name].raw if name in DATASETS else None


def is_scenario(name: str) -> bool:
    """Whether the data set is a law to sample from; a user's own is a table."""
    return name in DATASETS and DATASETS[name].kind == "scenario"
