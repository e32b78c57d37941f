"""Measured costs of cells, so that jobs are of one length and the longest start first.

Only the cutting of work into jobs depends on it, never a result. `benchmarks/README.md` has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dams.datasets.registry import DATASETS, is_scenario
from dams.experiments.methods import METHODS

if TYPE_CHECKING:
    from dams.experiments.design import Fit

# Seconds on one core, all for 10,000 rows: a cell; a fit of one label; what a method prepares, for one label if it
# looks at labels. What is not listed is taken for free.
CELL = 0.015
FIT = {"xgboost": 0.06, "mlp": 0.3}
PREPARATION = {"imputed": 0.4, "two_way": 0.9}
# Draws of the training rows, on each of which a model is fitted.
DRAWS = {"two_way": 3}
# Scenarios have few columns, and cost so much of what tables cost.
SCENARIO = 0.2
# A job should last about so long: many times the seconds it takes to start, and short beside a whole run.
JOB = 40.0
# Rows of a table that nothing is known of.
ROWS = 10_000


def cell_seconds(dataset: str, rows: int, fits: tuple[Fit, ...], n_kinds: int) -> float:
    """Expected seconds of a cell with these fits, each for its β of every kind of label.

    `rows` are those sampled from a scenario; a table has its own.
    """
    if not is_scenario(dataset):
        rows = (DATASETS[dataset].rows if dataset in DATASETS else None) or ROWS
    seconds = CELL
    for method in {fit.method for fit in fits}:
        labels = max(fit.betas for fit in fits if fit.method == method) * n_kinds
        seconds += PREPARATION.get(method, 0.0) * (labels if METHODS[method].per_label else 1)
    for fit in fits:
        seconds += FIT.get(fit.model, 0.0) * DRAWS.get(fit.method, 1) * fit.betas * n_kinds
    return seconds * rows / 10_000 * (SCENARIO if is_scenario(dataset) else 1)


def ends_of_jobs(seconds: Sequence[float]) -> list[int]:
    """Where to cut a row of cells of these costs into jobs: behind the cell with which a job takes `JOB` seconds.

    A cut follows from the cells before it, so that more cells at the end leave all jobs but the last as they are.
    """
    ends, total = [], 0.0
    for end, cost in enumerate(seconds, start=1):
        total += cost
        if total >= JOB:
            ends.append(end)
            total = 0.0
    return ends if ends and ends[-1] == len(seconds) else [*ends, len(seconds)]
