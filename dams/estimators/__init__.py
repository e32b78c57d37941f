"""scikit-learn estimators that adapt to the target's missingness rates."""

from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.filtered import FilteredRegressor, MissingnessFilter
from dams.estimators.two_way import TwoWayFilter, TwoWayRegressor

__all__ = ["ClosedFormRegressor", "FilteredRegressor", "MissingnessFilter", "TwoWayFilter", "TwoWayRegressor"]
