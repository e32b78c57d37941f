"""`dams run`: Snakemake with one line of progress, its whole log in a file, and its errors in full."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from dams.experiments import config

# The account with which eICU is downloaded: name and password.
ACCOUNT = ("PHYSIONET_USERNAME", "PHYSIONET_PASSWORD")
# With these Snakemake runs no job.
_NO_JOBS = {"-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--list", "--list-rules", "--summary", "--dag"}
_STEPS = re.compile(r"^(\d+) of (\d+) steps \(\d+%\) done")
_JOB = re.compile(r"^Job \d+: (.*)")
_ERROR = re.compile(r"^(\w*Error\b|\w*Exception\b|Error in rule|Traceback|Exiting because|\S+: error: )")
# What Snakemake says of a job that goes well, or of the machine.
_ROUTINE = re.compile(
    r"^(\[\w{3} \w{3}|Finished jobid|Select jobs|Execute \d|Job \d+:|Reason:|Trying to restart|\d+ of \d+ steps|$)"
)


class ProgressLine:
    """Jobs done, share, expected time, what is being done: a line that changes or, off a terminal, one now and then."""

    def __init__(self, stream: IO[str], *, clock: Callable[[], float] = time.monotonic, every: float = 30.0):
        self.stream, self.clock, self.every = stream, clock, every
        self.start = clock()
        self.told = -every
        self.done, self.total, self.doing = 0, 0, "Planning the jobs"
        self.shown = False

    def read(self, line: str) -> None:
        """Take in a line of Snakemake's and show what changed."""
        if steps := _STEPS.match(line):
            self.done, self.total = int(steps[1]), int(steps[2])
        elif job := _JOB.match(line):
            self.doing = job[1]
        else:
            return
        self.show()

    def text(self) -> str:
        """Say how far things are."""
        if not self.done:
            return f"{self.doing} …"
        left = (self.clock() - self.start) / self.done * (self.total - self.done)
        share = f"{self.done} of {self.total} jobs, {100 * self.done // self.total} %"
        return f"{share}, about {duration(left)} left: {self.doing} …" if self.done < self.total else f"{share}"

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self.shown = False

    def show(self) -> None:
        """Say it, if it is time."""
        if self.stream.isatty():
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\x1b[K" + self.text()[:width])
            self.shown = True
        elif self.clock() - self.told >= self.every or self.done == self.total > 0:
            self.told = self.clock()
            self.stream.write(self.text() + "\n")
        self.stream.flush()


def duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def follow(lines: Iterator[str], log: IO[str], progress: ProgressLine, stream: IO[str]) -> None:
    """Write every line to the log; show progress, and from the first error on all that is not routine."""
    progress.show()
    failing = False
    for line in lines:
        log.write(line)
        log.flush()
        text = line.rstrip("\n")
        failing = failing or bool(_ERROR.match(text))
        if failing and not _ROUTINE.match(text):
            progress.clear()
            print(text, file=stream, flush=True)
        progress.read(text)
    progress.clear()


def run(command: Sequence[str], log: Path, *, stream: IO[str] = sys.stderr) -> int:
    """Run Snakemake, pass INT and TERM on to it, and return its exit code.

    It gets a session of its own: a terminal's interrupt then reaches it once, from here, and it stops its jobs as it
    would without this. Every run has a log of its own, for another may be going on or have failed; `log` is a link to
    that of the run which was the last to start or end, so after a run to its own.
    """
    environment = os.environ | _account(command)
    log.parent.mkdir(parents=True, exist_ok=True)
    own = log.with_name(f"{log.stem}-{datetime.now():%Y%m%d-%H%M%S-%f}{log.suffix}")
    with (
        open(own, "x", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env=environment,
        ) as child,
        _passing_on(child),
    ):
        assert child.stderr is not None
        _link(log, own)
        follow(iter(child.stderr.readline, ""), file, ProgressLine(stream), stream)
        code = child.wait()
        _link(log, own)
    # As a shell would say that a signal ended it.
    return code if code >= 0 else 128 - code


def _link(log: Path, own: Path) -> None:
    """Let `log` stand for the file `own` beside it."""
    link = own.with_suffix(".link")
    link.symlink_to(own.name)
    os.replace(link, log)


def _account(command: Sequence[str]) -> dict[str, str]:
    """Name and password for a run that downloads eICU, asked for here: nobody sees the question of a job.

    They go into the environment of that run, and nowhere else.
    """
    if "--configfile" not in command or _NO_JOBS & set(command) or all(os.environ.get(name) for name in ACCOUNT):
        return {}
    eicu = config.read(command[command.index("--configfile") + 1]).eicu
    if eicu is None or eicu.source != "physionet" or (Path(eicu.folder) / "downloaded.json").exists():
        return {}
    if sys.stdin.isatty():
        from dams.datasets.physionet import find_credentials

        found = find_credentials()
        if found.username and found.password:
            return dict(zip(ACCOUNT, (found.username, found.password), strict=True))
    sys.exit(f"eICU is downloaded with your PhysioNet account: set {' and '.join(ACCOUNT)}, then run again.")


@contextmanager
def _passing_on(child: subprocess.Popen) -> Iterator[None]:
    def send(number: int, frame: Any) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, send) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
