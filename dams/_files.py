"""Files that appear whole or not at all, what tells one content from another, and what is said of a damaged one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a name to write to; at the end the file gets its own, so that a reader sees the old file or the new one.

    What fails half-way leaves the old file as it was.
    """
    partial = Path(f"{path}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(content: Any, path: str | Path, *, indent: int | None = 2) -> None:
    """Write a JSON file, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(json.dumps(content, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's content."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def damaged(path: str | Path, why: object) -> ValueError:
    """Return what to raise for a file that a run left and that can't be what it was: it is made anew if deleted."""
    return ValueError(f"{path} is damaged: {str(why).strip()}. Delete the file and run again.")
