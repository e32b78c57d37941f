"""Candidates fitted on some source rows and judged on others by their expected risk in the target."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from dams._risk_losses import resolve_loss
from dams._risk_results import TargetRiskComparison
from dams.risk import compare_target_risk
from dams.sensitivity import Sensitivity, check_sensitivity
from dams.two_files.candidates import SOURCE, Known, fit_candidate

logger = logging.getLogger(__name__)

Array = np.ndarray
# Share of the source rows that candidates are judged on, and labelled rows below which they are cross-fitted instead.
HELD_OUT, CROSS_FIT_BELOW, N_FOLDS = 1 / 3, 1000, 5


@dataclass(frozen=True, eq=False)
class Judged:
    """Candidates that were judged on source rows that they were not fitted on; of cross-fitted ones none is kept."""

    comparison: TargetRiskComparison
    candidates: dict[str, Any]
    models: dict[str, Any]
    train: Array
    rows: Array
    tables: tuple[pd.DataFrame, Array, pd.DataFrame]
    known: Known

    @classmethod
    def of(
        cls,
        candidates: dict[str, Any],
        X: pd.DataFrame,
        y: Array,
        X_target: pd.DataFrame,
        known: Known,
        *,
        confidence: float,
        seed: int,
    ) -> Judged:
        """Judge unfitted candidates on a third of the rows, or on all of them in turn."""
        splitter = ShuffleSplit if known.groups is None else GroupShuffleSplit
        train, held = next(splitter(1, test_size=HELD_OUT, random_state=seed).split(X, y, known.groups))
        ids = known.of_rows(train)
        reference = _reference(candidates, X.iloc[train], y[train], X.iloc[held], y[held])
        options: dict[str, Any] = {
            **known.columns,
            "anchors": known.anchors or None,
            "groups_target": known.groups_target,
            "random_state": seed,
        }
        options |= {"confidence": confidence, "reference": reference}
        tables = X, y, X_target
        if len(X) < CROSS_FIT_BELOW:
            logger.info("Comparing %d candidates over %d folds of %s rows", len(candidates), N_FOLDS, f"{len(X):,}")
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The target records .* better than the source")
                compared = compare_target_risk(candidates, *tables, cv=N_FOLDS, groups=known.groups, **options)
            return cls(compared, candidates, {}, train, held, tables, known)
        models = {}
        for name, model in candidates.items():
            logger.info("Fitting '%s' on %s rows, to be judged on the others", name, f"{len(train):,}")
            models[name] = fit_candidate(model, X.iloc[train], y[train], X_target, ids, known.groups_target)
        logger.info("Estimating what each of them would lose in the target")
        held_rows = X.iloc[held].reset_index(drop=True), y[held], X_target
        compared = compare_target_risk(models, *held_rows, groups=known.of_rows(held), **options)
        return cls(compared, candidates, models, train, held, tables, known)

    def sensitivity(self, rival: str) -> Sensitivity | None:
        """Return how far loss may depend on the outcome before the adapted linear model stops paying."""
        names = [f"linear {SOURCE}", rival]
        if self.known.anchors:
            return None
        X, y, X_target = self.tables
        given = X.iloc[self.train], y[self.train], X_target, self.known.of_rows(self.train), self.known.groups_target
        return check_sensitivity(
            {name: self.models.get(name) or fit_candidate(self.candidates[name], *given) for name in names},
            X.iloc[self.rows].reset_index(drop=True),
            y[self.rows],
            X_target,
            confidence=self.comparison.confidence,
            **self.known.columns,
            groups=self.known.of_rows(self.rows),
            groups_target=self.known.groups_target,
        )


def _reference(candidates: dict[str, Any], X: Any, y: Array, X_held: Any, y_held: Array) -> str:
    """Return the predictor that one would use without a thought of the target: the best one in the source."""
    names = [name for name in candidates if name.endswith(SOURCE)]
    if len(names) == 1:
        return names[0]
    loss = resolve_loss("auto", y, is_classifier=all(hasattr(candidates[name], "predict_proba") for name in names))
    risks = {}
    for name in names:
        fitted = fit_candidate(candidates[name], X, y, None, None, None)
        risks[name] = loss.values(y_held, loss.predict(fitted, X_held)).mean()
    return min(risks, key=lambda name: risks[name])


class Fitted:
    """Candidates fitted on all labelled source rows, each when it is asked for."""

    def __init__(self, candidates: dict[str, Any], X: pd.DataFrame, y: Array, X_target: pd.DataFrame, known: Known):
        self._candidates, self._given = candidates, (X, y, X_target, known.groups, known.groups_target)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            logger.info("Fitting '%s' on all rows", name)
            self._made[name] = fit_candidate(self._candidates[name], *self._given)
        return self._made[name]
