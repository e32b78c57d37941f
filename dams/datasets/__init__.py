"""Covariates to experiment with: synthetic scenarios, data that ship inside scikit-learn, public and clinical data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dams.datasets.eicu.fiddle import load_fiddle
    from dams.datasets.eicu.simulator import simulate_eicu
    from dams.datasets.errors import RawDataError
    from dams.datasets.uci.download import Fetched, FetchError, fetch
    from dams.datasets.uci.recipes import load_uci, prepare_uci

# Resolved on first use: a configuration names data sets and reads none.
_EXPORTS = {
    "FetchError": "dams.datasets.uci.download",
    "Fetched": "dams.datasets.uci.download",
    "RawDataError": "dams.datasets.errors",
    "fetch": "dams.datasets.uci.download",
    "load_fiddle": "dams.datasets.eicu.fiddle",
    "load_uci": "dams.datasets.uci.recipes",
    "prepare_uci": "dams.datasets.uci.recipes",
    "simulate_eicu": "dams.datasets.eicu.simulator",
}

__all__ = ["FetchError", "Fetched", "RawDataError", "fetch", "load_fiddle", "load_uci", "prepare_uci", "simulate_eicu"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'dams.datasets' has no attribute {name!r}")
