"""How much of the gap between source and oracle the two-way adjustment closes, and what each of its choices is worth.

python -m benchmarks.two_way [--models linear xgboost mlp] [--draws N] [--betas N] [--csv FILE] [--toy]
python -m benchmarks.two_way --ablation | --cost [--draws N] [--csv FILE] [--toy]

`two_way` fits one model to each of the library's three draws and averages their predictions, as `TwoWayEstimator` and
the pipeline do. `oracle` and `nonparametric` average three models too, or several draws would pass for adaptation: the
oracle's are fitted to the labelled target rows with their losses drawn anew, those of the filter to rows filtered anew.
`two_way_1`, `oracle_1` and `nonparametric_1` are the first of these draws alone, one model each. Source and closed form
draw nothing. `closed_…` is the share of the gap between the source and the oracle with as many draws.

`--cost` compares the shipped choices with dearer ones, which they replaced: 20 boosted trees for π and ten donor trees,
all of which see all columns. Its cells (draws from 1000 on, one label each) served no choice.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cells import ROWS, cells_and_clean, target_again
from benchmarks.toy import SCENARIOS, TABLES, read_arguments
from dams.estimators._choices import SHIPPED, Choices, donor_forest
from dams.estimators.filling import N_DRAWS, two_way_draws
from dams.experiments.cells import Cell, Clean
from dams.experiments.methods.closed_form import closed_form
from dams.experiments.methods.nonparametric import nonparametric
from dams.experiments.models import MODELS, Draws, Sample, Training
from dams.relative import count_nonzero
from dams.stats import paired_difference

DATASETS = ("thyroid", "bank", "adult")


def two_way(
    cell: Cell, seed: int | np.random.Generator, *, n_draws: int = N_DRAWS, choices: Choices = SHIPPED
) -> Draws:
    """Return draws of the source rows of a cell with one label, brought to the target's rates."""
    source = cell.source_train
    rows = two_way_draws(
        source.X, source.Y[:, 0], cell.relative_missingness, n_draws=n_draws, random_state=seed, choices=choices
    )
    return Draws(tuple(Sample(draw, source.Y) for draw in rows))


def filter_first(cell: Cell, seed: int) -> Draws:
    """Return as many draws, deleted from before they are filled.

    Each is deleted from anew, as in `two_way`, and so each learns its own laws: the seconds are those of three filters.
    """
    draws: list[Sample] = []
    for rng in np.random.default_rng(seed).spawn(N_DRAWS):
        filtered, _ = nonparametric(cell, rng)
        # What is left to fill is estimated from the filtered rows, in which next to nothing is left to delete.
        rest = replace(cell, source_train=filtered, nonzeros=(count_nonzero(filtered.X), cell.nonzeros[1]))
        draws += two_way(rest, rng, n_draws=1).draws
    return Draws(tuple(draws))


def oracle(cell: Cell, clean: Clean, n_draws: int) -> Draws:
    """Return the labelled target rows, and again with their losses drawn anew."""
    target = cell.target_train
    again = (Sample(target_again(cell, clean, draw), target.Y) for draw in range(1, n_draws))
    return Draws((target, *again))


def score(model: str, train: Training, cell: Cell) -> np.ndarray:
    return MODELS[model].errors(train, cell.target_test, np.random.default_rng(0)) / cell.var_y


def with_first(**methods: Draws) -> dict[str, Training]:
    """Add the first draw of every method alone, as `<method>_1`."""
    return {**methods, **{f"{name}_1": method.draws[0] for name, method in methods.items()}}


def compare(cell: Cell, clean: Clean, models: list[str]) -> Iterator[dict[str, object]]:
    """Scores of every method, model and label of a cell."""
    rng = np.random.default_rng(1)
    filtered = Draws(tuple(nonparametric(cell, rng)[0] for _ in range(N_DRAWS)))
    fixed: dict[str, Training] = {
        "source": cell.source_train,
        **with_first(oracle=oracle(cell, clean, N_DRAWS), nonparametric=filtered),
    }
    where = {"dataset": cell.key.dataset, "regime": cell.key.regime, "draw": cell.key.draw}
    for model in models:
        methods = (
            {**fixed, "closed_form": closed_form(cell, np.random.default_rng(0))[0]} if model == "linear" else fixed
        )
        for method, train in methods.items():
            for beta, value in enumerate(score(model, train, cell)):
                yield {**where, "model": model, "beta": beta, "method": method, "score": value, "seconds": 0.0}
    for beta in range(len(cell.labels)):
        one_label = cell.for_label(beta)
        start = time.process_time()
        draws = two_way(one_label, beta)
        seconds = time.process_time() - start
        for model in models:
            for method, train in with_first(two_way=draws).items():
                value = score(model, train, one_label)[0]
                yield {**where, "model": model, "beta": beta, "method": method, "score": value, "seconds": seconds}


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean scores, the share of the gap that is closed, and the paired interval of two-way minus non-parametric."""
    rows = []
    for (dataset, regime, model), part in scores.groupby(["dataset", "regime", "model"], sort=False):
        table = part.pivot_table(index=["draw", "beta"], columns="method", values="score")
        means = table.mean()
        by_draw = part.pivot_table(index="draw", columns=["method", "beta"], values="score")
        difference = paired_difference(by_draw["two_way"], by_draw["nonparametric"], random_state=0)
        closed = {
            f"closed_{method}{draws}": (means["source"] - means[method + draws])
            / (means["source"] - means["oracle" + draws])
            for method in ("nonparametric", "two_way")
            for draws in ("_1", "")
        }
        rows.append(
            {"dataset": dataset, "regime": regime, "model": model, "cells": len(table)}
            | means.to_dict()
            | closed
            | {"minus_nonparametric": difference.mean, "lower": difference.lower, "upper": difference.upper}
            | {"seconds": part.loc[part["method"] == "two_way", "seconds"].mean()}
        )
    return pd.DataFrame(rows)


def logistic(seed: int) -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def boosted_trees(seed: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, learning_rate=0.1, max_bins=63, early_stopping=False, random_state=seed
    )


def share_of_nonzeros(seed: int) -> DummyClassifier:
    return DummyClassifier(strategy="prior")


# Each changes one choice; names as in docs/two_way.md.
ABLATION: dict[str, Callable[[Cell, int], Draws]] = {
    "as it is": two_way,
    "1 draw": partial(two_way, n_draws=1),
    "5 draws": partial(two_way, n_draws=5),
    "π in-sample": partial(two_way, choices=Choices(n_folds=1)),
    "π in 5 folds": partial(two_way, choices=Choices(n_folds=5)),
    "π by logistic regression": partial(two_way, choices=Choices(classifier=logistic)),
    "π the same for all rows": partial(two_way, choices=Choices(n_folds=1, classifier=share_of_nonzeros)),
    "π by 60 trees": partial(two_way, choices=Choices(classifier=boosted_trees)),
    "donor leaves of 20": partial(two_way, choices=Choices(forest=partial(donor_forest, min_samples_leaf=20))),
    "donors at random": partial(two_way, choices=Choices(forest=partial(donor_forest, max_depth=1, max_features=1))),
    "most to fill first": partial(two_way, choices=Choices(most_first=True)),
    "filter before filling": filter_first,
}


def ablate(cell: Cell, clean: Clean) -> Iterator[dict[str, object]]:
    """Scores of the first label with one choice changed at a time, beside source and oracle with as many draws."""
    cell = cell.for_label(0)
    models = ("linear", "xgboost")
    source = {model: score(model, cell.source_train, cell)[0] for model in models}
    ends: dict[int, dict[str, float]] = {}
    for choice, adjust in ABLATION.items():
        start = time.process_time()
        train = adjust(cell, 0)
        seconds = time.process_time() - start
        n_draws = len(train.draws)
        if n_draws not in ends:
            ends[n_draws] = {model: score(model, oracle(cell, clean, n_draws), cell)[0] for model in models}
        for model in models:
            yield {
                "dataset": cell.key.dataset,
                "draw": cell.key.draw,
                "model": model,
                "choice": choice,
                "score": score(model, train, cell)[0],
                "seconds": seconds,
                "source": source[model],
                "oracle": ends[n_draws][model],
            }


# What was shipped first: trees that see all columns.
DEARER = Choices(
    classifier=lambda seed: HistGradientBoostingClassifier(
        max_iter=20, max_leaf_nodes=15, learning_rate=0.3, max_bins=63, early_stopping=False, random_state=seed
    ),
    forest=partial(donor_forest, n_estimators=10),
    n_columns=10**6,
)
COST_FIRST, COST_DRAWS = 1000, {"thyroid": 48, "bank": 14, "adult": 14}


def cost(cell: Cell, clean: Clean) -> Iterator[dict[str, object]]:
    """Scores and seconds of the first label with the dearer choices and with those shipped."""
    cell = cell.for_label(0)
    seconds, draws = {}, {}
    for name, choices in (("before", DEARER), ("after", SHIPPED)):
        start = time.process_time()
        draws[name] = two_way(cell, 0, choices=choices)
        seconds[f"seconds_{name}"] = time.process_time() - start
    methods: dict[str, Training] = {"source": cell.source_train, "oracle": oracle(cell, clean, N_DRAWS), **draws}
    for model in ("linear", "xgboost"):
        scores = {name: score(model, train, cell)[0] for name, train in methods.items()}
        yield {"dataset": cell.key.dataset, "model": model, **scores, **seconds}


def summarise_cost(table: pd.DataFrame) -> pd.DataFrame:
    """Means by data set and model, shares of the gap, and a bootstrap interval over cells of their difference."""
    rows = []
    for (dataset, model), part in table.groupby(["dataset", "model"], sort=False):
        scores = part[["source", "oracle", "before", "after"]].to_numpy()

        def shares(means: np.ndarray) -> np.ndarray:
            source, oracle, *others = np.moveaxis(means, -1, 0)
            return np.stack([(source - other) / (source - oracle) for other in others])

        picked = np.random.default_rng(0).integers(len(scores), size=(10_000, len(scores)))
        again = shares(scores[picked].mean(axis=1))
        closed, limits = shares(scores.mean(axis=0)), np.quantile(again[1] - again[0], [0.025, 0.975])
        seconds = part[["seconds_before", "seconds_after"]].mean()
        rows.append(
            {"dataset": dataset, "model": model, "cells": len(part)}
            | dict(zip(("source", "oracle", "before", "after"), scores.mean(axis=0), strict=True))
            | {"closed_before": closed[0], "closed_after": closed[1], "lower": limits[0], "upper": limits[1]}
            | seconds.to_dict()
            | {"times_cheaper": seconds["seconds_before"] / seconds["seconds_after"]}
        )
    return pd.DataFrame(rows)


def summarise_ablation(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean scores, seconds and share of the gap closed of every choice."""
    groups = scores.groupby(["dataset", "model", "choice"], sort=False)
    means = groups[["score", "seconds", "source", "oracle"]].mean().reset_index()
    return means.assign(closed=(means["source"] - means["score"]) / (means["source"] - means["oracle"]))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_way", description=__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["linear", "xgboost"])
    parser.add_argument("--datasets", nargs="+", choices=(*SCENARIOS, *TABLES), default=[*SCENARIOS, *DATASETS])
    parser.add_argument("--draws", type=int, help="rate draws a data set (default: 10; of --cost 48 or 14)")
    parser.add_argument("--betas", type=int, default=3, help="label vectors a draw")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--ablation", action="store_true", help="change one choice at a time instead")
    instead.add_argument("--cost", action="store_true", help="compare with dearer choices instead")
    parser.set_defaults(rows=ROWS)
    toy = {"datasets": ["redundant", "diabetes"], "draws": 2, "betas": 1, "rows": 500}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    # A scenario's first label is the noisy one of its own equations.
    labels = {name: arguments.betas + (name in SCENARIOS) for name in arguments.datasets}
    usual = COST_DRAWS if arguments.cost else {}
    draws = {name: arguments.draws or usual.get(name, 10) for name in arguments.datasets}
    if arguments.cost:
        draws = {name: number for name, number in draws.items() if name not in SCENARIOS}
    first = COST_FIRST if arguments.cost else 0
    rows: list[dict[str, object]] = []
    for cell, clean in cells_and_clean(draws, labels, arguments.rows, first=first):
        if cell.key.regime == "nested":
            continue
        if arguments.cost:
            rows += cost(cell, clean)
        else:
            rows += ablate(cell, clean) if arguments.ablation else compare(cell, clean, arguments.models)
    table = pd.DataFrame(rows)
    if arguments.ablation or arguments.cost:
        summary = summarise_ablation(table) if arguments.ablation else summarise_cost(table)
    else:
        structural = table["dataset"].isin(SCENARIOS) & (table["beta"] == 0)
        summary = summarise(table[~structural])
    if arguments.csv:
        summary.to_csv(arguments.csv, index=False, float_format="%.4f")
    print(summary.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
