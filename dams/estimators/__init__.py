"""scikit-learn estimators that adapt to the target's missingness rates."""

from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.filtered import FilteredRegressor, MissingnessFilter

__all__ = ["ClosedFormRegressor", "FilteredRegressor", "MissingnessFilter"]
