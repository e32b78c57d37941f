"""Prepared covariates as files: numbers and column names, read without pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dams._files import ARCHIVE_DAMAGE, damaged, whole_file


def save_covariates(covariates: pd.DataFrame, path: str | Path) -> None:
    """Write a DataFrame of floats; a reader sees the old file or the whole new one."""
    with whole_file(path) as partial, open(partial, "wb") as stream:
        np.savez(stream, values=covariates.to_numpy(dtype=float), columns=np.array(covariates.columns, dtype=np.str_))


def load_covariates(path: str | Path) -> pd.DataFrame:
    """Read what `save_covariates` wrote."""
    with open(path, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as stored:
                values, columns = stored["values"], stored["columns"]
        except ARCHIVE_DAMAGE as error:
            raise damaged(path, error) from None
    if values.ndim != 2 or values.dtype != np.float64 or columns.dtype.kind != "U" or columns.shape != values.shape[1:]:
        raise damaged(
            path,
            f"expected floats in two dimensions and a name per column, got {values.dtype} of shape {values.shape} and "
            f"{columns.dtype} of shape {columns.shape}",
        )
    return pd.DataFrame(values, columns=columns.tolist())
