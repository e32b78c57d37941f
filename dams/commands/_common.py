"""Functions that the commands share."""

from __future__ import annotations

import argparse
from pathlib import Path


class Refused(Exception):  # noqa: N818 - a sentence for whoever typed the command
    """Something the user can mend; the text says what."""


def seed(text: str) -> int:
    """Read the seed of random numbers."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got '{text}'")
    return int(text)


def holds_a_run(folder: Path) -> bool:
    """Whether a folder has anything of a run in it."""
    from dams.experiments.products import MANIFEST, SETTINGS

    traces = {SETTINGS, *(file.split("/")[0] for product in MANIFEST.values() for file in product.files)}
    return any((folder / trace).exists() for trace in traces)
