"""Columns by name: in sentences, in a terminal, on a command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def listed(names: Sequence[str], most: int = 8) -> str:
    """Name columns in a sentence."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(printable(name) for name in names[:most]) + rest


def printable(name: str, most: int = 60) -> str:
    """Return a name without what a terminal would obey, cut where it is very long."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


def count(n: int) -> str:
    """Return a number of columns in words."""
    return "1 column" if n == 1 else f"{n:,} columns"


def as_option(option: str, names: Sequence[str], most: int = 5) -> str:
    """Return an option with names as a shell takes it, between backticks."""
    shown = " ".join(shlex.quote(printable(name)) for name in names[:most])
    return f"`{option} {shown}{' …' if len(names) > most else ''}`"
