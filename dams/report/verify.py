"""Whether a results folder is as its run left it: every file against the digests of its provenance and of its jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dams._files import damaged, sha256_of
from dams.experiments.digests import is_inside, read_digests
from dams.experiments.products import DIGESTS, SETTINGS, digests_of, entries_of, file_of
from dams.report.recognise import recognise
from dams.report.run_files import read_json
from dams.report.run_folder import RunFolder

_PROVENANCE = file_of("provenance")
# The provenance speaks of all that was made before it; of itself and of the page their jobs do.
_LAST = ("write_provenance", "write_report")
_DIGEST = re.compile("[0-9a-f]{64}")
# So many files are named of those that are no problem.
_NAMED = 5


@dataclass(frozen=True)
class Verification:
    """How a folder compares with what its run made.

    Attributes
    ----------
    folder : Path
        The folder of the run.
    sound : list of str
        Files whose content is what the run made.
    problems : list of str
        A sentence per file that is not what the run made, or that nothing vouches for.
    absent : list of str
        Files that the run made and the folder does not hold. A clone has what people look at, not the steps behind it.
    earlier : list of str
        Files with names of products that the configuration does not ask for, as an earlier one of this name did.
    """

    folder: Path
    sound: list[str]
    problems: list[str]
    absent: list[str]
    earlier: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [*self.problems, f"{self.folder}: {len(self.sound)} files are as the run made them."]
        if self.absent:
            lines.append(f"{len(self.absent)} that it made are not here: {_some(self.absent)}")
        if self.earlier:
            lines.append(f"{len(self.earlier)} of an earlier configuration: {_some(self.earlier)}")
        if self.problems:
            lines.append(f"{len(self.problems)} are not. Restore them, or delete them and run again.")
        return "\n".join(lines)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def verify(folder: str | Path) -> Verification:
    """Compare a results folder with the digests that its run wrote down.

    Three things vouch for a file: `provenance.json`, for products and for the steps behind them; the jobs that wrote
    provenance and page, for these two; and the provenance again, for the configuration in `config.json`. Digests that
    other jobs left must agree with the provenance. They tell an edit or damage, not a forger, who can write new ones.

    Raises
    ------
    ValueError
        If the folder holds no provenance, or one that does not say what files there should be.
    """
    folder = Path(folder)
    config, expected = _vouched_for(folder)
    problems: list[str] = []
    recorded: dict[str, str] = {}
    for path in sorted((folder / DIGESTS).glob("*.sha256")):
        try:
            recorded |= read_digests([path])
        except ValueError as error:
            problems.append(str(error))
    for rule in _LAST:
        for file in (file for entry in entries_of(rule).values() for file in entry.files):
            if file in recorded:
                expected[file] = recorded[file]
            elif (folder / file).exists():
                problems.append(f"{folder / file}: nothing vouches for it; {digests_of(rule)} is absent or damaged.")
    for name, digest in recorded.items():
        if expected.get(name, digest) != digest:
            problems.append(f"{folder / name}: {_PROVENANCE} and the job that made it, in {DIGESTS}/, disagree.")
    sound, absent = [], []
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            absent.append(name)
        elif (found := sha256_of(path)) == digest:
            sound.append(name)
        else:
            problems.append(f"{path}: not what the run made; expected SHA-256 {digest}, got {found}.")
    problems += [*_settings(folder, config), *_unknown(folder, expected)]
    return Verification(folder, sound, problems, absent, _earlier(folder, expected))


def _vouched_for(folder: Path) -> tuple[Any, dict[str, str]]:
    """Return the configuration and the digests of a run, as its provenance has them."""
    path = folder / _PROVENANCE
    content = read_json(path)
    if content is None:
        raise ValueError(f"{folder} holds no {_PROVENANCE}: expected results/<name> of a run that came to its end.")
    parts = [content.get(key) if isinstance(content, dict) else None for key in ("config", "files", "steps")]
    config, files, steps = (part if isinstance(part, dict) else None for part in parts)
    if config is None or files is None or steps is None:
        raise ValueError(
            f"{path} does not say what files there should be: expected config, files and steps, each with keys and "
            "values. It is damaged or of an earlier version; delete it and run again."
        )
    expected = {**files, **steps}
    for name, digest in expected.items():
        if not is_inside(name) or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise damaged(path, f"expected a file of the run and its SHA-256, got {name!r}: {digest!r}")
    return config, expected


def _settings(folder: Path, config: Any) -> list[str]:
    """Compare the configuration that was written at the start with that of the provenance."""
    path = folder / SETTINGS
    try:
        if not path.exists() or read_json(path) == config:
            return []
    except ValueError as error:
        return [str(error)]
    return [f"{path}: another configuration than that of {_PROVENANCE}."]


def _unknown(folder: Path, expected: Mapping[str, str]) -> list[str]:
    """Name files that pass for products of this run and that nothing vouches for."""
    try:
        products = RunFolder(folder).products
    except ValueError:  # said of config.json already
        return []
    last = {file for rule in _LAST for entry in entries_of(rule).values() for file in entry.files}
    names = [file for made in products for file in made.files if file not in expected and file not in last]
    return [f"{folder / name}: nothing vouches for it." for name in names if (folder / name).is_file()]


def _earlier(folder: Path, expected: Mapping[str, str]) -> list[str]:
    """Name what people may look at as if it were of this run, whose configuration does not ask for it."""
    try:
        asked = {file for made in RunFolder(folder).products for file in made.files}
    except ValueError:  # said of config.json already
        return []
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    # A user's own table among those of the run passes for one, but has no caption.
    found = [made for made in recognise(files) if made.product.kind == "data" or made.caption]
    names = (file for made in found for file in made.files if file not in asked and file not in expected)
    return [name for name in names if (folder / name).is_file()]
