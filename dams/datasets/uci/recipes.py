"""Preparation of the UCI data sets: from raw files to a table of covariates.

Every column of the result is a covariate in which a zero may stand for a lost value:

* a numeric column is centred and divided by its standard deviation (n - 1 in the denominator) over the values present;
  a value missing from the raw file then becomes 0;
* a categorical column becomes one 0/1 column per level, without a level for "missing": such a row is 0 in all of them;
* a two-valued column of Bank or Thyroid becomes a single 0/1 column, in which missing is 0 too.

These are the choices that lead to the paper's numbers of columns. ``recipe="paper_text"`` then drops 0/1 columns that
are 1 in less than 5 % of the rows and columns with a standard deviation of at most 0.05; ``"released_notebook"`` drops
only the latter, as the authors' released code does, contrary to the paper's text.

========  ======  ===========  ==========  =================
data set  rows    all columns  paper_text  released_notebook
========  ======  ===========  ==========  =================
adult     48,842  105          32          69
bank      41,188  52           39          50
thyroid   2,800   33           18          30
========  ======  ===========  ==========  =================
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from dams.datasets.prepare import drop_uninformative, standardise
from dams.datasets.uci.download import fetch
from dams.datasets.uci.origins import find_dataset
from dams.datasets.uci.raw import LAYOUTS, Layout, Recipe, read_raw, refuse, refuse_value

__all__ = ["load_uci", "prepare_uci"]


def load_uci(
    name: str, *, data_dir: str | os.PathLike[str] | None = None, recipe: Recipe = "paper_text"
) -> pd.DataFrame:
    """Return the covariates of a UCI data set, fetched if need be, verified and prepared.

    Parameters
    ----------
    name : {"adult", "bank", "thyroid"}
        Data set.
    data_dir : path, optional
        Folder that holds the raw files; defaults to the environment variable ``DAMS_DATA_DIR``. Files that are not
        there are downloaded to the user's cache folder (see :func:`dams.datasets.fetch`).
    recipe : {"paper_text", "released_notebook"}
        Which columns are dropped (see :func:`prepare_uci`).

    Returns
    -------
    pandas.DataFrame
        Named float64 columns, no missing values.

    See Also
    --------
    fetch : Only the raw files.
    prepare_uci : Prepare raw files that you have.

    Examples
    --------
    >>> from dams.datasets import load_uci
    >>> load_uci("thyroid").shape  # doctest: +SKIP
    (2800, 18)
    """
    _check_recipe(recipe)
    return prepare_uci(name, [file.path for file in fetch(name, data_dir=data_dir)], recipe)


def prepare_uci(name: str, paths: Sequence[str | os.PathLike[str]], recipe: Recipe = "paper_text") -> pd.DataFrame:
    """Prepare the covariates of a UCI data set from its raw files.

    Parameters
    ----------
    name : {"adult", "bank", "thyroid"}
        Data set.
    paths : sequence of paths
        Its raw files, in the registry's order (adult.data before adult.test).
    recipe : {"paper_text", "released_notebook"}
        ``"paper_text"`` drops 0/1 columns that are 1 in less than 5 % of the rows, and columns with a standard
        deviation of at most 0.05; ``"released_notebook"`` drops only the latter.

    Returns
    -------
    pandas.DataFrame
        Named float64 columns, no missing values: numeric columns, dummies (``column_level``), two-valued columns.

    Raises
    ------
    RawDataError
        If a file departs from the documented layout, row count or levels; names file, line or column.

    See Also
    --------
    load_uci : Fetches and prepares in one step.
    """
    _check_recipe(recipe)
    files = find_dataset(name).files
    if len(paths) != len(files):
        raise ValueError(
            f"{name!r} has {len(files)} raw files ({', '.join(f.name for f in files)}); {len(paths)} given."
        )
    return _prepare(LAYOUTS[name], [Path(path) for path in paths], recipe)


def _prepare(layout: Layout, paths: Sequence[Path], recipe: Recipe) -> pd.DataFrame:
    raw = read_raw(layout, paths)
    numeric = {column: standardise(_numbers(raw[column], layout.missing)) for column in layout.numeric}
    flags = dict(_flag(raw[column], *values, layout.missing) for column, values in layout.flags.items())
    for path, rows in zip(paths, layout.rows, strict=True):
        found = int((raw.index.get_level_values("file") == path.name).sum())
        if found != rows:
            refuse(path.name, f"expected {rows:,} rows, found {found:,}")
    dummies = dict(
        dummy for column, count in layout.levels.items() for dummy in _dummies(raw[column], count, layout.missing)
    )
    table = pd.DataFrame({**numeric, **dummies, **flags}, dtype=np.float64).reset_index(drop=True)
    kept = drop_uninformative(table, rare=[*dummies, *flags] if recipe == "paper_text" else [])
    if kept.shape[1] != layout.widths[recipe]:
        names = " and ".join(path.name for path in paths)
        refuse(names, f"expected {layout.widths[recipe]} columns after recipe {recipe!r}, found {kept.shape[1]}")
    return kept


def _numbers(text: pd.Series, missing: str) -> pd.Series:
    numbers = pd.to_numeric(text.mask(text == missing), errors="coerce").astype(np.float64)
    bad = (text != missing) & ~np.isfinite(numbers)
    if bad.any():
        refuse_value(text, bad, f"a number or {missing!r}")
    return numbers


def _flag(text: pd.Series, one: str, zero: str, missing: str) -> tuple[str, pd.Series]:
    bad = ~text.isin([one, zero, missing])
    if bad.any():
        refuse_value(text, bad, f"{one!r}, {zero!r} or {missing!r}")
    # "yes" and "t" say no more than the column's own name.
    name = str(text.name) if one in ("yes", "t") else f"{text.name}_{one}"
    return name, text == one


def _dummies(text: pd.Series, count: int, missing: str) -> Iterator[tuple[str, pd.Series]]:
    frequencies = text[text != missing].value_counts()
    levels = sorted(frequencies.index)
    if len(levels) != count:
        rarest = frequencies.index[-1] if levels else missing
        file, line = text.index[text == rarest][0]
        found = f"found {len(levels)}; the rarest is {rarest!r}, first on line {line}"
        refuse(f"{file}, column {text.name!r}", f"expected {count} levels, {found}")
    for level in levels:
        yield f"{text.name}_{level}", text == level


def _check_recipe(recipe: str) -> None:
    if recipe not in get_args(Recipe):
        raise ValueError(f"Unknown recipe {recipe!r}; known are {', '.join(map(repr, get_args(Recipe)))}.")
