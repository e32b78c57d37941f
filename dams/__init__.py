"""Domain adaptation under missingness shift (DAMS).

A zero may be a true zero or a value nobody recorded, and the rate of loss differs between source and target. The
estimators here adapt a predictor from labelled source data and unlabelled target data, without knowing the rates.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dams.diagnostics import UCARReport, check_ucar
    from dams.estimators import (
        ClosedFormRegressor,
        FilteredRegressor,
        MissingnessFilter,
        TwoWayFilter,
        TwoWayRegressor,
    )
    from dams.missingness import Free, Nested, Opposing, apply_missingness
    from dams.relative import RelativeMissingness, estimate_relative_missingness

__version__ = "0.1.0"

# Resolved on first use: the workflow reads configurations without waiting for scikit-learn.
_EXPORTS = {
    "ClosedFormRegressor": "dams.estimators",
    "FilteredRegressor": "dams.estimators",
    "Free": "dams.missingness",
    "MissingnessFilter": "dams.estimators",
    "Nested": "dams.missingness",
    "Opposing": "dams.missingness",
    "RelativeMissingness": "dams.relative",
    "TwoWayFilter": "dams.estimators",
    "TwoWayRegressor": "dams.estimators",
    "UCARReport": "dams.diagnostics",
    "apply_missingness": "dams.missingness",
    "check_ucar": "dams.diagnostics",
    "estimate_relative_missingness": "dams.relative",
}

__all__ = [
    "ClosedFormRegressor",
    "FilteredRegressor",
    "Free",
    "MissingnessFilter",
    "Nested",
    "Opposing",
    "RelativeMissingness",
    "TwoWayFilter",
    "TwoWayRegressor",
    "UCARReport",
    "apply_missingness",
    "check_ucar",
    "estimate_relative_missingness",
]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'dams' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
