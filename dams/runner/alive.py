"""Which runs are alive.

Snakemake's own lock tells nothing of who holds it, and stays behind where Snakemake is killed. A file beside the log of
each run is locked by the processes of that run, `dams run` and Snakemake, and by the system only as long as one of them
lives: a file that was left behind blocks nobody.

Not known here: runs of plain `snakemake`, and those on file systems without locks.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

SUFFIX = ".alive"


@contextmanager
def mark_alive(log: Path) -> Iterator[IO[str]]:
    """Mark the run with this log as alive. Yields the file: whoever inherits it keeps the run alive.

    It is there to hold the number of the run's group of processes.
    """
    path = log.with_suffix(SUFFIX)
    with open(path, "x", encoding="utf-8") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield file
        finally:
            path.unlink(missing_ok=True)


def living_runs(results: Path) -> dict[Path, str]:
    """Return the number of the group of processes of every run that is alive, by its log."""
    found = {}
    for path in sorted(results.glob(f"*/logs/*{SUFFIX}")):
        with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found[path.with_suffix(".log")] = file.read().strip()
            except OSError:
                continue
    return found
