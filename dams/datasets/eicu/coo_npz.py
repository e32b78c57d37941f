"""Sparse arrays as FIDDLE stores them: COO coordinates in an npz archive, read as a stream, written reproducibly.

The archive (that of `sparse.save_npz`) holds `data` (nnz,), `coords` (ndim, nnz), `shape` and `fill_value`. Read whole
it costs 32 bytes a nonzero for three dimensions: many gigabytes. In C order each row of `coords` is one run of bytes,
so one stream per row, read in step, needs no more than a chunk.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from dams._files import ARCHIVE_DAMAGE
from dams.datasets.errors import RawDataError

Array = np.ndarray

# Values of an array that describes the others.
_SMALL = 64
# 64 bytes of working memory a nonzero: about 64 MB.
CHUNK = 1_000_000

# The first instant a zip archive can name. Real times would make files of one seed differ.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class _Member:
    """Header of one array in the archive."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    fortran_order: bool


class CooNpz:
    """A sparse array on disk.

    Parameters
    ----------
    path : Path
        An npz archive as written by `sparse.save_npz`, by FIDDLE or by `write_coo`.

    Attributes
    ----------
    shape : tuple of int
    nnz : int
        Number of stored values.

    Raises
    ------
    RawDataError
        Where the archive, its keys, types or shapes are not those of a sparse array of numbers. Nothing is unpickled.
    """

    def __init__(self, path: Path):
        self.path = path
        self._members = self._read_headers()
        self.shape = tuple(int(n) for n in self._read_small("shape"))
        self._check_headers()
        self.nnz = self._members["data"].shape[0]

    def chunks(self, size: int = CHUNK) -> Iterator[Array]:
        """Yield the coordinates of nonzero values, at most `size` a time, as arrays of shape (ndim, k).

        Raises
        ------
        RawDataError
            Where coordinates leave the shape, are unsorted or repeat, or a value is no count (negative, fractional).
        """
        last = -1
        # Keys stay below the number of cells, which is below 2**63.
        strides = np.array([math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))], dtype=np.int64)
        with _opened(self.path) as archive, ExitStack() as stack:
            coords = self._open_coords(archive, stack)
            data = stack.enter_context(_open_array(archive, "data"))
            for start in range(0, self.nnz, size):
                count = min(size, self.nnz - start)
                chunk = self._read_coords(coords, count)
                values = self._read(data, count, self._members["data"])
                keys = strides @ chunk
                self._check_chunk(chunk, values, keys, last)
                last = int(keys[-1])
                yield chunk if values.all() else chunk[:, values != 0]

    def _read_headers(self) -> dict[str, _Member]:
        if not self.path.is_file():
            raise FileNotFoundError(
                f"{self.path} does not exist. It is one of the files FIDDLE writes; see docs/eicu.md."
            )
        if not zipfile.is_zipfile(self.path):
            raise RawDataError(f"{self.path} is not an npz archive. Download or make it again.")
        with _opened(self.path) as archive:
            stored = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
            lacking = sorted({"data", "coords", "shape", "fill_value"} - stored)
            if lacking:
                raise RawDataError(
                    f"{self.path} has no array {', '.join(lacking)}; it holds {', '.join(sorted(stored))}. "
                    "Expected a COO array as saved by sparse.save_npz; a scipy.sparse archive has to be converted."
                )
            return {name: _header(archive, name, self.path) for name in sorted(stored)}

    def _read_small(self, name: str) -> Array:
        member = self._members[name]
        if (count := math.prod(member.shape)) > _SMALL:
            raise RawDataError(
                f"{self.path}: the array {name} must hold at most {_SMALL} values, got {count:,}. Make the file again."
            )
        with _opened(self.path) as archive, _open_array(archive, name) as stream:
            return self._read(stream, count, member)

    def _check_headers(self) -> None:
        data, coords = self._members["data"], self._members["coords"]
        if self._members["shape"].dtype.kind not in "iu" or min(self.shape, default=-1) < 0:
            raise RawDataError(
                f"{self.path}: the array shape must hold whole numbers from 0 up, got {self.shape}. Make it again."
            )
        # A position is one number of 64 bits.
        if math.prod(self.shape) >= 2**63:
            raise RawDataError(f"{self.path}: the shape {self.shape} is larger than any array. Make the file again.")
        expected = (len(self.shape), *data.shape)
        if len(data.shape) != 1 or coords.shape != expected:
            raise RawDataError(
                f"{self.path}: data {data.shape} and coords {coords.shape} do not fit the shape {self.shape}; "
                f"expected one value per column of coords, {len(self.shape)} coordinates each. Make the file again."
            )
        if coords.dtype.kind not in "iu":
            raise RawDataError(f"{self.path}: coords must be integers, got {coords.dtype}. Make the file again.")
        if data.dtype.kind not in "biuf":
            raise RawDataError(f"{self.path}: data must be numbers, got {data.dtype}. Make the file again.")
        fill = self._read_small("fill_value")
        if fill.dtype.kind not in "biuf" or fill.size != 1 or fill.any():
            raise RawDataError(
                f"{self.path}: fill_value must be 0, got {fill[0] if fill.size else 'nothing'}. "
                "Save the array with zeros as its fill."
            )
        if "format" in self._members and (kind := "".join(map(str, self._read_small("format")))).lower() != "coo":
            raise RawDataError(
                f"{self.path} is stored as {kind!r}. Save it as COO: sparse.save_npz(path, x.asformat('coo'))."
            )

    def _open_coords(self, archive: zipfile.ZipFile, stack: ExitStack) -> list[IO[bytes]]:
        """One stream per coordinate, each at the start of its run; a single one if the coordinates are interleaved."""
        member = self._members["coords"]
        if member.fortran_order:
            return [stack.enter_context(_open_array(archive, "coords"))]
        streams = []
        for axis in range(len(self.shape)):
            stream = stack.enter_context(_open_array(archive, "coords"))
            _skip(stream, axis * self.nnz * member.dtype.itemsize)
            streams.append(stream)
        return streams

    def _read_coords(self, streams: list[IO[bytes]], count: int) -> Array:
        member, ndim = self._members["coords"], len(self.shape)
        if member.fortran_order:
            return self._read(streams[0], count * ndim, member).reshape(count, ndim).T.astype(np.int64)
        return np.stack([self._read(stream, count, member) for stream in streams]).astype(np.int64, copy=False)

    def _read(self, stream: IO[bytes], count: int, member: _Member) -> Array:
        buffer = stream.read(count * member.dtype.itemsize)
        if len(buffer) != count * member.dtype.itemsize:
            raise RawDataError(f"{self.path}: the array {member.name} ends early. Download or make the file again.")
        return np.frombuffer(buffer, dtype=member.dtype)

    def _check_chunk(self, chunk: Array, values: Array, keys: Array, last: int) -> None:
        if chunk.min() < 0 or (chunk.max(axis=1) >= self.shape).any():
            raise RawDataError(
                f"{self.path}: some coordinates lie outside the shape {self.shape}. Make the file again."
            )
        steps = np.diff(keys, prepend=last)
        if (steps <= 0).any():
            first = int(np.argmax(steps <= 0))
            kind = "repeats the one before it" if steps[first] == 0 else "is not in lexicographic order"
            raise RawDataError(
                f"{self.path}: the coordinate {tuple(chunk[:, first].tolist())} {kind}. "
                "Save the array again with sparse.COO(...), which sorts and sums, and sparse.save_npz."
            )
        if (values < 0).any() or (values.dtype.kind == "f" and (values != np.floor(values)).any()):
            raise RawDataError(
                f"{self.path} holds values that are not 0, 1, 2, …; features must be indicators. "
                "Run FIDDLE with discretize: yes."
            )


def write_coo(path: Path, coords: Sequence[Array], data: Array, shape: Sequence[int]) -> None:
    """Write a sparse array as `sparse.save_npz` does, the same bytes for the same array.

    Parameters
    ----------
    coords : one array of integers per axis
        Lexicographically sorted and unique. Any integer type: they are widened chunk by chunk.
    data : array of the same length
    """
    nnz = len(data)
    small: Mapping[str, Any] = {
        # Readers since sparse 0.16 want to be told; older ones, and FIDDLE's own files, do without.
        "format": np.array("coo"),
        "shape": np.array(shape, dtype=np.int64),
        "fill_value": np.array(0, dtype=np.int64),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, values in small.items():
            _write_member(archive, name, values.shape, values.dtype, [values])
        _write_member(archive, "data", (nnz,), np.dtype(np.int64), [data])
        _write_member(archive, "coords", (len(coords), nnz), np.dtype(np.int64), coords)


def _write_member(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: np.dtype, parts: Sequence[Array]
) -> None:
    info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
    info.compress_type = archive.compression
    info.external_attr = 0o600 << 16
    # force_zip64, as numpy does: the size is not known beforehand.
    with archive.open(info, "w", force_zip64=True) as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        for part in parts:
            flat = part.reshape(-1)
            for start in range(0, flat.size, CHUNK):
                stream.write(flat[start : start + CHUNK].astype(dtype).tobytes())


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever its damage raises becomes a RawDataError with its name."""
    with open(path, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                yield archive
        except RawDataError:
            raise
        except ARCHIVE_DAMAGE as error:
            raise RawDataError(f"{path} is damaged ({error}). Download or make it again.") from error


def _open_array(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open a member and step over its header."""
    stream = archive.open(f"{name}.npy")
    _parse_header(stream)
    return stream


def _skip(stream: IO[bytes], count: int) -> None:
    """Step forward in small steps, where `seek` would hold 16 MB. A stream that ends early shows when it is read."""
    while count > 0 and (read := len(stream.read(min(count, 1 << 18)))):
        count -= read


def _parse_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


def _header(archive: zipfile.ZipFile, name: str, path: Path) -> _Member:
    with archive.open(f"{name}.npy") as stream:
        try:
            shape, fortran_order, dtype = _parse_header(stream)
        except (ValueError, SyntaxError, tokenize.TokenError) as error:
            raise RawDataError(
                f"{path}: the array {name} has no readable header ({error}). Make the file again."
            ) from error
    if min(shape, default=0) < 0:
        raise RawDataError(f"{path}: the array {name} has the shape {shape}, below zero. Make the file again.")
    if dtype.hasobject:
        raise RawDataError(
            f"{path}: the array {name} holds pickled Python objects, which could run code and are never loaded. "
            "Save it again as plain numbers."
        )
    return _Member(name, shape, dtype, fortran_order)
