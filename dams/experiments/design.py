"""From a configuration to the list of jobs: studies → cells → blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dams.datasets.registry import is_scenario
from dams.experiments.costs import cell_seconds, ends_of_jobs
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.rates import FreeRates, NestedRates, OpposingRates

# A job gets its block and needs neither the configuration nor the report: an edit there leaves records as they are.
if TYPE_CHECKING:
    from dams.experiments.config import Config, Study

Sampler = NestedRates | FreeRates | OpposingRates
# What a block is called, in names of files too.
BLOCK = "{study}/{dataset}-{group}-{number}"


@dataclass(frozen=True)
class CellKey:
    """Names that identify a cell. All its random numbers follow from these names and the seed."""

    dataset: str
    regime: str
    epsilon: float | None
    sampler: Sampler
    draw: int
    # As published: sample, split and β of a scenario do not change with the draw.
    variant: str = "corrected"

    @property
    def parts(self) -> tuple[str | int, ...]:
        """The key of its random streams."""
        return *self._place, self.draw

    @property
    def sample_parts(self) -> tuple[str | int, ...]:
        """The key of what the rows are and mean: sample, split and β."""
        return (*self._place, self.variant) if self.variant == "as_published" else self.parts

    @property
    def _place(self) -> tuple[str, ...]:
        return self.dataset, self.regime, "" if self.epsilon is None else f"{self.epsilon:g}"


@dataclass(frozen=True)
class Label:
    """A label vector: the scenario's own (`structural`), or Xβ for the β of that number (`random_linear`)."""

    kind: str
    beta: int = 0


@dataclass(frozen=True)
class Fit:
    """A method with a model family, for the first `draws` draws of every regime and the first `betas` β.

    In a block `draws` does not look beyond its cells: that there are more draws elsewhere is nothing to it.
    """

    method: str
    model: str
    draws: int
    betas: int
    engine: str | None = None


@dataclass(frozen=True)
class Block:
    """Cells of one study and data set with the fits made on them: what one job does.

    The fits of a model family go together. A method whose preparation costs much and serves every family is a group of
    its own, so that it is prepared once. `betas` is of the whole group: a method's random numbers and the digits of Xβ
    depend on how many labels there are, and those must not depend on which fits share a job.
    """

    study: str
    dataset: str
    group: str
    number: int
    cells: tuple[CellKey, ...]
    fits: tuple[Fit, ...]
    betas: int
    label_kinds: tuple[str, ...]
    rows: int
    seed: int

    @property
    def wildcards(self) -> dict[str, str]:
        """Names that distinguish it from the other blocks of a run."""
        return {"study": self.study, "dataset": self.dataset, "group": self.group, "number": f"{self.number:04d}"}

    @property
    def path(self) -> str:
        """Where its records go, without folder and suffix."""
        return BLOCK.format(**self.wildcards)

    @property
    def digest(self) -> str:
        """Another text for whatever changes what the job does, and the same in every process."""
        return hashlib.blake2b(repr(self).encode(), digest_size=16).hexdigest()

    @property
    def seconds(self) -> float:
        """Expected seconds of the job."""
        return sum(cost_of_cells(self))

    @property
    def labels(self) -> tuple[Label, ...]:
        """Label vectors that any fit of its group needs."""
        random_linear = [Label("random_linear", beta) for beta in range(self.betas)]
        kinds = {"structural": [Label("structural")], "random_linear": random_linear}
        return tuple(label for kind in self.label_kinds for label in kinds[kind])


def variant_of(cell: CellKey, method: str) -> str:
    """Whether a score is of the published protocol, by the design of its study or by its method."""
    return "as_published" if "as_published" in (cell.variant, METHODS[method].variant) else "corrected"


def cell_keys(study: Study, dataset: str, draws: int) -> list[CellKey]:
    """Cells of a study for one data set, draw by draw: further draws come behind the others."""
    places = [(regime.name, *place) for regime in study.regimes for place in regime.samplers()]
    return [
        CellKey(dataset, regime, epsilon, sampler, draw, study.variant)
        for draw in range(draws)
        for regime, epsilon, sampler in places
    ]


def fit_groups(study: Study) -> dict[str, list[Fit]]:
    """Fits of a study by what is worth doing together in one job.

    In the order of the registries: a configuration that lists the same in another order runs nothing again.
    """
    groups: dict[str, list[Fit]] = {}
    for model, repeats in sorted(study.models.items(), key=lambda item: list(MODELS).index(item[0])):
        for name, cap in sorted(study.methods.items(), key=lambda item: list(METHODS).index(item[0])):
            method = METHODS[name]
            if method.applies_to(model):
                draws, betas = (
                    min(repeats.draws, cap.draws or repeats.draws),
                    min(repeats.betas, cap.betas or repeats.betas),
                )
                groups.setdefault(name if method.shared else model, []).append(
                    Fit(name, model, draws, betas, repeats.engine)
                )
    return groups


def blocks(config: Config) -> Iterator[Block]:
    """Yield every job of the experiments."""
    for name, study in config.studies.items():
        for dataset in study.datasets:
            for group, fits in fit_groups(study).items():
                cells = cell_keys(study, dataset, max(fit.draws for fit in fits))
                whole = Block(
                    study=name,
                    dataset=dataset,
                    group=group,
                    number=0,
                    cells=tuple(cells),
                    fits=tuple(fits),
                    betas=max(fit.betas for fit in fits),
                    label_kinds=tuple(study.labels),
                    rows=study.rows,
                    seed=config.seed,
                )
                yield from _cut(whole, config.block_size.get(group))


def _cut(whole: Block, size: int | None) -> Iterator[Block]:
    """Cut a block into those of so many cells, or of so many seconds."""
    n = len(whole.cells)
    ends = [*range(size, n, size), n] if size else ends_of_jobs(cost_of_cells(whole))
    for number, (start, end) in enumerate(pairwise([0, *ends])):
        cells = whole.cells[start:end]
        first, last = cells[0].draw, cells[-1].draw
        fits = tuple(replace(fit, draws=min(fit.draws, last + 1)) for fit in whole.fits if fit.draws > first)
        yield replace(whole, number=number, cells=cells, fits=fits)


def cost_of_cells(block: Block) -> list[float]:
    """Return the expected seconds of every cell of a block."""
    by_draw = {
        draw: cell_seconds(
            block.dataset, block.rows, tuple(fit for fit in block.fits if draw < fit.draws), len(block.label_kinds)
        )
        for draw in {cell.draw for cell in block.cells}
    }
    return [by_draw[cell.draw] for cell in block.cells]


@dataclass(frozen=True)
class Diagnosed:
    """A cell to look at, as the study of that name builds it; `rows` is the sample size of a scenario, else 0."""

    study: str
    key: CellKey
    rows: int

    @property
    def about(self) -> dict[str, Any]:
        """The first columns of every row."""
        key = self.key
        return {"study": self.study, "dataset": key.dataset, "regime": key.regime, "epsilon": key.epsilon}


def cells_to_diagnose(config: Config) -> list[Diagnosed]:
    """Draw 0 of every data set and regime, of several ε the first; a cell that studies share is there once."""
    found: dict[tuple[CellKey, int], Diagnosed] = {}
    for name, study in config.studies.items():
        for dataset in study.datasets:
            rows = study.rows if is_scenario(dataset) else 0
            keys: dict[str, CellKey] = {}
            for key in cell_keys(study, dataset, 1):
                keys.setdefault(key.regime, key)
            for key in keys.values():
                found.setdefault((key, rows), Diagnosed(name, key, rows))
    return list(found.values())


def names_in_order(studies: Iterable[Study]) -> dict[str, list[str]]:
    """Names of data sets and regimes as a configuration lists them."""
    studies = list(studies)
    return {
        "dataset": list(dict.fromkeys(name for study in studies for name in study.datasets)),
        "regime": list(dict.fromkeys(regime.name for study in studies for regime in study.regimes)),
    }
