"""`dams run`: Snakemake with one line of progress, its whole log in a file, and its errors in full."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from dams.experiments import config
from dams.experiments.design import blocks
from dams.experiments.products import file_of, results_of

# The account with which eICU is downloaded: name and password.
ACCOUNT = ("PHYSIONET_USERNAME", "PHYSIONET_PASSWORD")
# With these Snakemake runs no job.
_NO_JOBS = {"-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--list", "--list-rules", "--summary", "--dag"}
_STEPS = re.compile(r"^(\d+) of (\d+) steps \(\d+%\) done")
_JOB = re.compile(r"^Job (\d+): (.*)")
_FINISHED = re.compile(r"^Finished jobid: (\d+)")
# How many blocks Snakemake is going to run, and what it says of one.
_BLOCKS = re.compile(r"^run_block +(\d+)")
_BLOCK = re.compile(r"^Running (\w+): (\w+) on (\w+), block (\d+)")
_ERROR = re.compile(r"^(\w*Error\b|\w*Exception\b|Error in rule|Traceback|Exiting because|\S+: error: )")
# What Snakemake says of a job that goes well, or of the machine.
_ROUTINE = re.compile(
    r"^(\[\w{3} \w{3}|Finished jobid|Select jobs|Execute \d|Job \d+:|Reason:|Trying to restart|\d+ of \d+ steps|$)"
)


@dataclass
class Work:
    """How much a run has to do, and has done, in seconds that its jobs are expected to take.

    Blocks start with the longest: by the number of jobs alone, a run would seem to be over soon, and then later and
    later.

    Parameters
    ----------
    blocks : mapping
        Expected seconds of every block, by where its records go (`Block.path`).
    left : float
        The mean over the blocks that are yet to be run.
    """

    OTHER = 5.0  # of a job that is no block

    blocks: Mapping[str, float] = field(default_factory=dict)
    left: float = OTHER
    n_blocks: int = 0
    done: float = 0.0
    _running: dict[str, float] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Take in a line of Snakemake's."""
        if found := _BLOCKS.match(line):
            self.n_blocks = int(found[1])
        elif found := _JOB.match(line):
            self._running[found[1]] = self._expected(found[2])
        elif found := _FINISHED.match(line):
            self.done += self._running.pop(found[1], self.OTHER)

    def _expected(self, message: str) -> float:
        if block := _BLOCK.match(message):
            study, group, dataset, number = block.groups()
            return self.blocks.get(f"{study}/{dataset}-{group}-{number}", self.OTHER)
        return self.OTHER

    def total(self, n_jobs: int) -> float:
        """Of so many jobs, the blocks among them."""
        n_blocks = min(self.n_blocks, n_jobs)
        return max(self.done, n_blocks * self.left + (n_jobs - n_blocks) * self.OTHER)


class ProgressLine:
    """Jobs done, share, expected time, what is being done: a line that changes or, off a terminal, one now and then."""

    def __init__(
        self,
        stream: IO[str],
        *,
        work: Work | None = None,
        clock: Callable[[], float] = time.monotonic,
        every: float = 30.0,
    ):
        self.stream, self.clock, self.every = stream, clock, every
        self.work = work or Work()
        self.start = clock()
        self.told = -every
        self.done, self.total, self.doing = 0, 0, "Planning the jobs"
        self.shown = False

    def read(self, line: str) -> None:
        """Take in a line of Snakemake's and show what changed."""
        self.work.read(line)
        if steps := _STEPS.match(line):
            self.done, self.total = int(steps[1]), int(steps[2])
        elif job := _JOB.match(line):
            self.doing = job[2]
        else:
            return
        self.show()

    def text(self) -> str:
        """Say how far things are."""
        if not self.work.done:
            return f"{self.doing} …"
        jobs = f"{self.done} of {self.total} jobs"
        if self.done == self.total:
            return f"{jobs}, 100 %"
        share = self.work.done / self.work.total(self.total)
        left = (self.clock() - self.start) * (1 / share - 1)
        return f"{jobs}, {100 * share:.0f} %, about {duration(left)} left: {self.doing} …"

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
        _passing_on(child) as passed_on,
    ):
        assert child.stderr is not None
        _link(log, own)
        try:
            follow(iter(child.stderr.readline, ""), file, ProgressLine(stream, work=_work(command)), stream)
        except OSError:
            # A disk that is full, say: whoever waits should hear of it now, and not when all jobs are done.
            child.send_signal(signal.SIGINT)
            raise
        code = child.wait()
        _link(log, own)
    # As a shell would say that a signal ended it; Snakemake says that a job failed, whoever stopped it.
    if code and passed_on:
        return 128 + passed_on[-1]
    return code if code >= 0 else 128 - code


def _work(command: Sequence[str]) -> Work:
    """What a run of a configuration has to do; blocks whose records are there will not be run."""
    if "--configfile" not in command:
        return Work()
    run = config.read(command[command.index("--configfile") + 1])
    jobs = list(blocks(run))
    seconds = {block.path: block.seconds for block in jobs}
    records = {block.path: Path(results_of(run.name), file_of("block_records", **block.wildcards)) for block in jobs}
    left = [expected for path, expected in seconds.items() if not records[path].exists()]
    chosen = left or list(seconds.values())
    return Work(seconds, sum(chosen) / len(chosen) if chosen else Work.OTHER)


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
    from dams.datasets.eicu.physionet import NO_ACCOUNT, find_credentials

    if sys.stdin.isatty():
        found = find_credentials()
        if found.username and found.password:
            return dict(zip(ACCOUNT, (found.username, found.password), strict=True))
    sys.exit(NO_ACCOUNT)


@contextmanager
def _passing_on(child: subprocess.Popen) -> Iterator[list[int]]:
    """Pass signals on to a process; yields those that came."""
    passed_on: list[int] = []

    def send(number: int, frame: Any) -> None:
        passed_on.append(number)
        child.send_signal(number)

    before = {number: signal.signal(number, send) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield passed_on
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
