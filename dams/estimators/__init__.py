"""scikit-learn estimators that adapt to the target's missingness rates."""

from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.filtered import FilteredEstimator, MissingnessFilter
from dams.estimators.summary import Summary
from dams.estimators.two_way import TwoWayEstimator, TwoWayFilter

__all__ = [
    "ClosedFormRegressor",
    "FilteredEstimator",
    "MissingnessFilter",
    "Summary",
    "TwoWayEstimator",
    "TwoWayFilter",
]
