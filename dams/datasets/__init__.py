"""Data sets: the public ones of the paper, fetched and prepared."""

from .download import Fetched, FetchError, fetch
from .raw import RawDataError
from .sources import DATASETS
from .uci import load_uci, prepare_uci

__all__ = ["DATASETS", "FetchError", "Fetched", "RawDataError", "fetch", "load_uci", "prepare_uci"]
