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
    from dams.inference import ClosedFormInference, infer_closed_form
    from dams.missingness import apply_missingness
    from dams.rates import FreeRates, NestedRates, OpposingRates
    from dams.relative import RelativeMissingness, estimate_relative_missingness
    from dams.risk import (
        TargetRisk,
        TargetRiskComparison,
        compare_target_risk,
        target_risk,
        target_risk_scorer,
    )
    from dams.sensitivity import Sensitivity, check_sensitivity

# The one place of the version: pyproject.toml takes it from here.
__version__ = "0.2.0"

# Resolved on first use: the workflow reads configurations without waiting for scikit-learn.
_EXPORTS = {
    "ClosedFormInference": "dams.inference",
    "ClosedFormRegressor": "dams.estimators",
    "FilteredEstimator": "dams.estimators",
    "FreeRates": "dams.rates",
    "MissingnessFilter": "dams.estimators",
    "NestedRates": "dams.rates",
    "OpposingRates": "dams.rates",
    "RelativeMissingness": "dams.relative",
    "Sensitivity": "dams.sensitivity",
    "Summary": "dams.estimators",
    "TargetRisk": "dams.risk",
    "TargetRiskComparison": "dams.risk",
    "TwoWayFilter": "dams.estimators",
    "TwoWayEstimator": "dams.estimators",
    "UCARReport": "dams.diagnostics",
    "apply_missingness": "dams.missingness",
    "check_sensitivity": "dams.sensitivity",
    "check_ucar": "dams.diagnostics",
    "compare_target_risk": "dams.risk",
    "estimate_relative_missingness": "dams.relative",
    "infer_closed_form": "dams.inference",
    "target_risk": "dams.risk",
    "target_risk_scorer": "dams.risk",
}

__all__ = [
    "ClosedFormInference",
    "ClosedFormRegressor",
    "FilteredEstimator",
    "FreeRates",
    "MissingnessFilter",
    "NestedRates",
    "OpposingRates",
    "RelativeMissingness",
    "Sensitivity",
    "Summary",
    "TargetRisk",
    "TargetRiskComparison",
    "TwoWayEstimator",
    "TwoWayFilter",
    "UCARReport",
    "apply_missingness",
    "check_sensitivity",
    "check_ucar",
    "compare_target_risk",
    "estimate_relative_missingness",
    "infer_closed_form",
    "target_risk",
    "target_risk_scorer",
]


__getattr__, __dir__ = export_late(__name__, _EXPORTS)
