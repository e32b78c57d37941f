"""Functions that the commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path


class Refused(Exception):  # noqa: N818 - a sentence for whoever typed the command
    """Something the user can mend; the text says what."""


def seed(text: str) -> int:
    """Read the seed of random numbers."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got '{text}'")
    return int(text)


def refuse_outputs(outputs: Mapping[str, str | None], *inputs: str | None) -> None:
    """Refuse files, by option, that can't be written or would replace another: before hours are spent on them."""
    taken = {Path(file).resolve(): f"{file}, which is read" for file in inputs if file not in (None, "-")}
    for option, file in outputs.items():
        if file in (None, "-"):
            continue
        path = Path(file)
        if path.is_dir():
            raise Refused(f"{option} {file}: this is a folder; name a file in it.")
        if other := taken.get(path.resolve()):
            raise Refused(f"{option} {file}: this would replace {other}; name another file.")
        taken[path.resolve()] = f"the file of {option}"
        # Folders that do not exist are made.
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise Refused(f"{option} {file}: {folder} is a file and no folder; name a file in a folder.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise Refused(f"{option} {file}: you may not write to the folder {folder}; name a file in another.")


def holds_a_run(folder: Path) -> bool:
    """Whether a folder has anything of a run in it."""
    from dams.experiments.products import MANIFEST, SETTINGS

    traces = {SETTINGS, *(file.split("/")[0] for product in MANIFEST.values() for file in product.files)}
    return any((folder / trace).exists() for trace in traces)
