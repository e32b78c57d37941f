"""What the two-way adjustment loses where its trees learn from some of the rows of a long table, and what that saves.

python -m benchmarks.two_way_rows [--rows N] [--columns N] [--caps N ...] [--seeds N] [--csv FILE] [--toy]

Simulated source and target rows of five causes: flags, counts and skewed values, lost at free rates; labels have linear
parts, products and noise. Every seed has rates, coefficients and rows of its own. Three draws, one model each,
predictions averaged; the oracle averages three models of labelled target rows with their losses drawn anew. `closed` is
the share of the gap between source and oracle, `change` its difference to all rows (`max_rows=None`, cap 0 in the
table), with a 95 % interval over
seeds (Student's t). Seconds are processor seconds of the draws, without the models.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.toy import read_arguments
from dams.estimators.filling import N_DRAWS, two_way_draws
from dams.experiments.models import MODELS, Draws, Sample
from dams.missingness import delete_at_random
from dams.rates import FreeRates
from dams.relative import estimate_relative_missingness

N_CAUSES = 5
N_TEST = 20_000
CAPS = (10_000, 25_000, 50_000, 100_000)


def simulate(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of d columns and their labels."""
    causes = rng.normal(size=(n, N_CAUSES))
    X = causes @ rng.normal(size=(N_CAUSES, d)) + rng.normal(size=(n, d))
    X /= np.sqrt(N_CAUSES + 1)
    kind = np.arange(d) % 3
    flags, counts, skewed = (np.flatnonzero(kind == k) for k in range(3))
    X[:, flags] = X[:, flags] > rng.uniform(-1, 1, len(flags))
    X[:, counts] = rng.poisson(np.exp(np.minimum(X[:, counts], 3)))
    X[:, skewed] = np.exp(X[:, skewed])
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    y = scaled @ rng.normal(size=d)
    y += np.sqrt(d) * scaled[:, 0] * scaled[:, 1] + np.sqrt(d) * np.abs(scaled[:, 2])
    return X, y + rng.normal(size=n) * y.std() / 3


def score(model: str, train: Draws | Sample, test: Sample) -> float:
    """Return the target MSE over the variance of the labels."""
    return float(MODELS[model].errors(train, test, np.random.default_rng(0))[0] / test.Y.var())


def run(seed: int, n: int, d: int, caps: Sequence[int], models: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield the scores and seconds of every cap for the rows of one seed."""
    rng = np.random.default_rng([2023, seed])
    X, y = simulate(2 * n + N_TEST, d, rng)
    parts = np.split(np.arange(len(X)), [n, 2 * n])
    m_source, m_target = FreeRates().sample(d, rng)
    source, target, test = (
        Sample(delete_at_random(X[rows], m, rng), y[rows, None])
        for rows, m in zip(parts, (m_source, m_target, m_target), strict=True)
    )
    again = (Sample(delete_at_random(X[parts[1]], m_target, rng), target.Y) for _ in range(1, N_DRAWS))
    oracle = Draws((target, *again))
    ends = {model: (score(model, source, test), score(model, oracle, test)) for model in models}
    relative = estimate_relative_missingness(source.X, target.X)
    for cap in (0, *caps):
        start = time.process_time()
        rows = two_way_draws(source.X, source.Y[:, 0], relative, random_state=seed, max_rows=cap or None)
        seconds = time.process_time() - start
        draws = Draws(tuple(Sample(draw, source.Y) for draw in rows))
        for model, (at_source, at_oracle) in ends.items():
            value = score(model, draws, test)
            closed = (at_source - value) / (at_source - at_oracle)
            row = {"seed": seed, "max_rows": cap, "model": model, "filled": relative.improper.sum(), "score": value}
            yield row | {"source": at_source, "oracle": at_oracle, "closed": closed, "seconds": seconds}


def summarise(table: pd.DataFrame, n: int, d: int) -> pd.DataFrame:
    """Means over seeds by cap and model, and the change of the share against all rows."""
    rows = []
    for (model, cap), part in table.groupby(["model", "max_rows"], sort=False):
        whole = table[(table["model"] == model) & (table["max_rows"] == 0)]
        changes = part["closed"].to_numpy() - whole["closed"].to_numpy()
        change, half = changes.mean(), stats.t.ppf(0.975, len(changes) - 1) * stats.sem(changes)
        means = part[["filled", "source", "oracle", "score", "closed"]].mean().to_dict()
        row = {"rows": n, "columns": d, "seeds": len(part), "model": model, "max_rows": cap} | means
        row |= {"change": change, "lower": change - half, "upper": change + half}
        rows.append(row | {"seconds": part["seconds"].mean()})
    return pd.DataFrame(rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_way_rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=150_000, help="rows of each domain")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--caps", type=int, nargs="+", default=list(CAPS))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["linear", "xgboost"])
    toy = {"rows": 600, "columns": 6, "caps": [200], "seeds": 2, "models": ["linear"]}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    sizes = arguments.rows, arguments.columns
    rows: list[dict[str, object]] = []
    for seed in range(arguments.seeds):
        rows += run(seed, *sizes, arguments.caps, arguments.models)
        print(pd.DataFrame(rows).tail(len(arguments.models) * (1 + len(arguments.caps))).round(4), flush=True)
    summary = summarise(pd.DataFrame(rows), *sizes)
    if arguments.csv:
        summary.to_csv(arguments.csv, index=False, float_format="%.4g")
    print(summary.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
