"""Records of many blocks in one table, each file checked against the block that it is of.

A module of its own: run_block rests on records.py, and an edit here runs no block again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dams._files import damaged
from dams.experiments.design import Block, variant_of
from dams.experiments.records import KEYS, TIMINGS, read_records


def gather(paths: Sequence[str | Path], blocks: Sequence[Block] | None = None) -> pd.DataFrame:
    """Rows of many files in one canonical order, so that the size of blocks leaves no trace.

    With `blocks`, those that the files are of in the same order, a file that does not hold what its block asks for is
    refused.
    """
    frames = [read_records(path) for path in paths]
    if blocks is not None:
        for path, frame, block in zip(paths, frames, blocks, strict=True):
            _refuse_damaged(frame, block, path)
    return pd.concat(frames, ignore_index=True).sort_values(KEYS, kind="stable", ignore_index=True)


def gather_timings(paths: Sequence[str | Path], blocks: Sequence[Block] | None = None) -> pd.DataFrame:
    """Seconds of every fit of many files, in one order.

    With `blocks`, those that the files are of in the same order, files of jobs of another configuration are refused.
    """
    frames = [_read_timings(path) for path in paths]
    if blocks is not None:
        _refuse_other_designs(frames, blocks, paths)
    return pd.concat(frames).sort_values(TIMINGS[:-1], kind="stable")


def _read_timings(path: str | Path) -> pd.DataFrame:
    try:
        # A digest may look like a number.
        frame = pd.read_csv(path, dtype={"design": "str"})
    except ValueError as error:
        raise damaged(path, error) from None
    if list(frame.columns) != TIMINGS:
        raise damaged(path, f"expected columns {TIMINGS}, got {list(frame.columns)}")
    return frame


def _refuse_other_designs(frames: Sequence[pd.DataFrame], blocks: Sequence[Block], paths: Sequence[str | Path]) -> None:
    """Refuse results of a block as it was before, whose rows may have the same keys.

    Snakemake would have made them anew, but for want of its own notes in .snakemake.
    """
    others = [
        (path, block.digest, sorted(set(frame["design"].dropna())))
        for frame, block, path in zip(frames, blocks, paths, strict=True)
        if set(frame["design"]) != {block.digest}
    ]
    if others:
        path, expected, found = others[0]
        raise ValueError(
            f"{path} is of another configuration: expected {expected} in the column design, got "
            f"{', '.join(found) or 'nothing'}. {len(others)} of {len(paths)} such files are. Delete "
            f"{os.path.commonpath([path for path, *_ in others])} and run again."
        )


def keys_of(block: Block) -> list[tuple[Any, ...]]:
    """Keys of the rows of a block, in the columns `KEYS`."""
    return [
        (
            *(block.study, cell.dataset, cell.regime, cell.epsilon, label.kind),
            *(variant_of(cell, fit.method), fit.model, fit.method, cell.draw, label.beta),
        )
        for cell in block.cells
        for fit in block.fits
        if cell.draw < fit.draws
        for label in block.labels
        if label.beta < fit.betas
    ]


def _refuse_damaged(records: pd.DataFrame, block: Block, path: str | Path) -> None:
    keys = records[KEYS].astype(object)
    found = Counter(keys.where(keys.notna(), None).itertuples(index=False, name=None))
    expected = Counter(keys_of(block))
    if found != expected:
        missing, foreign = expected - found, found - expected
        key = next(chain(missing, foreign))
        said = ", ".join(f"{name} {value}" for name, value in zip(KEYS, key, strict=True) if value is not None)
        raise damaged(
            path,
            f"expected {expected.total()} rows, got {found.total()}; {missing.total()} are missing and "
            f"{foreign.total()} do not belong there, the first of {said}",
        )
    scored = records["failure"].isna()
    ratio = records["mse"] / records["var_y"]
    wrong = np.where(scored, ~np.isclose(records["score"], ratio, rtol=1e-9, atol=0), records["score"].notna())
    if wrong.any():
        number = int(np.flatnonzero(wrong)[0])
        row = records.iloc[number]
        expected_score = f"mse / var_y = {ratio[number]}" if scored[number] else "none, for the fit failed"
        # The first line holds the names of the columns.
        where = f"line {number + 2}, column score"
        raise damaged(path, f"{where}: expected {expected_score}, got {row['score']}")
