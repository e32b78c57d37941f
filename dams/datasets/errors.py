"""Errors that readers of raw data raise."""


class RawDataError(ValueError):
    """A raw file is not what the data set's documentation promises."""
