"""Domain adaptation under missingness shift (DAMS).

A zero may be a true zero or a value nobody recorded, and the rate of loss differs between source and target. The
estimators here adapt a predictor from labelled source data and unlabelled target data, without knowing the rates.
"""

from typing import TYPE_CHECKING

from dams._registry import export_late

if TYPE_CHECKING:
    from dams.diagnostics import UCARReport, check_ucar
    from dams.estimators import (
        ClosedFormRegressor,
        FilteredEstimator,
        MissingnessFilter,
        Summary,
        TwoWayEstimator,
        TwoWayFilter,
    )
    from dams.missingness import FreeRates, NestedRates, OpposingRates, apply_missingness
    from dams.relative import RelativeMissingness, estimate_relative_missingness

# The one place of the version: pyproject.toml takes it from here.
__version__ = "0.2.0"

# Resolved on first use: the workflow reads configurations without waiting for scikit-learn.
_EXPORTS = {
    "ClosedFormRegressor": "dams.estimators",
    "FilteredEstimator": "dams.estimators",
    "FreeRates": "dams.missingness",
    "MissingnessFilter": "dams.estimators",
    "NestedRates": "dams.missingness",
    "OpposingRates": "dams.missingness",
    "RelativeMissingness": "dams.relative",
    "Summary": "dams.estimators",
    "TwoWayFilter": "dams.estimators",
    "TwoWayEstimator": "dams.estimators",
    "UCARReport": "dams.diagnostics",
    "apply_missingness": "dams.missingness",
    "check_ucar": "dams.diagnostics",
    "estimate_relative_missingness": "dams.relative",
}

__all__ = [
    "ClosedFormRegressor",
    "FilteredEstimator",
    "FreeRates",
    "MissingnessFilter",
    "NestedRates",
    "OpposingRates",
    "RelativeMissingness",
    "Summary",
    "TwoWayEstimator",
    "TwoWayFilter",
    "UCARReport",
    "apply_missingness",
    "check_ucar",
    "estimate_relative_missingness",
]


__getattr__ = export_late(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
