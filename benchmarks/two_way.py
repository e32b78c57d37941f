"""How much of the gap between source and oracle the two-way adjustment closes, and what each of its choices is worth.

python -m benchmarks.two_way [--models linear xgboost mlp] [--draws N] [--betas N] [--ablation] [--csv FILE] [--toy]

`two_way_1` is the same with one draw: the base estimator then sees as many rows as the oracle does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cells import ROWS, cells
from benchmarks.toy import SCENARIOS, TABLES, read_arguments
from dams import TwoWayFilter
from dams.estimators._choices import SHIPPED, Choices, boosted_trees, donor_forest
from dams.experiments.cells import Cell
from dams.experiments.methods.closed_form import closed_form
from dams.experiments.methods.nonparametric import nonparametric
from dams.experiments.models import Sample, linear, mlp, xgboost
from dams.missingness import delete_at_random
from dams.stats import paired_difference

DATASETS = ("thyroid", "bank", "adult")
MODELS: dict[str, Callable[[Sample, Sample, np.random.Generator], np.ndarray]] = {
    "linear": linear.errors,
    "xgboost": xgboost.errors,
    "mlp": mlp.errors,
}


def adjusted(
    cell: Cell, label: int, *, n_draws: int = 3, filter_first: bool = False, choices: Choices = SHIPPED
) -> tuple[Sample, float]:
    """Source rows after the two-way filter, and the processor seconds it took."""

    class Varied(TwoWayFilter):
        _choices = choices

    X, y = cell.source_train.X, cell.source_train.Y[:, label]
    start = time.process_time()
    if filter_first:
        X = delete_at_random(X, cell.relative_missingness.filter_rates, np.random.default_rng(label))
    resampler = Varied(n_draws=n_draws, random_state=label)
    rows, labels = resampler.fit_resample(X, y, X_target=cell.target_train.X)
    return Sample(rows, labels[:, None]), time.process_time() - start


def score(model: str, train: Sample, test: Sample, var_y: np.ndarray) -> np.ndarray:
    return MODELS[model](train, test, np.random.default_rng(0)) / var_y


def compare(cell: Cell, models: list[str]) -> Iterator[dict[str, object]]:
    """Scores of every method, model and label of a cell."""
    test, n = cell.target_test, len(cell.source_train.X)
    fixed = {
        "oracle": cell.target_train,
        "source": cell.source_train,
        "nonparametric": nonparametric(cell, np.random.default_rng(1))[0],
    }
    where = {"dataset": cell.key.dataset, "regime": cell.key.regime, "draw": cell.key.draw}
    for model in models:
        methods = (
            {**fixed, "closed_form": closed_form(cell, np.random.default_rng(0))[0]} if model == "linear" else fixed
        )
        for method, train in methods.items():
            for beta, value in enumerate(score(model, train, test, cell.var_y)):
                yield {**where, "model": model, "beta": beta, "method": method, "score": value, "seconds": 0.0}
    for beta in range(len(cell.labels)):
        stacked, seconds = adjusted(cell, beta)
        single = Sample(stacked.X[:n], stacked.Y[:n])
        one_label = Sample(test.X, test.Y[:, [beta]])
        for model in models:
            for method, train in {"two_way": stacked, "two_way_1": single}.items():
                value = score(model, train, one_label, cell.var_y[[beta]])[0]
                yield {**where, "model": model, "beta": beta, "method": method, "score": value, "seconds": seconds}


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean scores, the share of the gap that is closed, and the paired interval of two-way minus non-parametric."""
    rows = []
    for (dataset, regime, model), part in scores.groupby(["dataset", "regime", "model"], sort=False):
        table = part.pivot_table(index=["draw", "beta"], columns="method", values="score")
        means = table.mean()
        by_draw = part.pivot_table(index="draw", columns=["method", "beta"], values="score")
        difference = paired_difference(by_draw["two_way"], by_draw["nonparametric"], random_state=0)
        gap = means["source"] - means["oracle"]
        rows.append(
            {"dataset": dataset, "regime": regime, "model": model, "cells": len(table)}
            | means.to_dict()
            | {f"closed_{m}": (means["source"] - means[m]) / gap for m in ("nonparametric", "two_way_1", "two_way")}
            | {"minus_nonparametric": difference.mean, "lower": difference.lower, "upper": difference.upper}
            | {"seconds": part.loc[part["method"] == "two_way", "seconds"].mean()}
        )
    return pd.DataFrame(rows)


def logistic(seed: int) -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def share_of_nonzeros(seed: int) -> DummyClassifier:
    return DummyClassifier(strategy="prior")


# Each changes one choice, by arguments of `adjusted`; names as in docs/two_way.md.
ABLATION: dict[str, dict[str, Any]] = {
    "as it is": {},
    "1 draw": {"n_draws": 1},
    "5 draws": {"n_draws": 5},
    "π in-sample": {"choices": Choices(n_folds=1)},
    "π in 5 folds": {"choices": Choices(n_folds=5)},
    "π by logistic regression": {"choices": Choices(classifier=logistic)},
    "π the same for all rows": {"choices": Choices(n_folds=1, classifier=share_of_nonzeros)},
    "π by 60 trees": {"choices": Choices(classifier=partial(boosted_trees, max_iter=60, learning_rate=0.1))},
    "donor leaves of 20": {"choices": Choices(forest=partial(donor_forest, min_samples_leaf=20))},
    "donors at random": {"choices": Choices(forest=partial(donor_forest, max_depth=1, max_features=1))},
    "most to fill first": {"choices": Choices(most_first=True)},
    "filter before filling": {"filter_first": True},
}


def ablate(cell: Cell) -> Iterator[dict[str, object]]:
    """Scores of the first label with one choice changed at a time, and of the two ends."""
    test, var_y = Sample(cell.target_test.X, cell.target_test.Y[:, [0]]), cell.var_y[[0]]
    ends = {"oracle": cell.target_train, "source": cell.source_train}
    where = {"dataset": cell.key.dataset, "draw": cell.key.draw}
    for model in ("linear", "xgboost"):
        for name, train in ends.items():
            value = score(model, Sample(train.X, train.Y[:, [0]]), test, var_y)[0]
            yield {**where, "model": model, "choice": name, "score": value, "seconds": 0.0}
    for choice, options in ABLATION.items():
        train, seconds = adjusted(cell, 0, **options)
        for model in ("linear", "xgboost"):
            value = score(model, train, test, var_y)[0]
            yield {**where, "model": model, "choice": choice, "score": value, "seconds": seconds}


def summarise_ablation(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean score, share of the gap closed and seconds of every choice."""
    means = scores.groupby(["dataset", "model", "choice"], sort=False)[["score", "seconds"]].mean().reset_index()
    ends = means.pivot_table(index=["dataset", "model"], columns="choice", values="score")[["source", "oracle"]]
    means = means.join(ends, on=["dataset", "model"])
    means["closed"] = (means["source"] - means["score"]) / (means["source"] - means["oracle"])
    return means[~means["choice"].isin(["source", "oracle"])]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_way", description=__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["linear", "xgboost"])
    parser.add_argument("--datasets", nargs="+", choices=(*SCENARIOS, *TABLES), default=[*SCENARIOS, *DATASETS])
    parser.add_argument("--draws", type=int, default=10, help="rate draws a data set")
    parser.add_argument("--betas", type=int, default=3, help="label vectors a draw")
    parser.add_argument("--ablation", action="store_true", help="change one choice at a time instead")
    parser.set_defaults(rows=ROWS)
    toy = {"datasets": ["redundant", "diabetes"], "draws": 2, "betas": 1, "rows": 500}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    # A scenario's first label is the noisy one of its own equations.
    labels = {name: arguments.betas + (name in SCENARIOS) for name in arguments.datasets}
    rows: list[dict[str, object]] = []
    for cell in cells(dict.fromkeys(arguments.datasets, arguments.draws), labels, arguments.rows):
        if cell.key.regime == "nested":
            continue
        rows += ablate(cell) if arguments.ablation else compare(cell, arguments.models)
    table = pd.DataFrame(rows)
    if arguments.ablation:
        summary = summarise_ablation(table)
    else:
        structural = table["dataset"].isin(SCENARIOS) & (table["beta"] == 0)
        summary = summarise(table[~structural])
    if arguments.csv:
        summary.to_csv(arguments.csv, index=False, float_format="%.4f")
    print(summary.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
