"""The choices of the two-way adjustment that measurement settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

BOOSTING = {"max_iter": 20, "max_leaf_nodes": 15, "learning_rate": 0.3, "max_bins": 63, "early_stopping": False}
FOREST = {"n_estimators": 10, "min_samples_leaf": 2, "max_features": 0.5}


def boosted_trees(seed: int, **changes: Any) -> HistGradientBoostingClassifier:
    """Return the unfitted classifier of zero and nonzero, with other settings where `changes` names them."""
    # The seed matters above 200,000 rows, of which bins are made from a sample.
    return HistGradientBoostingClassifier(**(BOOSTING | changes), random_state=seed)


def donor_forest(seed: int, **changes: Any) -> RandomForestRegressor:
    """Return the unfitted forest whose leaves hold the donors, with other settings where `changes` names them."""
    return RandomForestRegressor(**(FOREST | changes), random_state=seed)


@dataclass(frozen=True)
class Choices:
    """What the ablation of docs/two_way.md varies; the defaults are what is shipped.

    They are no parameters of `TwoWayFilter`: nobody has a reason to tune them. `two_way_draws` takes others.
    """

    n_folds: int = 2  # of the cross-fitting of π; with one fold every row is judged by trees that saw it
    classifier: Callable[[int], Any] = boosted_trees  # from a seed to an unfitted classifier, which learns π
    forest: Callable[[int], Any] = donor_forest  # from a seed to an unfitted forest, which finds donors
    most_first: bool = False  # fill the features with the most to fill first


SHIPPED = Choices()
