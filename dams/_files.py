"""Files that appear whole or not at all, what tells one content from another, and what is said of a damaged one."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import struct
import tokenize
import zipfile
import zlib
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
    except OSError as error:
        # A full disk has no name.
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
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


# What zipfile and NumPy raise for a damaged archive, depending on which byte is wrong: of a header, a length, the name
# of a method or a version, a checksum, the compressed bytes. Python's own parser reads the headers of arrays.
ARCHIVE_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, SyntaxError),
    *(EOFError, OSError, KeyError, ValueError, TypeError, OverflowError, RuntimeError, MemoryError, RecursionError),
)


class DamagedFileError(ValueError):
    """A file that a run left can't be what it was; the text names it."""


def damaged(path: str | Path, why: object) -> DamagedFileError:
    """Return what to raise for a file that a run left and that can't be what it was: it is made anew if deleted."""
    return DamagedFileError(f"{path} is damaged: {str(why).strip()}. Delete the file and run again.")
