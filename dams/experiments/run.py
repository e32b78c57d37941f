"""Run a block: every cell is built once, every method prepared once, and all label vectors are fitted together."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from dams.experiments.cells import Cell, build_cell, clean_table, sample_scenario
from dams.experiments.design import Block, Fit, variant_of
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS, Sample, Training
from dams.experiments.progress import Progress
from dams.experiments.records import TIMINGS, as_records, as_text
from dams.experiments.scores import score
from dams.experiments.seeding import generator

log = logging.getLogger(__name__)


def run_block(block: Block, table: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit everything in a block.

    Parameters
    ----------
    block : Block
    table : DataFrame or None
        Prepared covariates; None for a scenario, which is sampled.

    Returns
    -------
    records, timings : DataFrame
        A fit that fails for its numbers or data leaves a record with the reason in place of a score, and the rest
        goes on.
    """
    records: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    progress = Progress(block.path, len(block.cells))
    # Threads belong to the scheduler, and sums in another order would be other digits.
    with threadpool_limits(1):
        labels, seed, design = block.labels, block.seed, block.digest
        real = None if table is None else clean_table(table, block.dataset, labels, seed=seed)
        for key in block.cells:
            clean = real or sample_scenario(key, labels, seed=seed, rows=block.rows)
            cell = build_cell(key, labels, clean, seed=seed)
            for rows, seconds in _run_cell(block, cell):
                records += rows
                timings.append({**rows[0], "design": design, "fit_seconds": round(seconds, 4)})
            progress.step()
    return as_records(records), pd.DataFrame(timings, columns=TIMINGS)


def _run_cell(block: Block, cell: Cell) -> Iterator[tuple[list[dict[str, Any]], float]]:
    """Yield the records and seconds of every fit; the first fit of a method also bears its preparation."""
    for name in dict.fromkeys(fit.method for fit in block.fits):
        prepared: list[Prepared] | Exception | None = None
        for fit in block.fits:
            if fit.method != name or cell.key.draw >= fit.draws:
                continue
            start = time.perf_counter()
            failure, mse = "", np.full(len(cell.labels), np.nan)
            wanted = np.array([label.beta < fit.betas for label in cell.labels])
            try:
                if prepared is None:
                    prepared = _prepare(block, cell, name)
                if isinstance(prepared, Exception):
                    raise prepared
                rng = generator(block.seed, "model", *cell.key.parts, fit.model, name)
                for part in prepared:
                    chosen = wanted[part.labels]
                    if chosen.any():
                        train, test = part.train.select(chosen), part.test.select(chosen)
                        mse[part.labels[chosen]] = MODELS[fit.model].engine(fit.engine)(train, test, rng)
            except Exception as error:
                if _is_of_the_machine(error):
                    raise
                failure = f"{type(error).__name__}: {error}"
                log.warning("%s %s with %s failed: %s", cell.key.parts, name, fit.model, failure)
            rows = [_record(block, cell, fit, k, mse[k], failure) for k in np.flatnonzero(wanted).tolist()]
            yield rows, time.perf_counter() - start


@dataclass(frozen=True)
class Prepared:
    """Samples that a method made of a cell, for the labels of these numbers."""

    labels: np.ndarray
    train: Training
    test: Sample


def _prepare(block: Block, cell: Cell, name: str) -> list[Prepared] | Exception:
    """Prepare all labels at once or, where the method looks at the labels, one after the other."""
    method, rng = METHODS[name], generator(block.seed, "method", *cell.key.parts, name)
    numbers = np.arange(len(cell.labels))
    try:
        if method.per_label:
            return [Prepared(numbers[k : k + 1], *method.prepare(cell.for_label(k), rng)) for k in numbers.tolist()]
        return [Prepared(numbers, *method.prepare(cell, rng))]
    except Exception as error:
        if _is_of_the_machine(error):
            raise
        return error


def _is_of_the_machine(error: Exception) -> bool:
    """Whether a fault is none of the fit's own: a missing package, or too little memory or disk.

    It may be gone the next time, so it stops the job, which is then run again; a record would stand for ever.
    """
    # The last is how XGBoost says that there is no memory.
    return isinstance(error, ImportError | MemoryError | OSError) or "bad_alloc" in str(error)


def _record(block: Block, cell: Cell, fit: Fit, k: int, mse: float, failure: str) -> dict[str, Any]:
    var_y = float(cell.var_y[k])
    if not failure:
        value, failure = score(mse, var_y)
    return {
        "study": block.study,
        "dataset": cell.key.dataset,
        "regime": cell.key.regime,
        "epsilon": cell.key.epsilon,
        "labels": cell.labels[k].kind,
        "variant": variant_of(cell.key, fit.method),
        "model": fit.model,
        "method": fit.method,
        "draw": cell.key.draw,
        "beta": cell.labels[k].beta,
        "score": np.nan if failure else value,
        "mse": mse,
        "var_y": var_y,
        "rate_distance": cell.rate_distance,
        "dropped": ";".join(map(as_text, cell.dropped)) or None,
        # On one line, for files that are counted and read line by line.
        "failure": " ".join(failure.split()) or None,
    }
