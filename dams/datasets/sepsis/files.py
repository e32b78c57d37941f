"""Patient files of the Challenge, wherever they lie: in two folders, or in one archive as it was downloaded."""

from __future__ import annotations

import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dams.datasets.errors import RawDataError

SEPSIS_DIR_VARIABLE = "DAMS_SEPSIS_DIR"
HOSPITALS = ("A", "B")
# Patients of each that the publisher lists, a file per patient.
PATIENTS = {"A": 20_336, "B": 20_000}

# The last two parts of the path of a patient's file; archives may hold other files beside them.
_PATIENT = re.compile(r"(?:^|/)training_set([AB])/p(\d{6})\.psv$")
_ARCHIVES = (".tar.xz", ".tar.gz", ".tgz", ".tar", ".zip")
_EXPECTED = (
    "Expected the folders training_setA and training_setB, or an archive that holds them "
    f"({', '.join(_ARCHIVES)}), of the PhysioNet/CinC Challenge 2019."
)


@dataclass(frozen=True)
class PatientFile:
    """The content of one patient's file, and the name by which messages call it."""

    hospital: str
    patient: int
    name: str
    content: bytes


def find_files(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds both sets, or the archive.

    Parameters
    ----------
    folder : path, optional
        An archive, or a folder with one or with both sets, directly or in ``training``. Defaults to the environment
        variable ``DAMS_SEPSIS_DIR``.

    Raises
    ------
    FileNotFoundError
        If there is nothing of the kind, with what to do.
    """
    chosen = folder if folder is not None else os.environ.get(SEPSIS_DIR_VARIABLE) or None
    if chosen is None:
        raise FileNotFoundError(
            f"No folder with the Challenge's files is known. Name one as `folder` or in {SEPSIS_DIR_VARIABLE}, or "
            "download them (20 MB, no account): dams.datasets.download_sepsis('data/sepsis')."
        )
    path = Path(chosen)
    if path.is_file() and path.name.endswith(_ARCHIVES):
        return path
    for place in (path, path / "training"):
        if all((place / f"training_set{hospital}").is_dir() for hospital in HOSPITALS):
            return place
    archives = sorted(p for p in path.glob("*") if p.is_file() and p.name.endswith(_ARCHIVES)) if path.is_dir() else []
    if len(archives) == 1:
        return archives[0]
    found = "no such file or folder" if not path.exists() else f"found {len(archives)} archives"
    raise FileNotFoundError(f"{path}: {found}. {_EXPECTED}")


def count_files(folder: Path) -> int:
    """Count the patients' files of a folder, as `find_files` returns it."""
    sets = [folder / f"training_set{hospital}" for hospital in HOSPITALS]
    names = (f"{each.name}/{name}" for each in sets if each.is_dir() for name in os.listdir(each))
    return sum(1 for name in names if _PATIENT.search(name))


def read_files(path: Path) -> Iterator[PatientFile]:
    """Yield every patient's file of a folder or an archive, as `find_files` returns it, in the order they lie there.

    Members of an archive are read in memory, one at a time, and none is written anywhere.
    """
    if path.is_dir():
        return _read_folder(path)
    return _read_zip(path) if path.name.endswith(".zip") else _read_tar(path)


def _read_folder(path: Path) -> Iterator[PatientFile]:
    for hospital in HOSPITALS:
        for entry in sorted((path / f"training_set{hospital}").iterdir()):
            found = _PATIENT.search(entry.as_posix())
            if found:
                yield PatientFile(hospital, int(found[2]), str(entry), entry.read_bytes())


def _read_tar(path: Path) -> Iterator[PatientFile]:
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                found = _PATIENT.search(member.name)
                stream = archive.extractfile(member) if found and member.isfile() else None
                if found and stream:
                    yield PatientFile(found[1], int(found[2]), f"{path.name}: {member.name}", stream.read())
    # tarfile and its decompressors report damage through any of these, depending on which byte is wrong.
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError) as error:
        raise _unreadable(path, error) from error


def _read_zip(path: Path) -> Iterator[PatientFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if found := _PATIENT.search(name):
                    yield PatientFile(found[1], int(found[2]), f"{path.name}: {name}", archive.read(name))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> RawDataError:
    return RawDataError(f"{path} can't be read to its end: {error}. Delete it and download it again.")
