"""Prepared covariates as files: numbers and column names, read without pickle."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd


def save_covariates(covariates: pd.DataFrame, path: str | Path) -> None:
    """Write a DataFrame of floats; a reader sees the old file or the whole new one."""
    partial = Path(f"{path}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    with open(partial, "wb") as stream:
        np.savez(stream, values=covariates.to_numpy(dtype=float), columns=np.array(covariates.columns, dtype=np.str_))
    os.replace(partial, path)


def load_covariates(path: str | Path) -> pd.DataFrame:
    """Read what `save_covariates` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        return pd.DataFrame(stored["values"], columns=stored["columns"].tolist())
