"""The stable closed form against the plain formula, all three Gram matrices, on the cells of the paper's linear study.

python -m benchmarks.closed_form [--draws N] [--betas N] [--csv FILE] [--toy]

`uncentred` and `centred` differ in the cross-moment alone: the plain formula's is not centred by its own mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.cells import cells
from benchmarks.toy import TABLES, read_arguments
from dams.estimators.adjusted_moments import adjust_moments
from dams.estimators.folds import FoldedMoments
from dams.estimators.stabilise import fit_stabilised
from dams.experiments.cells import Cell
from dams.experiments.methods.nonparametric import nonparametric
from dams.least_squares import LinearFit, least_squares

DATASETS = ("thyroid", "bank", "adult")
GRAMS = ("pooled", "target", "source")


def centred(cell: Cell, gram: str) -> LinearFit:
    """The plain formula with Cov(X̃^t, Y) = (1 − r) ⊙ Cov(X̃^s, Y) for its right-hand side."""
    source, r = cell.source_train.moments, cell.relative_missingness.r
    adjusted = adjust_moments(source, cell.target_train.moments, r, gram=gram)
    return least_squares(replace(adjusted, label_covariance=source.moved(r).label_covariance))


def fits(cell: Cell) -> dict[str, LinearFit]:
    """Every predictor of a cell, for all labels at once."""
    source, target, r = cell.source_train, cell.target_train, cell.relative_missingness.r
    folds = FoldedMoments.of(source.X, source.Y), FoldedMoments.of(target.X)
    found = {
        "oracle": least_squares(target.moments),
        "source": least_squares(source.moments),
        "nonparametric": least_squares(nonparametric(cell, np.random.default_rng(1))[0].moments),
    }
    for gram in GRAMS:
        found[f"plain, uncentred, {gram}"] = least_squares(adjust_moments(source.moments, target.moments, r, gram=gram))
        found[f"plain, centred, {gram}"] = centred(cell, gram)
        found[f"stable, {gram}"] = fit_stabilised(*folds, r, gram=gram)
    return found


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and worst score, and the worst ratio to the source predictor's."""
    groups = scores.groupby(["dataset", "regime", "method"], sort=False)
    return groups.agg(mean=("score", "mean"), worst=("score", "max"), worst_to_source=("ratio", "max")).reset_index()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closed_form", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=TABLES, default=DATASETS, metavar="NAME")
    parser.add_argument("--draws", type=int, default=50, help="rate draws a data set and regime")
    parser.add_argument("--betas", type=int, default=10, help="label vectors a draw")
    toy = {"datasets": ["diabetes"], "draws": 2, "betas": 2}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    parts = []
    draws, betas = (dict.fromkeys(arguments.datasets, count) for count in (arguments.draws, arguments.betas))
    for cell in cells(draws, betas):
        scores = {method: fit.mse(cell.target_test.moments) / cell.var_y for method, fit in fits(cell).items()}
        for method, values in scores.items():
            part = pd.DataFrame({"score": values, "ratio": values / scores["source"]})
            parts.append(part.assign(dataset=cell.key.dataset, regime=cell.key.regime, method=method))
    summary = summarise(pd.concat(parts))
    if arguments.csv:
        summary.to_csv(arguments.csv, index=False, float_format="%.4f")
    print(summary.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
