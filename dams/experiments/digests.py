"""Digests of each job: the SHA-256 of its outputs, in a file that `sha256sum --check` reads too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dams._files import damaged, sha256_of, whole_file

# A line of such a file: the digest, two spaces, and a name below the folder of the run.
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>\S(?:.*\S)?)")


@contextmanager
def recorded(output: Any) -> Iterator[None]:
    """Write the digests of a job's outputs when the job is done.

    Parameters
    ----------
    output : snakemake.io.OutputFiles
        The outputs of the job. The one named `digests` is the file to write; see `DIGESTS` in products.py for its
        place. The digests of the others, and of all files in those that are folders, go into it.
    """
    yield
    write_digests(output.digests, [file for file in output if file != output.digests])


def write_digests(path: str | Path, files: Iterable[str | Path]) -> None:
    """Write the digests of files that lie in the run's folder, two levels above `path`."""
    folder = Path(path).parents[1]
    found = {file.relative_to(folder).as_posix(): sha256_of(file) for given in files for file in _files_in(Path(given))}
    with whole_file(path) as partial:
        partial.write_text("".join(f"{found[name]}  {name}\n" for name in sorted(found)), encoding="utf-8")


def read_digests(paths: Iterable[str | Path]) -> dict[str, str]:
    """Return the digests that jobs wrote, by the name of the file below the run's folder."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise damaged(path, error) from None
        for number, line in enumerate(lines, start=1):
            match = _LINE.fullmatch(line)
            if match is None or not is_inside(match["name"]):
                raise damaged(path, f"line {number}: expected a SHA-256, two spaces and a file of the run")
            found[match["name"]] = match["digest"]
    return found


def is_inside(name: str) -> bool:
    """Whether a name can only be of a file below the run's folder."""
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def refuse_altered(folder: str | Path, files: Iterable[str | Path], digests: Mapping[str, str]) -> None:
    """Raise ValueError for the first file whose content is not what its job wrote."""
    for file in files:
        name = Path(file).relative_to(folder).as_posix()
        if name not in digests:
            raise damaged(file, "its job left no SHA-256 of it")
        if (found := sha256_of(file)) != digests[name]:
            raise damaged(
                file,
                f"it is not what its job wrote: expected a content with SHA-256 {digests[name]}, got one with {found}",
            )


def _files_in(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
