"""Files as people have them: plain text, packed by gzip or zip, Parquet, or what comes through a pipe.

What a file is, its first bytes say, whatever its name ends in.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Protocol

from dams.datasets.csv_files import PathLike, refuse_missing

STANDARD_INPUT = "-"
# Bytes that a packed file, or a pipe, may unfold to; a small archive may hold petabytes of zeros.
MOST_BYTES = 8 * 2**30
PIECE = 2**20
GZIP, ZIP, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
# Files that are none of these, and what to do with them.
OTHERS = {
    b"BZh": "is packed by bzip2: unpack it (bunzip2)",
    b"\xfd7zXZ\x00": "is packed by xz: unpack it (unxz)",
    b"\x28\xb5\x2f\xfd": "is packed by zstd: unpack it (unzstd)",
    b"7z\xbc\xaf": "is packed by 7-Zip: unpack it",
    b"ARROW1": "is an Arrow file: write it as Parquet or CSV",
    b"\xd0\xcf\x11\xe0": "is a workbook of an old spreadsheet: save the sheet as CSV UTF-8",
    b"\xff\xfe": "is UTF-16 text: save it as UTF-8 (in a spreadsheet: CSV UTF-8)",
    b"\xfe\xff": "is UTF-16 text: save it as UTF-8 (in a spreadsheet: CSV UTF-8)",
    b"\x89HDF": "is an HDF5 file: write it as Parquet or CSV",
    b"{": "is JSON and no table (`dams adapt` takes summaries, two of them)",
    b"%PDF": "is a PDF file: give the table as CSV or Parquet",
}


@dataclass(frozen=True)
class TableFile(os.PathLike[str]):
    """A table on disk: `file` is where it can be read, `name` what messages call it."""

    name: str
    file: Path
    kind: Literal["csv", "parquet"]

    def __fspath__(self) -> str:
        return str(self.file)

    def __str__(self) -> str:
        return self.name


@contextmanager
def open_table(path: PathLike) -> Iterator[TableFile]:
    """Give a table as a file that can be read more than once, unpacked if it is packed; "-" is standard input.

    Raises
    ------
    ValueError
        Where the file is damaged, of a kind that is not read, or unfolds to more than `MOST_BYTES`.
    """
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    with ExitStack() as stack:
        file = Path(path)
        if str(path) == STANDARD_INPUT:
            file = _folder(stack) / "input"
            _copy(sys.stdin.buffer, file, name)
        else:
            refuse_missing(path)
        start = _start(file)
        if start.startswith((GZIP, ZIP)):
            packed, file = file, _folder(stack) / "unpacked"
            try:
                (_unpack_gzip if start.startswith(GZIP) else _unpack_zip)(packed, file, name)
            except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError) as error:
                raise ValueError(
                    f"{name} can't be unpacked ({error}): the file is damaged or was cut. Copy it again, or unpack "
                    "it by hand."
                ) from None
            start = _start(file)
        for mark, said in OTHERS.items():
            if start.startswith(mark):
                raise ValueError(f"{name} {said}. CSV, CSV packed by gzip or zip, and Parquet are read.")
        yield TableFile(name, file, "parquet" if start.startswith(PARQUET) else "csv")


def _folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(TemporaryDirectory(prefix="dams-")))


def _start(file: Path) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(8)


def _unpack_gzip(packed: Path, file: Path, name: str) -> None:
    with gzip.open(packed) as stream:
        _copy(stream, file, name)


def _unpack_zip(packed: Path, file: Path, name: str) -> None:
    with zipfile.ZipFile(packed) as archive:
        # Of a folder that was packed on a Mac.
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        if "[Content_Types].xml" in archive.namelist():
            raise ValueError(f"{name} is a workbook of a spreadsheet: save the sheet as CSV UTF-8.")
        if len(members) != 1:
            shown = ", ".join(repr(m.filename) for m in members[:5]) + (" …" if len(members) > 5 else "")
            raise ValueError(f"{name} holds {len(members)} files ({shown}), expected one: unpack it and name one.")
        if members[0].flag_bits & 1:
            raise ValueError(f"{name} is locked by a password: unpack it first.")
        with archive.open(members[0]) as stream:
            _copy(stream, file, name)


class _Stream(Protocol):
    def read(self, n: int, /) -> bytes: ...


def _copy(stream: _Stream, file: Path, name: str) -> None:
    """Write a stream to a file as it comes, up to `MOST_BYTES`."""
    count = 0
    with open(file, "wb") as out:
        while piece := stream.read(PIECE):
            count += len(piece)
            if count > MOST_BYTES:
                raise ValueError(
                    f"{name} unfolds to more than {MOST_BYTES / 2**30:.2g} GB, which is more than is read. Unpack it "
                    "by hand if it is what you expect."
                )
            if shutil.disk_usage(file.parent).free < len(piece):
                raise OSError(f"No room for {name} in {file.parent}: set TMPDIR to a folder with more.")
            out.write(piece)
