"""The eICU experiment: linear predictors of death in hospital, trained in one hospital and used in another.

Every method is tested on one and the same fold of target patients, who took part in no fit and in no estimate of the
relative missingness. `dams.experiments.eicu.as_published` repeats the protocol of the released notebook.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from dams.datasets.eicu.feature_table import FeatureTable
from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.filling import two_way_draws
from dams.experiments.describe import describe_relative_missingness
from dams.experiments.eicu.scores import Predicted, score_predictions
from dams.experiments.seeding import generator
from dams.least_squares import LinearFit, least_squares
from dams.missingness import delete_at_random
from dams.moments import Moments
from dams.relative import estimate_relative_missingness

Array = np.ndarray
logger = logging.getLogger(__name__)

PAPERS_METHODS = ("oracle", "source", "imputed", "closed_form", "nonparametric")

TEST_FOLDS = 5  # one of which is the test


def hospital_label(table: FeatureTable, hospital: int) -> str:
    """Name a hospital as the paper does: H1, H2."""
    return f"H{table.hospitals.index(hospital) + 1}"


def describe_hospitals(table: FeatureTable) -> dict[str, dict[str, float]]:
    """Stays and share of deaths of every hospital, by its label."""
    parts = {hospital_label(table, hospital): table.at(hospital).y for hospital in table.hospitals}
    return {name: {"stays": len(y), "mortality": float(y.mean())} for name, y in parts.items()}


def run_eicu(
    table: FeatureTable,
    *,
    methods: Sequence[str] = PAPERS_METHODS,
    replicates: int = 2000,
    confidence: float = 0.95,
    random_state: int = 0,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Score every method in every direction between the hospitals of the table.

    Parameters
    ----------
    table : FeatureTable
    methods : sequence of str
        Keys of `PREDICTORS`. `two_way`, this project's own, takes a minute a direction on 500 features.
    replicates : int
        Resamples of the test patients behind each interval.
    confidence : float
    random_state : int
    n_jobs : int
        Processes, of which each takes a target hospital; the results are the same.

    Returns
    -------
    DataFrame with the columns `COLUMNS`; the oracle's source is the target itself.
    """
    predicted = predict_hospitals(table, methods=methods, random_state=random_state, n_jobs=n_jobs)
    return score_predictions(predicted, replicates=replicates, confidence=confidence, random_state=random_state)


def predict_hospitals(
    table: FeatureTable, *, methods: Sequence[str] = PAPERS_METHODS, random_state: int = 0, n_jobs: int = 1
) -> list[Predicted]:
    """Fit every method in every direction and predict the test patients; see `run_eicu`."""
    run = delayed(_predict_target)
    parts = Parallel(n_jobs=n_jobs)(run(table, target, methods, random_state) for target in table.hospitals)
    return [predicted for part in parts for predicted in part]


def _predict_target(table: FeatureTable, target: int, methods: Sequence[str], random_state: int) -> list[Predicted]:
    """Predict the test patients of one hospital by every method. A fit that fails is a result too."""
    found = []
    # Threads belong to the scheduler, and sums in another order would be other digits.
    with threadpool_limits(1):
        train, test = split_by_patient(table.at(target), generator(random_state, "eicu", "split", target))
        for method, source in _comparisons(table, target, methods):
            known = train if method == "oracle" else _without(table.at(source), test.groups)
            rng = generator(random_state, "eicu", method, source, target)
            prediction, failure = None, ""
            try:
                prediction = PREDICTORS[method](known, train, test, rng)
                if not np.isfinite(prediction).all():
                    prediction, failure = None, "Predictions must be finite: the fit has no stable solution."
            except (ValueError, np.linalg.LinAlgError) as error:
                failure = str(error)
            names = (hospital_label(table, source), hospital_label(table, target))
            found.append(Predicted(method, *names, test.y, test.groups, prediction, failure))
    return found


def _comparisons(table: FeatureTable, target: int, methods: Sequence[str]) -> list[tuple[str, int]]:
    """Methods and the hospitals they learn from: the oracle from the target, each other one from every other."""
    others = [hospital for hospital in table.hospitals if hospital != target]
    adapted = [method for method in methods if method != "oracle"]
    oracle = [("oracle", target)] if "oracle" in methods else []
    return [*oracle, *((method, source) for source in others for method in adapted)]


def _without(table: FeatureTable, patients: Array) -> FeatureTable:
    """Leave out stays of these patients, who may have been in several hospitals."""
    return table.take(np.flatnonzero(~np.isin(table.groups, patients)))


def split_by_patient(table: FeatureTable, rng: np.random.Generator) -> tuple[FeatureTable, FeatureTable]:
    """Split into train and test, a fifth of the rows: no patient on both sides, the same share of deaths on each."""
    folds = StratifiedGroupKFold(TEST_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    train, test = next(folds.split(table.X, table.y, table.groups))
    return table.take(train), table.take(test)


def fit_linear(table: FeatureTable, what: str) -> LinearFit:
    """Least squares on a hospital's own labels.

    One-hot groups such as gender add up to the intercept's ones, so the solution is not unique: directions without
    variance are left out instead of divided by rounding noise.
    """
    fit = least_squares(Moments.of(table.X, table.y[:, None].astype(float)))
    logger.info("%s: rank %d of %d, condition %.3g", what, fit.rank, len(table.names), fit.condition)
    return fit


def predict(fit: LinearFit, table: FeatureTable) -> Array:
    """Predictions of shape (n,)."""
    return table.X @ fit.coef[:, 0] + fit.intercept[0]


def _oracle(source: FeatureTable, train: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    return predict(fit_linear(train, "oracle"), test)


def _source(source: FeatureTable, train: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    return predict(fit_linear(source, "source"), test)


def _imputed(source: FeatureTable, train: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    """Impute every zero, which on 0/1 data leaves nothing to learn from.

    With zeros missing, the observed values of a column are all 1, so any forest fills in 1 everywhere; on constant
    columns the best predictor is the mean label. No forest need be grown to know it.
    """
    return np.full(len(test.y), source.y.mean())


def _closed_form(source: FeatureTable, train: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    model = ClosedFormRegressor(gram="target").fit(source.X, source.y.astype(float), X_target=train.X)
    logger.info(
        "closed form: rank %d of %d, condition %.3g, weight of the target's Gram matrix %g, trust in negative r %g",
        *(model.rank_, len(source.names), model.condition_, model.weight_, model.shrinkage_),
    )
    return model.predict(test.X)


def _nonparametric(source: FeatureTable, train: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    return predict(fit_linear(filter_to_target(source, train, rng), "non-parametric"), test)


def _two_way(source: FeatureTable, train: FeatureTable, test: FeatureTable, rng: np.random.Generator) -> Array:
    """Average the predictions of one linear model per draw."""
    relative, y = estimate_relative_missingness(source.X, train.X), source.y.astype(float)
    draws = two_way_draws(source.X.toarray().astype(float), y, relative, random_state=rng)
    return np.mean([predict(least_squares(Moments.of(X, y[:, None])), test) for X in draws], axis=0)


def filter_to_target(source: FeatureTable, target: FeatureTable, rng: np.random.Generator) -> FeatureTable:
    """Delete source values until the source loses as much as the target (algorithm 1)."""
    relative = estimate_relative_missingness(source.X, target.X)
    return source.with_values(delete_at_random(source.X, relative.filter_rates, rng))


PREDICTORS: dict[str, Callable[[FeatureTable, FeatureTable, FeatureTable, np.random.Generator], Array]] = {
    "oracle": _oracle,
    "source": _source,
    "imputed": _imputed,
    "closed_form": _closed_form,
    "nonparametric": _nonparametric,
    "two_way": _two_way,
}


def oracle_coefficients(table: FeatureTable) -> pd.DataFrame:
    """Coefficients of each hospital's own predictor beside the prevalences: β_1, β_2, q_1, q_2 and q_2/q_1 = 1 − r.

    One row per feature, of the first two hospitals; fitted on all their stays.
    """
    first, second = (table.at(hospital) for hospital in table.hospitals[:2])
    q_1, q_2 = table.prevalence()[:2]
    return pd.DataFrame(
        {
            "beta_1": fit_linear(first, "oracle of H1").coef[:, 0],
            "beta_2": fit_linear(second, "oracle of H2").coef[:, 0],
            "q_1": q_1,
            "q_2": q_2,
            "ratio": q_2 / q_1,
        },
        index=pd.Index(table.names, name="feature"),
    )


def top_features(coefficients: pd.DataFrame, count: int = 5) -> pd.DataFrame:
    """Rows with the largest |β| of either oracle, `count` of each, in the order of the table."""
    chosen = np.zeros(len(coefficients), dtype=bool)
    for column in ("beta_1", "beta_2"):
        chosen[np.argsort(-coefficients[column].abs().to_numpy(), kind="stable")[:count]] = True
    return coefficients[chosen]


def relative_missingness(table: FeatureTable, *, confidence: float = 0.95) -> pd.DataFrame:
    """Estimate r between every ordered pair of hospitals, one row per pair and feature.

    Columns: source, target, feature, r, lower, upper, q_source, q_target, excludes_zero.
    """
    frames = []
    for source, target in permutations(table.hospitals, 2):
        estimate = estimate_relative_missingness(table.at(source).X, table.at(target).X, confidence=confidence)
        frame = estimate.to_frame()[["r", "lower", "upper", "q_source", "q_target"]].reset_index(drop=True)
        frame.insert(0, "feature", table.names)
        frame.insert(0, "target", hospital_label(table, target))
        frame.insert(0, "source", hospital_label(table, source))
        frames.append(frame.assign(excludes_zero=(frame["lower"] > 0) | (frame["upper"] < 0)))
    return pd.concat(frames, ignore_index=True)


def summarise_relative_missingness(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per pair: what `describe_relative_missingness` says of its features."""
    pairs = frame.groupby(["source", "target"], sort=False)
    rows = [{"source": s, "target": t, **describe_relative_missingness(features)} for (s, t), features in pairs]
    return pd.DataFrame(rows)
