"""Rows that belong together, columns lost together, columns never lost: `check_ucar` and r with and without being told.

python -m benchmarks.known_structure [--simulations N] [--csv FILE] [--toy]

Values are lost at random in every design. Rows of one patient share nine tenths of the variance of all that is
measured. Sex is coded as two 0/1 columns that are never lost, 52 % women in the source and 75 % in the target. Panels
are four columns each of three blood samples that are lost as one, beside three columns on their own; told of panels
where there are none, the test should object. Cases have a higher mean of what some columns measure, by .7 standard
deviations; the last two designs break the assumptions through the outcome, which the test doesn't see.

`covered` is the share of intervals that hold r, over all columns; `least_covered` that of the worst column;
`all_covered` how often the simultaneous intervals hold every r.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from benchmarks.toy import read_arguments
from dams import check_ucar, estimate_relative_missingness

Draw = tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]

# Loss of seven columns; of either sign, relatively.
RATES = np.array([0.1, 0.3, 0.2, 0.5, 0.0, 0.4, 0.3]), np.array([0.4, 0.0, 0.3, 0.2, 0.3, 0.4, 0.6])
N_BOOTSTRAP = 400


def measure(patients: int, rows: int, rng: np.random.Generator, *, shared: float = 0.9, shift: Any = 0.0) -> np.ndarray:
    """Seven columns: flags, a rare flag, counts and real numbers, some of them related."""
    own = np.repeat(np.arange(patients), rows)

    def normal() -> np.ndarray:
        return np.sqrt(shared) * rng.normal(size=patients)[own] + np.sqrt(1 - shared) * rng.normal(size=len(own))

    z = normal() + shift
    columns = [
        z + normal() > 0,
        normal() > 1.3,
        np.floor(np.exp((z + normal()) / 2)),
        z + normal(),
        normal() > -0.3,
        np.where(normal() > 0, np.exp(normal() + z), 0),
        z + normal() > 0.8,
    ]
    return np.column_stack(columns).astype(float)


def lose(X: np.ndarray, rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X * (rng.random(X.shape) >= rates)


def by_patient(patients: int, rows: int, rng: np.random.Generator) -> Draw:
    source, target = (lose(measure(patients, rows, rng), rates, rng) for rates in RATES)
    ids = np.repeat(np.arange(patients), rows)
    return source, target, 1 - (1 - RATES[1]) / (1 - RATES[0]), {"groups": ids, "groups_target": ids}


def by_sex(n: int, rng: np.random.Generator, *, related: float = 0.0) -> Draw:
    parts = []
    for share, rates in zip((0.52, 0.75), RATES, strict=True):
        female = (rng.random(n) < share).astype(float)
        X = lose(measure(n, 1, rng, shift=related * female), rates, rng)
        parts.append(np.column_stack([female, 1 - female, X]))
    r = np.append([0, 0], 1 - (1 - RATES[1]) / (1 - RATES[0]))
    return parts[0], parts[1], r, {"always_recorded": [0, 1]}


def by_panel(n: int, rng: np.random.Generator) -> Draw:
    panel = np.append(np.repeat([0, 1, 2], 4), [3, 4, 5])
    rates = np.array([0.5, 0.3, 0.1, 0.2, 0.4, 0.0]), np.array([0.2, 0.5, 0.4, 0.2, 0.1, 0.3])
    tables = []
    for rate in rates:
        kept = rng.random((n, 6)) >= rate
        X = np.column_stack([measure(n, 1, rng), measure(n, 1, rng), rng.normal(size=n) > 0]).astype(float)
        tables.append(X * kept[:, panel])
    r = (1 - (1 - rates[1]) / (1 - rates[0]))[panel]
    return tables[0], tables[1], r, {"column_groups": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]}


def one_by_one(n: int, rng: np.random.Generator) -> Draw:
    """Columns that are said to be lost together, and are not."""
    source, target = (lose(measure(n, 1, rng), rates, rng) for rates in RATES)
    return source, target, np.full(7, np.nan), {"column_groups": [[0, 2, 3], [4, 6]]}


def by_outcome(n: int, rng: np.random.Generator, *, cases: float = 0.3, log_odds: float = 0.0) -> Draw:
    """Loss in the target that is likelier for cases, or more cases there than the 30 % of the source."""
    tables = []
    for share, moved, rates in zip((0.3, cases), (0.0, log_odds), RATES, strict=True):
        y = (rng.random(n) < share).astype(float)
        X = measure(n, 1, rng, shift=y)
        tables.append(lose(X, expit(logit(rates) + moved * y[:, None]), rng))
    return tables[0], tables[1], np.full(7, np.nan), {}


DESIGNS = {
    "1 row per patient": lambda rng: by_patient(1000, 1, rng),
    "2 rows per patient": lambda rng: by_patient(1000, 2, rng),
    "4 rows per patient": lambda rng: by_patient(1000, 4, rng),
    "8 rows per patient": lambda rng: by_patient(1000, 8, rng),
    "8 rows, 100 patients": lambda rng: by_patient(100, 8, rng),
    "sex, unrelated to the rest": lambda rng: by_sex(2000, rng),
    "sex, related to the rest": lambda rng: by_sex(2000, rng, related=0.5),
    "panels": lambda rng: by_panel(2000, rng),
    "no panels, told of some": lambda rng: one_by_one(2000, rng),
    "loss depends on the outcome": lambda rng: by_outcome(1000, rng, log_odds=1.0),
    "40 % cases instead of 30 %": lambda rng: by_outcome(1000, rng, cases=0.4),
}


def simulate(draw: Any, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    source, target, r, told = draw(rng)
    for name, known in (("untold", {}), ("told", told)) if told else (("untold", {}),):
        report = check_ucar(source, target, n_bootstrap=N_BOOTSTRAP, random_state=rng, **known)
        relative = estimate_relative_missingness(source, target, **known)
        yield f"rejected_{name}", report.rejected
        if np.isnan(r).any():
            continue
        inside = (relative.lower <= r) & (r <= relative.upper)
        yield f"covered_{name}", inside.mean()
        yield f"least_covered_{name}", inside
        yield (
            f"all_covered_{name}",
            ((relative.simultaneous_lower <= r) & (r <= relative.simultaneous_upper)).all(),
        )
        yield f"width_{name}", (relative.upper - relative.lower).mean()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known_structure", description=__doc__)
    parser.add_argument("--simulations", type=int, default=500)
    arguments = read_arguments(parser, argv, csv="write the summary", simulations=1)
    summary = []
    for number, (design, draw) in enumerate(DESIGNS.items()):
        streams = (np.random.default_rng([2024, number, run]) for run in range(arguments.simulations))
        runs = pd.DataFrame([dict(simulate(draw, rng)) for rng in streams])
        row: dict[str, object] = {"design": design, "simulations": len(runs)}
        for column in runs:
            row[str(column)] = float(np.min(np.mean(runs[column].tolist(), axis=0)))
        summary.append(row)
        print(pd.DataFrame([row]).round(3).T.to_string(header=False), flush=True)
        if arguments.csv:
            pd.DataFrame(summary).to_csv(arguments.csv, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
