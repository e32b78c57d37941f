"""Run the cells of the study: true scores of every method, and what could be known without the target's labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from dams.diagnostics import check_ucar
from dams.experiments.beyond.cells import Population, ShiftCell, shift_cell
from dams.experiments.beyond.methods import METHODS, import_skada
from dams.experiments.beyond.names import strengths_of
from dams.risk import compare_target_risk

Array = np.ndarray

KEYS = ["dataset", "mechanism", "strength", "draw"]
# What target_risk says of a model, over the target's Var(Y) like `score`: without anchors, and with age as the anchor.
ESTIMATES = ["estimate", "standard_error", "estimate_given_age", "standard_error_given_age"]
# One row per cell and method; a row without a score says in `failure` why.
SCORE_COLUMNS = [*KEYS, "method", "score", "score_error", *ESTIMATES, "failure"]
# One row per cell: what the diagnostics say of it, and what following them leads to.
CHECK_COLUMNS = [
    *KEYS,
    *("p_value", "p_given_age", "population_differs"),
    *("risk_method", "choice", "risk_method_given_age", "choice_given_age", "advised"),
]
# Models that target_risk chooses from; where it is given anchors, the closed form with anchors is among them.
JUDGED = ("source", "filter", "two_way", "closed_form")
JUDGED_GIVEN_AGE = (*JUDGED, "anchored")
# Bootstrap draws of check_ucar, enough for a verdict at .05.
BOOTSTRAP = 200
LEVEL = 0.05


def run_draw(
    population: Population,
    dataset: str,
    draw: int,
    *,
    mechanisms: Sequence[str],
    strengths: Sequence[float],
    rows: int,
    others: bool = True,
    seed: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score every method in every cell of one draw of rates and β, and ask the diagnostics of each cell.

    Parameters
    ----------
    population : Population
    dataset, draw : str, int
        Its name and the number of the draw, which decide the random numbers.
    mechanisms, strengths, rows
        As in a configuration.
    others : bool
        Whether to compare with the methods of skada.

    Returns
    -------
    Scores with the columns `SCORE_COLUMNS`, and checks with the columns `CHECK_COLUMNS`.
    """
    wanted = [name for name, method in METHODS.items() if others or not method.skada]
    if others:
        # A package that is missing is missed before anything is computed.
        import_skada()
    scores, checks = [], []
    for mechanism in mechanisms:
        for strength in strengths_of(mechanism, list(strengths)):
            scored, checked = _run_cell(population, (dataset, mechanism, strength, draw), wanted, rows, seed)
            scores += scored
            checks.append(checked)
    return pd.DataFrame(scores, columns=SCORE_COLUMNS), pd.DataFrame(checks, columns=CHECK_COLUMNS)


def _run_cell(
    population: Population, design: tuple[str, str, float, int], methods: Sequence[str], rows: int, seed: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    dataset, mechanism, strength, draw = design
    about: dict[str, Any] = dict(zip(KEYS, design, strict=True))
    # Threads belong to the scheduler, and sums in another order would be other digits. What estimators warn of is the
    # point of the study.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = shift_cell(population, mechanism, strength, dataset=dataset, draw=draw, rows=rows, seed=seed)
        scores, models = [], {}
        for name, model, scored in _fit_all(cell, methods):
            models[name] = model
            scores.append(about | {"method": name} | scored)
        judged = {name: models[name] for name in JUDGED_GIVEN_AGE if models[name] is not None}
        checks = _diagnose(cell, judged)
    estimates = checks.pop("estimates")
    for row in scores:
        row |= estimates.get(row["method"], {})
    return scores, about | checks


def _fit_all(cell: ShiftCell, methods: Sequence[str]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Fit every method and score it on the target's test rows; where a fit fails there is a reason in place of both."""
    variance = cell.test.y.var()
    for name in methods:
        try:
            model = METHODS[name].fit(cell)
            losses = (model.predict(cell.test.X) - cell.test.y) ** 2 / variance
        except (ValueError, np.linalg.LinAlgError) as error:
            yield name, None, {"failure": str(error)}
            continue
        spread = losses.std() / np.sqrt(len(losses))
        yield name, model, {"score": losses.mean(), "score_error": spread, "failure": ""}


def _diagnose(cell: ShiftCell, models: dict[str, Any]) -> dict[str, Any]:
    """Ask check_ucar, with and without anchors, and compare_target_risk; none of them sees a label of the target."""
    tables = cell.source.X, cell.target.X
    options: dict[str, Any] = {
        "always_recorded": cell.always,
        "n_bootstrap": BOOTSTRAP,
        "alpha": LEVEL,
        "random_state": 0,
    }
    plain = check_ucar(*tables, **options)
    given = check_ucar(*tables, anchors=cell.anchors, **options)
    compared, compared_given = (
        compare_target_risk(
            {name: model for name, model in models.items() if name in among},
            cell.held_out.X,
            cell.held_out.y,
            cell.target.X,
            reference="source",
            always_recorded=cell.always,
            anchors=anchors,
            random_state=0,
        )
        for among, anchors in ((JUDGED, None), (JUDGED_GIVEN_AGE, cell.anchors))
    )
    differs = bool(plain.population_differs)
    numbers = pd.concat([found.table[["estimate", "standard_error"]] for found in (compared, compared_given)], axis=1)
    estimates = (numbers / cell.test.y.var()).set_axis(ESTIMATES, axis=1)
    return {
        "p_value": plain.p_value,
        "p_given_age": given.p_value,
        "population_differs": differs,
        "risk_method": compared.method,
        "choice": compared.choice,
        "risk_method_given_age": compared_given.method,
        "choice_given_age": compared_given.choice,
        "advised": advise(plain.rejected or differs, given.rejected, compared.choice, compared_given.choice),
        "estimates": {str(name): dict(row) for name, row in estimates.iterrows()},
    }


def advise(warns: bool, warns_given_age: bool, choice: str, choice_given_age: str) -> str:
    """Return the method that the diagnostics lead to, by the rule of the study.

    Where check_ucar finds nothing, what target_risk chooses. Where it rejects, or finds another population, and age
    explains what it found, what target_risk chooses given age. Otherwise the predictor is kept as it is.
    """
    if not warns:
        return choice
    return "source" if warns_given_age else choice_given_age
