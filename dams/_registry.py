"""Names to choose from: what a name stands for is imported when it is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any


def load(path: str) -> Any:
    """Import `package.module:attribute`."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def export_late(package: str, exports: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports what it exports, name by module, when it is used."""

    def find(name: str) -> Any:
        if name in exports:
            return getattr(import_module(exports[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        own = vars(sys.modules[package])
        shown = [name for name in own if name.startswith("__") or isinstance(own[name], ModuleType)]
        return sorted({*shown, *exports})

    return find, names


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return a hint: the valid name that is probably meant, or all of them where none is near."""
    names = list(choices)
    close = get_close_matches(str(name), names, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"valid are: {', '.join(names)}."
