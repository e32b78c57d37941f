"""Fit the closed form to Parquet files of any length, a batch of rows at a time: python long_table.py source target."""

import sys
from pathlib import Path

import polars as pl

from dams import ClosedFormRegressor, Summary


def summarise(path: str | Path, *, label: str | None = None, batch: int = 100_000) -> Summary:
    """Return the summary of a file; a null is a lost value, which is a 0 here."""
    rows = pl.scan_parquet(path)
    covariates = sorted(set(rows.collect_schema().names()) - {"y"})
    batches = rows.fill_null(0).collect_batches(chunk_size=batch, maintain_order=False)
    return sum(Summary.of(part[covariates], None if label is None else part[label]) for part in batches)


def fit(source: str | Path, target: str | Path) -> ClosedFormRegressor:
    """Fit to labelled source rows, with the label in column y, and to target rows."""
    return ClosedFormRegressor().fit_summaries(summarise(source, label="y"), summarise(target))


if __name__ == "__main__":
    model = fit(*sys.argv[1:])
    print(model.relative_missingness_)
    print(dict(zip(model.feature_names_in_, model.coef_.round(4).tolist(), strict=True)))
