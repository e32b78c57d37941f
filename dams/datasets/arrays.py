"""Prepared covariates as files: numbers and column names, read without pickle."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from dams._files import damaged, whole_file


def save_covariates(covariates: pd.DataFrame, path: str | Path) -> None:
    """Write a DataFrame of floats; a reader sees the old file or the whole new one."""
    with whole_file(path) as partial, open(partial, "wb") as stream:
        np.savez(stream, values=covariates.to_numpy(dtype=float), columns=np.array(covariates.columns, dtype=np.str_))


def load_covariates(path: str | Path) -> pd.DataFrame:
    """Read what `save_covariates` wrote."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return pd.DataFrame(stored["values"], columns=stored["columns"].tolist())
    # NumPy reports damage through any of these, depending on where it is.
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise damaged(path, error) from None
