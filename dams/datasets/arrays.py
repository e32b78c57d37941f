"""Prepared covariates as files: numbers and column names, read without pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dams.files import whole_file


def save_covariates(covariates: pd.DataFrame, path: str | Path) -> None:
    """Write a DataFrame of floats; a reader sees the old file or the whole new one."""
    with whole_file(path) as partial, open(partial, "wb") as stream:
        np.savez(stream, values=covariates.to_numpy(dtype=float), columns=np.array(covariates.columns, dtype=np.str_))


def load_covariates(path: str | Path) -> pd.DataFrame:
    """Read what `save_covariates` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        return pd.DataFrame(stored["values"], columns=stored["columns"].tolist())
