"""Every predictor of the two hospitals' study: from a cell to predictions for its test patients.

To add one: a function, and a line in METHODS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dams.datasets.sepsis.patients import ALWAYS_RECORDED
from dams.diagnostics import check_ucar
from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.filtered import FilteredEstimator
from dams.estimators.two_way import TwoWayEstimator
from dams.experiments.sepsis.cells import HospitalCell, Prediction, Predictor, Rows
from dams.experiments.sepsis.other_methods import ADAPTERS, through_skada
from dams.risk import TargetRiskComparison, compare_target_risk

Array = np.ndarray

# Target patients whose labels are known to the method of few labels.
FEW_LABELS = 500
_SEED = 0


def _logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _boosted() -> Any:
    # Few patients have sepsis: shallow trees, slowly, and no split of the rows that would cost some of them.
    return HistGradientBoostingClassifier(
        max_leaf_nodes=8, learning_rate=0.05, max_iter=150, early_stopping=False, random_state=_SEED
    )


MODELS: dict[str, Callable[[], Any]] = {"linear": LinearRegression, "logistic": _logistic, "boosted": _boosted}


@dataclass(frozen=True)
class Method:
    """A predictor, its title, the models it can be used with, and whether it uses target labels or known losses."""

    title: str
    predict: Predictor
    models: tuple[str, ...] = field(default=tuple(MODELS))
    needs: str = ""


def _risk(model: Any, X: Any) -> Array:
    """Predicted probability of a classifier, predicted value of a regressor."""
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)


def _fit(model: Any, rows: Rows, test: Any) -> Prediction:
    return Prediction(_risk(model.fit(rows.X, rows.y), test))


def _oracle(cell: HospitalCell, model: Any) -> Prediction:
    return _fit(model, cell.target, cell.test.X)


def _source(cell: HospitalCell, model: Any) -> Prediction:
    return _fit(model, cell.source, cell.test.X)


def _few_labels(cell: HospitalCell, model: Any) -> Prediction:
    """Learn from the first few target patients alone; their order is random with respect to their labels."""
    return _fit(model, cell.target.take(_first_few(cell)), cell.test.X)


def _first_few(cell: HospitalCell) -> Array:
    return np.random.default_rng(_SEED).permutation(len(cell.target.y))[:FEW_LABELS]


def _nonparametric(cell: HospitalCell, model: Any) -> Prediction:
    wrapped = FilteredEstimator(model, always_recorded=ALWAYS_RECORDED, random_state=_SEED)
    wrapped.fit(cell.source.X, cell.source.y, X_target=cell.target.X)
    return Prediction(_risk(wrapped, cell.test.X), wrapped.choice_)


def _two_way(groups: str | None = None) -> Predictor:
    """Return the two-way adjustment; `groups` names the cell's property with columns that are lost together."""

    def predict(cell: HospitalCell, model: Any) -> Prediction:
        together = getattr(cell, groups) if groups else None
        wrapped = TwoWayEstimator(model, always_recorded=ALWAYS_RECORDED, column_groups=together, random_state=_SEED)
        wrapped.fit(cell.source.X, cell.source.y, X_target=cell.target.X)
        return Prediction(_risk(wrapped, cell.test.X), wrapped.choice_)

    return predict


def _closed_form(groups: str | None = None, **options: Any) -> Predictor:
    """Return the closed form with these options; `groups` as in `_two_way`."""

    def predict(cell: HospitalCell, model: Any) -> Prediction:
        together = getattr(cell, groups) if groups else None
        fit = ClosedFormRegressor(always_recorded=ALWAYS_RECORDED, column_groups=together, **options)
        fit.fit(cell.source.X, cell.source.y, X_target=cell.target.X)
        return Prediction(fit.predict(cell.test.X), _choice(fit))

    return predict


def _choice(fit: ClosedFormRegressor) -> str:
    return f"{fit.choice_}, weight {fit.weight_:g}, ridge {fit.ridge_:g}"


def _anchored(cell: HospitalCell, model: Any) -> Prediction:
    """Let loss and population depend on what both places always know; unit and hours become columns like any other."""
    source, target, test = (rows.X.assign(**_anchors(rows)) for rows in (cell.source, cell.target, cell.test))
    anchors = [*ALWAYS_RECORDED, *_anchors(cell.source)]
    fit = ClosedFormRegressor(anchors=anchors).fit(source, cell.source.y, X_target=target)
    return Prediction(fit.predict(test), _choice(fit))


def _anchors(rows: Rows) -> dict[str, Array]:
    units = {f"unit_{unit}": (rows.about["unit"] == unit).to_numpy(float) for unit in ("medical", "surgical")}
    return units | {"hours": rows.about["hours"].to_numpy(float)}


def _corrected(cell: HospitalCell, model: Any) -> Prediction:
    """Give the closed form the labels of a few target patients, the same as those of `_few_labels`."""
    known = np.full(len(cell.target.y), np.nan)
    known[_first_few(cell)] = cell.target.y[_first_few(cell)]
    fit = ClosedFormRegressor(always_recorded=ALWAYS_RECORDED)
    fit.fit(cell.source.X, cell.source.y, X_target=cell.target.X, y_target=known)
    return Prediction(fit.predict(cell.test.X), f"{_choice(fit)}; p = {fit.label_check_.p_value:.2g}")


def candidates(model: Any) -> dict[str, Any]:
    """Return what README names for a model, unfitted, by the keys of `METHODS`: what the package may choose from."""
    found = {
        "source": clone(model),
        "nonparametric": FilteredEstimator(model, always_recorded=ALWAYS_RECORDED, random_state=_SEED),
        "two_way": TwoWayEstimator(model, always_recorded=ALWAYS_RECORDED, random_state=_SEED),
    }
    if is_regressor(model):
        found["closed_form"] = ClosedFormRegressor(always_recorded=ALWAYS_RECORDED)
    return found


def compare_candidates(cell: HospitalCell, model: Any) -> TargetRiskComparison:
    """Compare the candidates by `compare_target_risk`, fitted and judged by turns on thirds of the source patients."""
    return compare_target_risk(
        candidates(model),
        cell.source.X,
        cell.source.y,
        cell.target.X,
        cv=3,
        always_recorded=ALWAYS_RECORDED,
        random_state=_SEED,
    )


def _advised(cell: HospitalCell, model: Any) -> Prediction:
    """Follow the package: keep the source predictor where `check_ucar` finds another population, else ask the risk.

    (1 − r) ⊙ E[X̃^sᵀY] and the target's rows, of which the risk of a linear predictor is made, need one P(X, Y) and
    losses that do not depend on it; whether columns are lost together does not matter. So a rejection that the loss of
    panels explains is no reason to leave the predictor as it is; one that goes with another population is.
    """
    report = check_ucar(
        cell.source.X,
        cell.target.X,
        always_recorded=ALWAYS_RECORDED,
        column_groups=cell.column_groups,
        random_state=_SEED,
    )
    if report.rejected and report.population_differs:
        return Prediction(
            _source(cell, model).values, f"source, as populations differ in {', '.join(report.population_differs)}"
        )
    choice = compare_candidates(cell, model).choice
    return Prediction(METHODS[choice].predict(cell, model).values, choice)


def _with_losses(rows: Rows) -> pd.DataFrame:
    """Flags beside whether each was recorded: what a model knows that sees the NaNs."""
    recorded = pd.DataFrame(rows.recorded, columns=[f"{flag}_recorded" for flag in rows.flags], index=rows.X.index)
    # Flags of one measurement are recorded together, so one indicator would do; least squares takes either.
    return pd.concat([rows.X, recorded.astype(float)], axis=1)


def _sees_losses(cell: HospitalCell, model: Any) -> Prediction:
    return Prediction(_risk(model.fit(_with_losses(cell.source), cell.source.y), _with_losses(cell.test)))


def _imputed(cell: HospitalCell, model: Any) -> Prediction:
    """Put the mean of the source's recorded values where the losses are known to be, on both sides."""
    values = cell.source.X[cell.source.flags].to_numpy()
    mean = values.sum(axis=0) / np.maximum(cell.source.recorded.sum(axis=0), 1)
    filled = []
    for rows in (cell.source, cell.test):
        X = rows.X.copy()
        X[rows.flags] = np.where(rows.recorded, X[rows.flags], mean)
        filled.append(X)
    return Prediction(_risk(model.fit(filled[0], cell.source.y), filled[1]))


_LINEAR = ("linear",)
METHODS: dict[str, Method] = {
    "oracle": Method("Oracle", _oracle, needs="target labels"),
    "source": Method("Source", _source),
    "advised": Method("Chosen by target_risk", _advised),
    "closed_form": Method("Closed form", _closed_form(), _LINEAR),
    "closed_form_source": Method("Closed form, source Gram", _closed_form(gram="source"), _LINEAR),
    "closed_form_target": Method("Closed form, target Gram", _closed_form(gram="target"), _LINEAR),
    "closed_form_groups": Method("Closed form, flag pairs", _closed_form("column_groups"), _LINEAR),
    "closed_form_panels": Method("Closed form, panels", _closed_form("panels"), _LINEAR),
    "anchored": Method("Closed form, anchored", _anchored, _LINEAR),
    "nonparametric": Method("Non-parametric", _nonparametric),
    "two_way": Method("Two-way", _two_way()),
    "two_way_panels": Method("Two-way, panels", _two_way("panels")),
    **{name: Method(title, through_skada(adapter), _LINEAR) for name, (title, adapter) in ADAPTERS.items()},
    "corrected": Method(f"Closed form, {FEW_LABELS} labels", _corrected, _LINEAR, needs="target labels"),
    "few_labels": Method(f"{FEW_LABELS} target patients", _few_labels, needs="target labels"),
    "imputed": Method("Mean imputation", _imputed, needs="known losses"),
    "sees_losses": Method("Source with indicators", _sees_losses, needs="known losses"),
}
