"""The choices of the two-way adjustment that measurement settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

TREE = {"max_leaf_nodes": 15, "min_samples_leaf": 40}
FOREST = {"n_estimators": 8, "min_samples_leaf": 2, "max_features": 0.5}


def nonzero_tree(seed: int, **changes: Any) -> DecisionTreeClassifier:
    """Return the unfitted classifier of zero and nonzero, with other settings where `changes` names them."""
    return DecisionTreeClassifier(**(TREE | changes), random_state=seed)


def donor_forest(seed: int, **changes: Any) -> RandomForestRegressor:
    """Return the unfitted forest whose leaves hold the donors, with other settings where `changes` names them."""
    return RandomForestRegressor(**(FOREST | changes), random_state=seed)


@dataclass(frozen=True)
class Choices:
    """Choices that the ablation of docs/two_way.md varies; the defaults are those of the estimators.

    They are no parameters of `TwoWayFilter`: nobody has a reason to tune them. `two_way_draws` takes others.
    """

    n_folds: int = 2  # of the cross-fitting of π; with one fold every row is judged by the tree that saw it
    classifier: Callable[[int], Any] = nonzero_tree  # from a seed to an unfitted classifier, which learns π
    forest: Callable[[int], Any] = donor_forest  # from a seed to an unfitted forest, which finds donors
    # Other columns that the trees see, those most correlated with what they learn; of wide tables half at least.
    n_columns: int = 20
    most_first: bool = False  # fill the features with the most to fill first


SHIPPED = Choices()
