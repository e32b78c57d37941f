"""False alarms and power of `check_ucar` on real covariates with simulated missingness.

python -m benchmarks.check_ucar [--simulations N] [--power-simulations N] [--csv FILE] [--toy]

Power: in the target alone, log-odds of loss move by 1 per standard deviation of another feature: those of all other
features with one (`one cause`), those of every feature with one of its own (`all features`), or those of a single
feature (`one feature`). Which other is drawn at random, not from the same group of dummies (there it is constant where
the first is observed). What a test by the same statistics finds at the same level if it is told the two features:
`told_which`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from benchmarks.toy import TABLES, load_table, read_arguments
from dams import FreeRates, NestedRates, apply_missingness, check_ucar

REGIMES = {"nested": NestedRates(), "free": FreeRates()}
# Dummies are named group_level.
GROUP_SEPARATOR = "_"
# Two features are often seen together if that many rows of either domain would show both, were they unrelated.
OFTEN = 1000
# Two-sided at 5 %.
CRITICAL = 1.96


MISSINGNESS = ("UCAR", "one feature", "all features", "one cause")


def simulate(table: pd.DataFrame, regime: str, n: int, rng: np.random.Generator, missingness: str) -> dict[str, object]:
    """One test of n source and n target rows."""
    X = table.to_numpy()
    rows = rng.choice(len(X), 2 * n, replace=False)
    m_source, m_target = REGIMES[regime].sample(X.shape[1], rng)
    source = apply_missingness(X[rows[:n]], m_source, random_state=rng)
    clean = X[rows[n:]]
    target = apply_missingness(clean, m_target, random_state=rng)
    groups = [str(name).split(GROUP_SEPARATOR)[0] for name in table.columns]
    j, other = rng.choice(X.shape[1], 2, replace=False)
    while groups[j] == groups[other]:
        j, other = rng.choice(X.shape[1], 2, replace=False)
    pairs = [] if missingness == "UCAR" else [(j, other)]
    if missingness == "all features":
        outside = [[i for i, group in enumerate(groups) if group != own] for own in groups]
        pairs = [(i, rng.choice(others)) for i, others in enumerate(outside)]
    if missingness == "one cause":
        pairs = [(i, other) for i, group in enumerate(groups) if group != groups[other]]
    for lost, cause in pairs:
        z = (clean[:, cause] - X[:, cause].mean()) / X[:, cause].std()
        target[:, lost] = clean[:, lost] * (rng.random(n) >= expit(logit(m_target[lost]) + z))
    frames = [pd.DataFrame(part, columns=table.columns) for part in (source, target)]
    report = check_ucar(*frames, random_state=rng)
    checks, pair = report.checks, set(table.columns[[j, other]])
    told = checks[[{a, b} == pair for a, b in zip(checks["feature"], checks["other"], strict=True)]]
    return {
        "alarm": report.rejected,
        "blamed": report.suspects[:1] == [table.columns[j]],
        "told_which": bool((told["z"].abs() > CRITICAL).any()),
        "together": n * min(float(np.prod(q[[j, other]] / n)) for q in (_counts(source), _counts(target))),
    }


def _counts(X: np.ndarray) -> np.ndarray:
    return np.count_nonzero(X, axis=0)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check_ucar", description=__doc__)
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--power-simulations", type=int, help="of dependent missingness; default: as many")
    parser.add_argument("--dataset", default="adult", choices=TABLES)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of each domain")
    toy = {"simulations": 1, "dataset": "digits", "rows": 300}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    table = load_table(arguments.dataset)
    summary = []
    for number, missingness in enumerate(MISSINGNESS):
        n_runs = (arguments.power_simulations if number else None) or arguments.simulations
        for k, regime in enumerate(REGIMES):
            streams = (np.random.default_rng([2023, number, k, run]) for run in range(n_runs))
            runs = pd.DataFrame([simulate(table, regime, arguments.rows, rng, missingness) for rng in streams])
            often = runs[runs["together"] >= OFTEN]
            row: dict[str, object] = {
                "missingness": missingness,
                "regime": regime,
                "rows": arguments.rows,
                "simulations": len(runs),
                "alarms": runs["alarm"].mean(),
            }
            if missingness == "one feature":
                row |= {
                    "told_which": runs["told_which"].mean(),
                    "often_together": len(often) / len(runs),
                    "alarms_often": often["alarm"].mean(),
                    "first_suspect_right": runs.loc[runs["alarm"], "blamed"].mean(),
                }
            summary.append(row)
            print(pd.DataFrame([row]).round(3).to_string(index=False), flush=True)
            if arguments.csv:
                pd.DataFrame(summary).to_csv(arguments.csv, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
