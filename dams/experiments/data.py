"""The covariates of a run: whichever way a data set comes, an experiment sees a prepared table."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd

from dams.datasets.registry import DATASETS
from dams.datasets.tabular import OwnTable, load_csv
from dams.datasets.uci.download import fetch
from dams.datasets.uci.origins import UCI

# Rows are split 4:1:4:1, and scores are taken on the smallest part: of fewer rows than this, on fewer than five.
MIN_ROWS = 50

log = logging.getLogger(__name__)


def download(name: str, folder: str | Path, *, data_dir: str | None) -> list[dict[str, str]]:
    """Fetch and verify the raw files of a UCI data set; return what served each of them, for the provenance."""
    return [
        {"file": file.path.name, "sha256": file.sha256, "source": file.origin, "licence": UCI[name].licence}
        for file in fetch(name, folder, data_dir=data_dir)
    ]


def load_own_table(table: dict[str, Any]) -> OwnTable:
    """Load a user's own table and refuse one that is too small to experiment with."""
    own = load_csv(**table)
    if len(own.covariates) < MIN_ROWS:
        raise ValueError(
            f"{table['path']} has {len(own.covariates)} rows, expected at least {MIN_ROWS}: they are split into "
            "training and test rows of source and target, 4:1:4:1."
        )
    return own


def prepare(
    name: str, *, folder: str | Path, data_dir: str | None, recipe: str | None, table: dict[str, Any] | None
) -> pd.DataFrame:
    """Return prepared covariates.

    Parameters
    ----------
    name : str
        A data set that comes with dams, or a name of the user's.
    folder, data_dir, recipe
        For UCI data: where the raw files are, or else can be found or put, and how they are prepared.
    table : dict or None
        For a user's own data: the arguments of `load_csv`.
    """
    if table is not None:
        own = load_own_table(table)
        log.info("%s: %s", table["path"], own.describe())
        return own.covariates
    if DATASETS[name].kind == "uci":
        # Verified once more: the files may have been touched since they were fetched.
        paths = [file.path for file in fetch(name, folder, data_dir=data_dir)]
        return DATASETS[name].load(name, paths, recipe)
    return DATASETS[name].load()
