"""Predictors that `dams adapt` chooses from: the source's own, and those that are adapted to the target.

model       not adapted                      adapted
linear      least squares                    the closed form
logistic    logistic regression              filtered; two-way, where the target records something better
boosting    histogram gradient boosting      filtered; two-way, where the target records something better
auto        linear (for two classes logistic) and boosting with all of theirs
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from dams.estimators import ClosedFormRegressor, FilteredEstimator, TwoWayEstimator
from dams.relative import RelativeMissingness

Kind = Literal["linear", "logistic", "boosting", "auto"]
Array = np.ndarray
# Models, each on rows adjusted anew, whose predictions are averaged.
N_DRAWS = 5
SOURCE = "source"


class ScaledLogisticRegression(LogisticRegression):
    """Logistic regression with a penalty that does not depend on the columns' units; `coef_` is in these units.

    Columns are divided by their standard deviation and not centred, so that zeros stay zeros.
    """

    coef_: Array

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScaledLogisticRegression:
        """Fit as scikit-learn does."""
        values = np.asarray(X, dtype=float)
        spread = values.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        names = list(X.columns) if hasattr(X, "columns") else None
        scaled = pd.DataFrame(values / scale, columns=names) if names else values / scale
        super().fit(scaled, y, sample_weight)
        self.coef_ = self.coef_ / scale
        return self


@dataclass(frozen=True)
class Known:
    """Structure of columns and rows that is known, as estimators and `target_risk` take it."""

    always_recorded: list[str]
    column_groups: list[list[str]]
    anchors: list[str]
    groups: Any = None
    groups_target: Any = None

    @property
    def columns(self) -> dict[str, Any]:
        """Structure of the columns that is known, without anchors."""
        return {"always_recorded": self.always_recorded, "column_groups": self.column_groups}

    @property
    def structure(self) -> dict[str, Any]:
        """All of it, as `check_ucar` takes it."""
        rows = {"groups": self.groups, "groups_target": self.groups_target}
        return {**self.columns, "anchors": self.anchors or None, **rows}

    def of_rows(self, rows: Array) -> Any:
        """Ids of some source rows."""
        return None if self.groups is None else np.asarray(self.groups)[rows]


def families(kind: Kind, *, classes: bool) -> list[str]:
    """Return the kinds of model behind a name; raise where labels and name do not go together."""
    if kind == "auto":
        return ["logistic" if classes else "linear", "boosting"]
    if kind == "logistic" and not classes:
        raise ValueError(
            "A logistic model needs a label with two values, such as 0 and 1 or yes and no: take linear or boosting."
        )
    if kind not in ("linear", "logistic", "boosting"):
        raise ValueError(f"model must be 'linear', 'logistic', 'boosting' or 'auto', got {kind!r}.")
    return [kind]


def make_candidates(
    kinds: list[str], known: Known, relative: RelativeMissingness, *, classes: bool, seed: int
) -> dict[str, Any]:
    """Return unfitted estimators by name, `kind source` first of each kind."""
    shared: dict[str, Any] = {**known.columns, "anchors": known.anchors or None}
    drawn = {**shared, "n_draws": N_DRAWS, "random_state": seed}
    found: dict[str, Any] = {}
    for kind in kinds:
        base = _base(kind, classes=classes, seed=seed)
        found[f"{kind} {SOURCE}"] = base
        if kind == "linear":
            found[f"{kind} closed form"] = ClosedFormRegressor(**shared)
            continue
        found[f"{kind} filtered"] = FilteredEstimator(clone(base), **drawn)
        if relative.improper.any():
            found[f"{kind} two-way"] = TwoWayEstimator(clone(base), **drawn)
    return found


def _base(kind: str, *, classes: bool, seed: int) -> Any:
    if kind == "linear":
        return LinearRegression()
    if kind == "logistic":
        return ScaledLogisticRegression(max_iter=1000)
    return (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(random_state=seed)


def fit_candidate(model: Any, X: Any, y: Array, X_target: Any, groups: Any, groups_target: Any) -> Any:
    """Fit a clone on labelled source rows, adapted ones with the target's."""
    fresh = clone(model)
    with warnings.catch_warnings():
        # That a filter can't follow where the target records better is what the choice is about.
        warnings.filterwarnings("ignore", message="The target records .* better than the source")
        if isinstance(fresh, ClosedFormRegressor | FilteredEstimator | TwoWayEstimator):
            return fresh.fit(X, y, X_target=X_target, groups=groups, groups_target=groups_target)
        return fresh.fit(X, y)
