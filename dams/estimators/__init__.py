"""scikit-learn estimators that adapt to the target's missingness rates."""

from typing import TYPE_CHECKING

from dams._registry import export_late

if TYPE_CHECKING:
    from dams.estimators.closed_form import ClosedFormRegressor
    from dams.estimators.filtered import FilteredEstimator, MissingnessFilter
    from dams.estimators.summary import Summary
    from dams.estimators.two_way import TwoWayEstimator, TwoWayFilter

# Resolved on first use: who needs one adjustment does not load the others.
_EXPORTS = {
    "ClosedFormRegressor": "dams.estimators.closed_form",
    "FilteredEstimator": "dams.estimators.filtered",
    "MissingnessFilter": "dams.estimators.filtered",
    "Summary": "dams.estimators.summary",
    "TwoWayEstimator": "dams.estimators.two_way",
    "TwoWayFilter": "dams.estimators.two_way",
}

__all__ = [
    "ClosedFormRegressor",
    "FilteredEstimator",
    "MissingnessFilter",
    "Summary",
    "TwoWayEstimator",
    "TwoWayFilter",
]


__getattr__, __dir__ = export_late(__name__, _EXPORTS)
