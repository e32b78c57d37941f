"""Names to choose from: what a name stands for is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any


def load(path: str) -> Any:
    """Import `package.module:attribute`."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def nearest(name: str, choices: Iterable[str]) -> str:
    """Say which valid name is meant, or list them all where none is near."""
    names = list(choices)
    close = get_close_matches(str(name), names, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"valid are: {', '.join(names)}."
