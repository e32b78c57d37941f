"""Covariates to experiment with: synthetic scenarios, data that ship inside scikit-learn, public and clinical data."""

from dams.datasets.download import Fetched, FetchError, fetch
from dams.datasets.eicu_simulator import simulate_eicu
from dams.datasets.fiddle import load_fiddle
from dams.datasets.raw import RawDataError
from dams.datasets.uci import load_uci, prepare_uci

__all__ = ["FetchError", "Fetched", "RawDataError", "fetch", "load_fiddle", "load_uci", "prepare_uci", "simulate_eicu"]
