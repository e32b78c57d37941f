"""False alarms and power of `check_ucar` on real covariates with simulated missingness.

python -m benchmarks.check_ucar [--simulations N] [--csv FILE]

Power: in the target alone, the log-odds of losing one feature move by 1 per standard deviation of another; both are
drawn at random, not from the same group of dummies (there the other is constant where the first is observed).
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from dams import Free, Nested, apply_missingness, check_ucar
from dams.datasets import load_uci

REGIMES = {"nested": Nested(), "free": Free()}
# Dummies are named group_level.
GROUP_SEPARATOR = "_"


def simulate(
    table: pd.DataFrame, regime: str, n: int, rng: np.random.Generator, *, dependent: bool
) -> dict[str, object]:
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
    if dependent:
        z = (clean[:, other] - X[:, other].mean()) / X[:, other].std()
        target[:, j] = clean[:, j] * (rng.random(n) >= expit(logit(m_target[j]) + z))
    frames = [pd.DataFrame(part, columns=table.columns) for part in (source, target)]
    report = check_ucar(*frames, random_state=rng)
    return {
        "alarm": report.rejected,
        "blamed": report.suspects[:1] == [table.columns[j]],
        "frequency": float(np.mean(X[:, j] != 0)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check_ucar", description=__doc__)
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--dataset", default="adult", choices=("adult", "bank"))
    parser.add_argument("--rows", type=int, default=10_000, help="rows of each domain")
    parser.add_argument("--csv", metavar="FILE", help="write the summary")
    arguments = parser.parse_args()
    table = load_uci(arguments.dataset)
    summary = []
    for dependent in (False, True):
        for regime in REGIMES:
            rng = np.random.default_rng(2023)
            runs = pd.DataFrame(
                [
                    simulate(table, regime, arguments.rows, rng, dependent=dependent)
                    for _ in range(arguments.simulations)
                ]
            )
            common = runs[runs["frequency"] >= 0.2]
            summary.append(
                {
                    "missingness": "dependent" if dependent else "UCAR",
                    "regime": regime,
                    "rows": arguments.rows,
                    "simulations": len(runs),
                    "alarms": runs["alarm"].mean(),
                    "alarms_frequent": common["alarm"].mean(),
                    "first_suspect_right": runs.loc[runs["alarm"], "blamed"].mean() if dependent else np.nan,
                }
            )
            print(pd.DataFrame(summary[-1:]).round(3).to_string(index=False, header=len(summary) == 1), flush=True)
    if arguments.csv:
        pd.DataFrame(summary).to_csv(arguments.csv, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
