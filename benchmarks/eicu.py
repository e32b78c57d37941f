"""What the simulated eICU cohorts show: agreement of coefficients under `ucar`, loss where the assumption is violated.

python -m benchmarks.eicu [--stays N] [--cohorts N] [--seeds N] [--loss-stays N] [--loss-seeds N] [--csv FILE] [--toy]

Coefficients: for every seed, cohorts of so many stays, half in each hospital, with the same rates (strength 1). With
β_k those of a method in cohort k, o_k the oracle's there and d_k = β_k − o_k, the distance is the root mean square of
‖d_k‖/‖o_k‖. It holds what the method gets wrong and sampling noise. The noise alone is how far the d_k scatter, so the
part that more stays would not mend is

    systematic² = (‖mean d‖² − Σ_k ‖d_k − mean d‖²/(K(K − 1)))/‖mean o‖²,

averaged over seeds and directions; `bound` is its upper 95 % limit. `another oracle` has learnt from another cohort of
the same hospital: all noise, its systematic part being 0 by construction. `together` is the distance where
all cohorts make one.

Recorded twice: for every seed, one cohort of so many stays whose records are lost once at the source's rates and once
at the target's. Both predictors then know the same deaths, and only the masks differ by chance.

Loss: MSE/Var(Y) above the oracle's in the tables of `run_eicu`, mean of both directions and of the seeds. Patients are
divided one by one there, so it takes fewer stays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.toy import read_arguments
from dams import ClosedFormRegressor, FreeRates, apply_missingness
from dams.datasets.eicu.catalogue import catalogue
from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.simulator import simulate_eicu_table
from dams.experiments.eicu.run import filter_to_target, fit_linear, run_eicu

Array = np.ndarray
DIRECTIONS = ((73, 264), (264, 73))
VIOLATIONS = (
    ("population", "coefficients"),
    ("population", "severity"),
    ("mar", "age_and_unit"),
    ("mnar", "severity"),
    ("mnar", "outcome"),
)
STRENGTHS = (0.0, 0.5, 1.0, 2.0)


def closed_form(source: FeatureTable, target: FeatureTable, **options: object) -> Array:
    model = ClosedFormRegressor(**options)  # type: ignore[arg-type]
    return model.fit(source.X, source.y.astype(float), X_target=target.X).coef_


def filtered(source: FeatureTable, target: FeatureTable) -> Array:
    return fit_linear(filter_to_target(source, target, np.random.default_rng(0)), "non-parametric").coef[:, 0]


METHODS: dict[str, Callable[[FeatureTable, FeatureTable], Array]] = {
    "source": lambda source, target: fit_linear(source, "source").coef[:, 0],
    "closed form, target's M, as printed": lambda s, t: closed_form(s, t, gram="target", stabilise=False),
    "closed form, target's M": lambda s, t: closed_form(s, t, gram="target"),
    "closed form, pooled M": lambda s, t: closed_form(s, t, gram="pooled"),
    "non-parametric": filtered,
}


def columns_of(table: FeatureTable) -> dict[str, Array]:
    """The features that death depends on, and all but the commonest level of each static variable.

    A static variable's levels add up to one, so with all of them the coefficients would be arbitrary.
    """
    cat = catalogue("test")
    causes = {cat.timed_names[j] for j in cat.effects}
    share = table.prevalence()[0]
    left_out = set()
    for variable in cat.static:
        levels = [j for j, name in enumerate(table.names) if name.startswith(variable.prefix)]
        left_out.add(max(levels, key=share.__getitem__))
    return {
        "causes of death": np.flatnonzero([name in causes for name in table.names]),
        "all": np.setdiff1d(np.arange(len(table.names)), sorted(left_out)),
    }


def in_cohorts(table: FeatureTable, cohorts: int) -> list[dict[int, FeatureTable]]:
    """Split the stays of each hospital into so many parts."""
    rows = {h: np.array_split(np.flatnonzero(table.hospital == h), cohorts) for h in table.hospitals}
    return [{h: table.take(parts[k]) for h, parts in rows.items()} for k in range(cohorts)]


def agreement(stays: int, cohorts: int, seed: int) -> Iterator[dict[str, object]]:
    """Squared relative distances of one seed, a row for every set of features, direction and method."""
    whole = simulate_eicu_table(stays * cohorts, scenario="ucar", random_state=seed)
    for features, columns in columns_of(whole).items():
        table = whole.select(columns)
        parts, together = in_cohorts(table, cohorts), in_cohorts(table, 1)[0]
        for source, target in DIRECTIONS:
            oracles = np.array([fit_linear(part[target], "oracle").coef[:, 0] for part in parts])
            limit = fit_linear(together[target], "oracle").coef[:, 0]
            about = {"seed": seed, "features": features, "target": target}
            yield about | {"method": "another oracle", **_distances(np.roll(oracles, 1, axis=0), oracles)}
            for method, coefficients in METHODS.items():
                found = np.array([coefficients(part[source], part[target]) for part in parts])
                at_once = coefficients(together[source], together[target]) - limit
                yield (
                    about
                    | {"method": method, **_distances(found, oracles)}
                    | {"together": at_once @ at_once / (limit @ limit)}
                )


def recorded_twice(stays: int, seed: int) -> Iterator[dict[str, object]]:
    """Relative distances where the same stays were recorded at both hospitals' rates; rows as in `agreement`."""
    clean = simulate_eicu_table(stays, scenario="ucar", strength=0.0, random_state=seed)
    rng = np.random.default_rng([seed, stays])
    static = np.isin(clean.names, catalogue("test").static_names)
    rates = [np.where(static, 0.0, m) for m in FreeRates().sample(len(clean.names), rng)]
    recorded = [clean.with_values(apply_missingness(clean.X, m, random_state=rng)) for m in rates]
    for features, columns in columns_of(clean).items():
        parts = [part.select(columns) for part in recorded]
        for source, target in (parts, parts[::-1]):
            oracle = fit_linear(target, "oracle").coef[:, 0]
            for method, coefficients in METHODS.items():
                distance = np.linalg.norm(coefficients(source, target) - oracle) / np.linalg.norm(oracle)
                yield {"seed": seed, "features": features, "method": method, "distance": distance}


def _distances(found: Array, oracles: Array) -> dict[str, float]:
    d, K = found - oracles, len(oracles)
    size = oracles.mean(axis=0) @ oracles.mean(axis=0)
    noise = np.square(d - d.mean(axis=0)).sum() / (K * (K - 1))
    squared = np.square(d).sum(axis=1) / np.square(oracles).sum(axis=1)
    return {
        "distance": squared.mean(),
        "largest": squared.max(),
        "systematic": (d.mean(axis=0) @ d.mean(axis=0) - noise) / size,
    }


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Roots of the mean squares over seeds and directions."""
    groups = rows.groupby(["features", "method"], sort=False)
    mean, error = groups["systematic"].mean(), groups["systematic"].sem()
    squares = pd.DataFrame(
        {
            "distance": groups["distance"].mean(),
            "largest": groups["largest"].max(),
            "systematic": mean,
            "bound": mean + 1.645 * error,
            "together": groups["together"].mean(),
        }
    )
    return np.sqrt(squares.clip(lower=0))


def losses(stays: int, seeds: int, strengths: Sequence[float]) -> pd.DataFrame:
    """Rows of scenario, mechanism and method; a column for every strength."""
    rows = []
    for scenario, mechanism in VIOLATIONS:
        for strength in strengths:
            for seed in range(seeds):
                table = simulate_eicu_table(
                    stays, scenario=scenario, mechanism=mechanism, strength=strength, random_state=seed
                )
                errors = run_eicu(table, replicates=1).query("metric == 'mse'")
                value = errors.groupby("method")["value"].mean() / table.y.var()
                for method in ("source", "closed_form", "nonparametric"):
                    loss = value[method] - value["oracle"]
                    rows.append([scenario, mechanism, method, strength, loss])
    frame = pd.DataFrame(rows, columns=["scenario", "mechanism", "method", "strength", "loss"])
    return frame.pivot_table(index=["scenario", "mechanism", "method"], columns="strength", values="loss", sort=False)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eicu", description=__doc__)
    parser.add_argument("--stays", type=int, default=200_000, help="stays of a cohort, both hospitals together")
    parser.add_argument("--cohorts", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=4, help="draws of the rates")
    parser.add_argument("--loss-stays", type=int, default=12_000, help="stays of a cohort whose loss is measured")
    parser.add_argument("--loss-seeds", type=int, default=6)
    parser.set_defaults(strengths=STRENGTHS)
    toy = {"stays": 600, "cohorts": 2, "seeds": 1, "loss_stays": 600, "loss_seeds": 1, "strengths": (1.0,)}
    arguments = read_arguments(parser, argv, csv="write the tables, one below the other", **toy)
    rows = []
    for seed in range(arguments.seeds):
        rows += list(agreement(arguments.stays, arguments.cohorts, seed))
        print(f"{seed + 1} of {arguments.seeds} seeds", flush=True)
    coefficients = summarise(pd.DataFrame(rows))
    print((100 * coefficients).round(1).to_string())
    same_stays = [row for seed in range(arguments.seeds) for row in recorded_twice(arguments.stays, seed)]
    groups = pd.DataFrame(same_stays).groupby(["features", "method"], sort=False)["distance"]
    twice = groups.agg(["mean", "max"])
    print((100 * twice).round(1).to_string())
    loss = losses(arguments.loss_stays, arguments.loss_seeds, arguments.strengths)
    print(loss.round(4).to_string())
    if arguments.csv:
        tables = {"distance from the oracle's coefficients": coefficients, "recorded twice": twice, "loss": loss}
        parts = [
            table.melt(var_name="column", ignore_index=False).reset_index().assign(table=name)
            for name, table in tables.items()
        ]
        pd.concat(parts).to_csv(arguments.csv, index=False, float_format="%.5f")


if __name__ == "__main__":
    main()
