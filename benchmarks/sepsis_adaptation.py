"""Other adaptation methods on two real hospitals: CORAL, optimal transport and reweighting through skada.

python -m benchmarks.sepsis_adaptation [--splits N] [--csv FILE] [--toy]

Needs skada (`pip install skada`) and the Challenge 2019 data (`DAMS_SEPSIS_DIR`). Linear predictors of every method are
fitted on the cells of `make sepsis`: the shift from one hospital to the other as it is (label sepsis), and recording
patterns that were transplanted (labels Xβ). `mean` and `max` are of the target's MSE/Var(Y) over splits. The other
methods are told which rows are of which domain, and nothing of zeros: they align or weigh the rows as they are.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from benchmarks.toy import read_arguments
from dams.datasets import load_sepsis
from dams.datasets.sepsis.patients import SepsisTable
from dams.datasets.sepsis.ranges import FLAGS, MEASUREMENTS
from dams.experiments.sepsis.cells import HospitalCell, linear_labels, masked_cell, natural_cell
from dams.experiments.sepsis.masks import with_labels
from dams.experiments.sepsis.methods import METHODS

OURS = ("oracle", "source", "closed_form", "nonparametric")
OTHERS = ("CORAL", "LinearOTMapping", "GaussianReweight", "DiscriminatorReweight")
SEED = 2023


def made_hospitals(n: int) -> SepsisTable:
    """Two hospitals that are made up, for --toy."""
    rng = np.random.default_rng(0)
    hospital, severity = np.repeat(["A", "B"], n), rng.normal(size=2 * n)
    recorded = pd.DataFrame(
        {
            name: rng.random(2 * n) < np.where(hospital == "A", 0.9, 0.4 + k % 2 / 2)
            for k, name in enumerate(MEASUREMENTS)
        }
    )
    found = {flag: (severity + rng.normal(size=2 * n) > 0) * recorded[name] for flag, name in FLAGS.items()}
    about = pd.DataFrame({"hospital": hospital, "age": rng.normal(6, 1, 2 * n), "female": rng.integers(0, 2, 2 * n)})
    X = pd.concat([about[["age", "female"]], pd.DataFrame(found)], axis=1).astype(float)
    return SepsisTable(X, pd.Series((severity > 1.5).astype(int)), recorded, about, pd.DataFrame())


def through_skada(name: str) -> Callable[[HospitalCell], np.ndarray]:
    """Return the predictor of one of skada's methods."""
    import skada

    def predict(cell: HospitalCell) -> np.ndarray:
        adapter = getattr(skada, f"{name}Adapter")()
        weighted = LinearRegression().set_fit_request(sample_weight=True)
        pipeline = skada.make_da_pipeline(adapter, weighted if "Reweight" in name else LinearRegression())
        X = np.vstack([cell.source.X, cell.target.X])
        # Labels of the target are hidden; domains are 1 and −2, by skada's convention.
        y = np.concatenate([cell.source.y, np.full(len(cell.target.y), np.nan)])
        domain = np.repeat([1, -2], [len(cell.source.y), len(cell.target.y)])
        pipeline.fit(X, y, sample_domain=domain)
        test = cell.test.X.to_numpy()
        return pipeline.predict(test, sample_domain=np.full(len(test), -2))

    return predict


def cells(table: SepsisTable, splits: int) -> Iterator[tuple[dict[str, Any], HospitalCell]]:
    for source, target in permutations("AB", 2):
        about = {"shift": "natural", "where": f"{source} to {target}", "split": 0}
        yield about, natural_cell(table, source, target, seed=SEED)
    for hospital, gets, split in product("AB", ("target", "source"), range(splits)):
        labels = linear_labels(table.at(hospital), seed=SEED, hospital=hospital, split=split)
        about = {"shift": "transplanted", "where": f"patients of {hospital}, the {gets} loses", "split": split}
        cell = masked_cell(table, hospital, "transplanted", gets, split, seed=SEED)
        yield about, with_labels(cell, labels)


def measure(table: SepsisTable, splits: int) -> pd.DataFrame:
    predictors: dict[str, Callable[[HospitalCell], np.ndarray]] = {
        name: lambda cell, name=name: METHODS[name].predict(cell, LinearRegression()).values for name in OURS
    }
    if find_spec("skada") is not None:
        predictors |= {name: through_skada(name) for name in OTHERS}
    rows = []
    for about, cell in cells(table, splits):
        for name, predict in predictors.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                error = np.mean((predict(cell) - cell.test.y) ** 2)
            rows.append(about | {"method": name, "score": error / cell.test.y.var()})
    keys = ["shift", "where", "method"]
    return pd.DataFrame(rows).groupby(keys, sort=False)["score"].agg(["mean", "max", "count"]).reset_index()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    arguments = read_arguments(parser, argv, csv="where the scores go", splits=1)
    table = made_hospitals(400) if arguments.toy else load_sepsis()
    found = measure(table, arguments.splits)
    print(found.round(3).to_string(index=False))
    if find_spec("skada") is None:
        print("Without the other methods: skada is not installed (pip install skada).")
    if arguments.csv:
        found.round(6).to_csv(arguments.csv, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
