"""Covariates to experiment with: synthetic scenarios, data that ship inside scikit-learn, public and clinical data."""

from typing import TYPE_CHECKING

from dams._registry import export_late

if TYPE_CHECKING:
    from dams.datasets.ehr import EHR, simulate_ehr
    from dams.datasets.eicu.fiddle import load_fiddle
    from dams.datasets.eicu.simulator import simulate_eicu
    from dams.datasets.errors import RawDataError
    from dams.datasets.sepsis.download import download_sepsis
    from dams.datasets.sepsis.patients import load_sepsis
    from dams.datasets.uci.download import Fetched, FetchError, fetch
    from dams.datasets.uci.recipes import load_uci, prepare_uci

# Resolved on first use: a configuration names data sets and reads none.
_EXPORTS = {
    "EHR": "dams.datasets.ehr",
    "FetchError": "dams.datasets.uci.download",
    "Fetched": "dams.datasets.uci.download",
    "RawDataError": "dams.datasets.errors",
    "download_sepsis": "dams.datasets.sepsis.download",
    "fetch": "dams.datasets.uci.download",
    "load_fiddle": "dams.datasets.eicu.fiddle",
    "load_sepsis": "dams.datasets.sepsis.patients",
    "load_uci": "dams.datasets.uci.recipes",
    "prepare_uci": "dams.datasets.uci.recipes",
    "simulate_ehr": "dams.datasets.ehr",
    "simulate_eicu": "dams.datasets.eicu.simulator",
}

__all__ = [
    "EHR",
    "FetchError",
    "Fetched",
    "RawDataError",
    "download_sepsis",
    "fetch",
    "load_fiddle",
    "load_sepsis",
    "load_uci",
    "prepare_uci",
    "simulate_ehr",
    "simulate_eicu",
]


__getattr__, __dir__ = export_late(__name__, _EXPORTS)
