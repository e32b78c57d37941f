"""Which file of a results folder is to blame where no page can be made of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dams._files import DamagedFileError
from dams.report.run_folder import RunFolder

# Of a run's files, those that a page is made of.
_READ = (".csv", ".json", ".svg", ".html", ".npz")


def make_or_blame(make: Callable[[RunFolder, list[Path]], Any], folder: Path, raw: list[Path]) -> Any:
    """Return what `make` makes of a folder and the files on raw data; a file that keeps it from doing so is named.

    A table may be damaged so that it is read without complaint and fails much later, where nobody knows of a file. The
    one to blame is found by halving: all goes well without it, and not with it.

    Raises
    ------
    DamagedFileError
        For a file that was refused when it was read, or that is to blame.
    """
    try:
        return make(RunFolder(folder), raw)
    except (DamagedFileError, OSError):
        raise
    except Exception as error:
        paths = [*_files(folder), *raw]
        if any(str(path) in str(error) for path in paths):
            raise
        culprit = _culprit(lambda without: _succeeds(make, folder, raw, without), paths)
        if culprit is None:
            raise
        raise DamagedFileError(
            f"{culprit} can't be shown ({type(error).__name__}: {error}): it is damaged, or of another version of "
            "dams. Delete the file and run again."
        ) from error


def _culprit(succeeds_without: Callable[[set[Path]], bool], paths: list[Path]) -> Path | None:
    """Return a file with which all fails and without which all goes well, others put aside; None if there is none."""
    aside: set[Path] = set()
    if not succeeds_without(set(paths)):
        return None
    while len(paths) > 1:
        first, second = paths[: len(paths) // 2], paths[len(paths) // 2 :]
        if succeeds_without(aside | set(first)):
            paths = first
        else:
            aside, paths = aside | set(first), second
    return paths[0] if paths else None


def _files(folder: Path) -> list[Path]:
    products = RunFolder(folder).products
    paths = [folder / file for made in products for file in made.files if file.endswith(_READ)]
    return [path for path in paths if path.is_file()]


def _succeeds(make: Callable[[RunFolder, list[Path]], Any], folder: Path, raw: list[Path], without: set[Path]) -> bool:
    names = frozenset(path.relative_to(folder).as_posix() for path in without - set(raw))
    try:
        make(RunFolder(folder, without=names), [path for path in raw if path not in without])
    except Exception:
        return False
    return True
