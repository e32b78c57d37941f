"""The files of a user's own that a run needs, sought or opened before it starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from dams.datasets.sepsis.files import HOSPITALS, PATIENTS, SEPSIS_DIR_VARIABLE, count_files, find_files
from dams.experiments.config import Config
from dams.experiments.config.mistakes import ConfigError, several_mistakes
from dams.experiments.config.sections import Sepsis
from dams.experiments.products import results_of


def refuse_taken_name(run: Config, *, source: str = "the configuration") -> None:
    """Refuse a run whose results folder can't be one, for a file has its name."""
    results = Path(results_of(run.name))
    if results.exists() and not results.is_dir():
        raise ConfigError(
            f"{source} has 1 mistake(s):\n"
            f"  name: {results} is a file, expected a folder or nothing; choose another name"
        )


def refuse_absent_tables(run: Config, *, there: Callable[[str], bool], below: str) -> None:
    """Refuse a run without one of the user's tables.

    Snakemake does so only where there are no results of that name; else it takes those that are there, of whatever
    table they are, for the run's.

    Parameters
    ----------
    run : Config
    there : callable
        Whether there is a file of that name, where Snakemake looks for it.
    below : str
        That place.
    """
    absent = [
        f"datasets.{name}: {table.path} does not exist below {below}, the folder that it is sought from."
        for name, table in run.datasets.items()
        if not there(table.path)
    ]
    if absent:
        raise several_mistakes("the configuration", absent)


def describe_inputs(run: Config, *, source: str = "the configuration") -> list[str]:
    """Describe what is kept of every table of the user; refuse what can't be used, all of it at once."""
    # Late, as in `eicu_inputs`.
    from dams.experiments.data import load_own_table

    lines, mistakes = [], []
    for name, table in run.datasets.items():
        try:
            own = load_own_table(table.model_dump())
        # What the loader refuses is a ValueError, what can't be opened an OSError; both say which file.
        except (ValueError, OSError) as error:
            mistakes.append(f"datasets.{name}: {error}")
        else:
            lines.append(f"{name}: {table.path} has {own.describe()}")
    if run.eicu and run.eicu.source == "folder":
        try:
            eicu_inputs(run.eicu.folder)
        except ConfigError as error:
            mistakes.append(str(error))
    if run.sepsis and run.sepsis.source == "folder":
        try:
            sepsis_inputs(*sepsis_folder(run.sepsis))
        except ConfigError as error:
            mistakes.append(str(error))
    if mistakes:
        raise several_mistakes(source, mistakes)
    without_absent_hospitals(run, tell=lines.append)
    return lines


def eicu_inputs(folder: str, *, there: Callable[[str], bool] = os.path.exists) -> list[str]:
    """List the files of a user's own eICU folder that a run reads; refuse a folder in which one is missing."""
    # Late, as pandas comes with it, which Snakemake would load each time that it starts.
    from dams.datasets.eicu.fiddle import files_of, mark_of_simulation

    needed, mark = [str(path) for path in files_of(folder).values()], str(mark_of_simulation(folder))
    lacking = [path for path in needed if not there(path)]
    if lacking and not there(folder):
        raise ConfigError(
            f"eicu.folder: {folder} is not a folder; name the one that holds FIDDLE_eicu/ and eicu-crd/, or "
            "set `source: simulated`"
        )
    if lacking:
        raise ConfigError(
            f"eicu.folder: {folder} has no {', '.join(lacking)}; docs/eicu.md lists the files, and where to get them"
        )
    # Where it comes or goes, what is said of the same numbers changes.
    return [*needed, *([mark] if there(mark) else [])]


def without_absent_hospitals(run: Config, tell: Callable[[str], object] | None = None) -> Config:
    """Leave the two hospitals out of a run that asks for them only if a copy of their data is there, and none is.

    `tell` is called with the reason where a copy was begun.
    """
    if run.sepsis is None or run.sepsis.source != "if_there":
        return run
    folder, said_by = sepsis_folder(run.sepsis)
    try:
        _find_whole_copy(folder)
    except FileNotFoundError as error:
        if tell and isinstance(error, _IncompleteError):
            tell(f"The two hospitals are left out. {said_by}: {error}")
        return run.model_copy(update={"sepsis": None})
    return run


class _IncompleteError(FileNotFoundError):
    """A copy of the hospitals' data was begun and not finished."""


def _find_whole_copy(folder: str) -> Path:
    """Return the folder or archive as `find_files` does; refuse a folder as an interrupted download leaves it."""
    try:
        path = find_files(folder)
    except FileNotFoundError:
        # The second hospital comes after the first.
        path = Path(folder)
        if not count_files(path):
            raise
    expected = sum(PATIENTS.values())
    if path.is_dir() and (found := count_files(path)) < expected:
        raise _IncompleteError(
            f"{path} holds {found:,} of {expected:,} patient files. Resume the download: "
            f"dams.datasets.download_sepsis({str(path)!r}), or `make sepsis` for data/sepsis."
        )
    return path


def sepsis_folder(asked: Sepsis) -> tuple[str, str]:
    """Return where the Challenge 2019 data are, or go, and what says so: the key, or the variable of the environment.

    The variable spares a download. A folder of the user's own is the one that the configuration names.
    """
    copy = os.environ.get(SEPSIS_DIR_VARIABLE)
    return (copy, SEPSIS_DIR_VARIABLE) if copy and asked.source != "folder" else (asked.folder, "sepsis.folder")


def sepsis_inputs(folder: str, said_by: str = "sepsis.folder") -> list[str]:
    """List what a run reads of a copy of the Challenge 2019 data: the archive, or the folders of both hospitals."""
    try:
        path = _find_whole_copy(folder)
    except FileNotFoundError as error:
        raise ConfigError(f"{said_by}: {error}") from None
    # Not the 40,336 files: a folder is newer once a file comes or goes.
    return [str(path)] if path.is_file() else [str(path / f"training_set{hospital}") for hospital in HOSPITALS]
