"""Draws averaged, stacked or alone: what two-way and filter gain by several, the oracle given as many.

python -m benchmarks.draws [--classifiers] [--datasets NAME ...] [--draws N] [--betas N] [--csv FILE] [--toy]

`oracle` is one model of the labelled target rows, `oracle_bagged` the mean of three, each on a bootstrap of them, and
`oracle_masks` the mean of three on the same rows with their losses drawn anew, which nobody has but a simulation
(`oracle_masks_5`: of five, as many as the default of the two-way estimator).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from benchmarks.cells import REGIMES, SEED, target_again
from benchmarks.toy import TABLES, load_table, read_arguments
from dams.estimators._base import draw_streams
from dams.estimators.filling import two_way_draws
from dams.experiments.cells import Cell, Clean, build_cell, clean_table
from dams.experiments.design import CellKey, Label
from dams.experiments.models import Sample, xgboost
from dams.experiments.seeding import generator
from dams.missingness import delete_at_random

N_DRAWS = 5
# The first rate draw: those before it served to choose how π and donors are learned.
FIRST = 100
DATASETS = ("thyroid", "bank", "adult")
# Rate draws per data set: Thyroid is small, so more of them are needed, and take less time.
CELLS, MORE_CELLS = 4, {"thyroid": 20}
Predict = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def predict_xgboost(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    return xgboost.predict(Sample(X, y[:, None]), X_test)[:, 0]


def predict_hgb(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    return clone(HGB_REGRESSOR).fit(X, y).predict(X_test)


def probability(classifier: object) -> Predict:
    def predict(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
        return clone(classifier).fit(X, y).predict_proba(X_test)[:, 1]

    return predict


HGB_REGRESSOR = HistGradientBoostingRegressor(early_stopping=True, random_state=0)
REGRESSORS: dict[str, Predict] = {"xgboost": predict_xgboost, "hgb": predict_hgb}
HGB = HistGradientBoostingClassifier(early_stopping=True, random_state=0)
SHORT = HistGradientBoostingClassifier(max_iter=50, random_state=0)
CLASSIFIERS: dict[str, Predict] = {
    "early stopping": probability(HGB),
    "grid search": probability(
        GridSearchCV(SHORT, {"max_leaf_nodes": [4, 31], "learning_rate": [0.03, 0.2]}, cv=3, scoring="neg_log_loss")
    ),
    "calibration": probability(CalibratedClassifierCV(SHORT, cv=3)),
}


def build(dataset: str, regime: str, draw: int, betas: int) -> tuple[Cell, Clean]:
    epsilon, sampler = REGIMES[regime]
    key = CellKey(dataset, regime, epsilon, sampler, draw)
    labels = tuple(Label("random_linear", beta) for beta in range(betas))
    clean = clean_table(load_table(dataset), dataset, labels, seed=SEED)
    return build_cell(key, labels, clean, seed=SEED), clean


def arms(cell: Cell, clean: Clean, y: np.ndarray, y_target: np.ndarray) -> dict[str, list]:
    """Lists of (X, y) by name: a model is fitted on each, and the predictions are averaged."""
    source, target, relative = cell.source_train.X, cell.target_train.X, cell.relative_missingness
    rng = generator(SEED, "bootstrap", *cell.key.parts)
    masks = [(target_again(cell, clean, k), y_target) for k in range(N_DRAWS)]
    boots = [rng.integers(len(target), size=len(target)) for _ in range(3)]
    filtered = [(delete_at_random(source, relative.filter_rates, s), y) for s in draw_streams(1, N_DRAWS)[1]]
    found = {
        "source": [(source, y)],
        "oracle": [(target, y_target)],
        "oracle_bagged": [(target[rows], y_target[rows]) for rows in boots],
        "oracle_masks": masks[:3],
        "oracle_masks_5": masks,
        "filter_1": filtered[:1],
        "filter_3": filtered[:3],
        "filter_5": filtered,
    }
    if cell.key.regime == "free":
        draws = [(X, y) for X in two_way_draws(source, y, relative, n_draws=N_DRAWS, random_state=1)]
        stacked = np.vstack([X for X, _ in draws[:3]]), np.concatenate([y] * 3)
        found |= {"one": draws[:1], "stacked_3": [stacked], "mean_3": draws[:3], "mean_5": draws}
    return found


def mean_prediction(predict: Predict, trainings: list, X: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
    for rows, labels in trainings:
        if id(rows) not in known:
            known[id(rows)] = predict(rows, labels, X)
    return np.mean([known[id(rows)] for rows, _ in trainings], axis=0)


def regressions(cells: dict[str, int], betas: int) -> Iterator[dict[str, object]]:
    for dataset, draws in cells.items():
        for regime in ("free", "nested"):
            for draw in range(FIRST, FIRST + draws):
                cell, clean = build(dataset, regime, draw, betas)
                for beta in range(betas):
                    found = arms(cell, clean, cell.source_train.Y[:, beta], cell.target_train.Y[:, beta])
                    for model, predict in REGRESSORS.items():
                        known: dict[int, np.ndarray] = {}
                        for arm, trainings in found.items():
                            error = mean_prediction(predict, trainings, cell.target_test.X, known)
                            error = np.mean((error - cell.target_test.Y[:, beta]) ** 2) / cell.var_y[beta]
                            where = {"dataset": dataset, "regime": regime, "draw": draw, "beta": beta}
                            yield where | {"model": model, "arm": arm, "score": error}


def calibration_slope(y: np.ndarray, p: np.ndarray) -> float:
    """Slope of the logistic regression of the label on the logit of its probability: 1 where it is calibrated."""
    z = logit(np.clip(p, 1e-4, 1 - 1e-4))[:, None]
    return float(LogisticRegression(C=1e6).fit(z, y).coef_[0, 0])


def classifications(cells: dict[str, int]) -> Iterator[dict[str, object]]:
    """Labels that are Bernoulli(expit(2 z)), z the standardised Xβ."""
    for dataset, draws in cells.items():
        for draw in range(FIRST, FIRST + draws):
            cell, clean = build(dataset, "free", draw, 1)
            rng = generator(SEED, "classes", *cell.key.parts)
            centre, spread = clean.Y[:, 0].mean(), clean.Y[:, 0].std()
            y, y_target, y_test = (
                (rng.random(len(part.Y)) < expit(2 * (part.Y[:, 0] - centre) / spread)).astype(int)
                for part in (cell.source_train, cell.target_train, cell.target_test)
            )
            found = arms(cell, clean, y, y_target)
            for model, predict in CLASSIFIERS.items():
                known: dict[int, np.ndarray] = {}
                for arm in ("source", "oracle", "oracle_masks_5", "one", "stacked_3", "mean_3", "mean_5"):
                    p = mean_prediction(predict, found[arm], cell.target_test.X, known)
                    yield {
                        "dataset": dataset,
                        "draw": draw,
                        "model": model,
                        "arm": arm,
                        "brier": brier_score_loss(y_test, p),
                        "log_loss": log_loss(y_test, p),
                        "auroc": roc_auc_score(y_test, p),
                        "slope": calibration_slope(y_test, p),
                    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.draws", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=TABLES, default=list(DATASETS), metavar="NAME")
    parser.add_argument("--draws", type=int, help=f"rate draws per data set ({CELLS}; thyroid {MORE_CELLS['thyroid']})")
    parser.add_argument("--betas", type=int, default=2, help="label vectors per draw")
    parser.add_argument("--classifiers", action="store_true", help="bases that split their rows, instead")
    toy = {"datasets": ["diabetes"], "draws": 1, "betas": 1}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    cells = {name: arguments.draws or MORE_CELLS.get(name, CELLS) for name in arguments.datasets}
    with threadpool_limits(1):
        if arguments.classifiers:
            table = pd.DataFrame(classifications(cells))
            keys, measures = ["dataset", "model", "arm"], ["brier", "log_loss", "auroc", "slope"]
        else:
            table = pd.DataFrame(regressions(cells, arguments.betas))
            keys, measures = ["dataset", "regime", "model", "arm"], ["score"]
    summary = table.groupby(keys, sort=False)[measures].mean().reset_index()
    summary["cells"] = table.groupby(keys, sort=False).size().to_numpy()
    if arguments.csv:
        summary.to_csv(arguments.csv, index=False, float_format="%.4f")
    print(summary.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
