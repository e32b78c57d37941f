"""The covariates of a run: whichever way a data set comes, an experiment sees a prepared table."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dams.datasets.registry import DATASETS
from dams.datasets.tabular import OwnTable, load_csv

# Rows are split 4:1:4:1, and scores are taken on the smallest part: of fewer rows than this, on fewer than five.
MIN_ROWS = 50

log = logging.getLogger(__name__)


def download(name: str, folder: str | Path, *, data_dir: str | None) -> list[dict[str, str]]:
    """Fetch and verify the raw files of a UCI data set; return what served each of them, for the provenance."""
    # Imported late, here and below: most data sets need no download.
    from dams.datasets.uci.download import fetch
    from dams.datasets.uci.origins import UCI

    return [
        {"file": file.path.name, "sha256": file.sha256, "source": file.origin, "licence": UCI[name].licence}
        for file in fetch(name, folder, data_dir=data_dir)
    ]


def raw_folder(record: str | Path) -> Path:
    """Return the folder of the raw files that a JSON file beside it tells of."""
    return Path(record).with_suffix("")


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
    name: str,
    *,
    raw: Sequence[str | Path] = (),
    data_dir: str | None = None,
    table: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return prepared covariates.

    Parameters
    ----------
    name : str
        A data set that comes with dams, or a name of the user's.
    raw : paths
        For UCI data: the file that says what served the raw ones, which lie in a folder of its name beside it. For a
        user's own data: the table.
    data_dir
        For UCI data: where the raw files can be found again.
    table : dict or None
        For a user's own data: how `load_csv` is to read it.
    """
    if table is not None:
        (path,) = raw
        own = load_own_table({"path": path, **table})
        log.info("%s: %s", path, own.describe())
        return own.covariates
    dataset = DATASETS[name]
    if dataset.raw is not None:
        from dams.datasets.uci.download import fetch

        # Verified once more: the files may have been touched since they were fetched.
        (record,) = raw
        paths = [file.path for file in fetch(dataset.raw, raw_folder(record), data_dir=data_dir)]
        return dataset.load(dataset.raw, paths, dataset.recipe)
    return dataset.load()
