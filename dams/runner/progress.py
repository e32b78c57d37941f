"""The line of progress of a run, from events."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dams.experiments import design
from dams.experiments.config import Config
from dams.experiments.products import file_of, results_of
from dams.runner.events import Event

# The rule whose jobs are blocks.
BLOCK = "run_block"


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
    _running: dict[int, float] = field(default_factory=dict)

    def read(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case {"event": "run_info", "jobs": jobs}:
                self.n_blocks = jobs.get(BLOCK, 0)
            case {"event": "job_info", "job": job}:
                self._running[job] = self._expected(event)
            case {"event": "job_finished", "job": job}:
                self.done += self._running.pop(job, self.OTHER)

    def _expected(self, event: Event) -> float:
        if event.get("rule") != BLOCK:
            return self.OTHER
        return self.blocks.get(design.BLOCK.format(**event["wildcards"]), self.OTHER)

    def total(self, n_jobs: int) -> float:
        """Of so many jobs, the blocks among them."""
        n_blocks = min(self.n_blocks, n_jobs)
        return max(self.done, n_blocks * self.left + (n_jobs - n_blocks) * self.OTHER)


def expected_work(config: Config) -> Work:
    """Return what a run of a configuration has to do; blocks whose records are there will not be run."""
    jobs = list(design.blocks(config))
    seconds = {block.path: block.seconds for block in jobs}
    results = Path(results_of(config.name))
    left = [job.seconds for job in jobs if not (results / file_of("block_records", **job.wildcards)).exists()]
    chosen = left or list(seconds.values())
    return Work(seconds, sum(chosen) / len(chosen) if chosen else Work.OTHER)


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

    def read(self, event: Event) -> None:
        """Take in an event and show what changed."""
        self.work.read(event)
        match event:
            case {"event": "progress", "done": done, "total": total}:
                self.done, self.total = done, total
            case {"event": "job_info", "message": str(message)}:
                self.doing = message
            case _:
                return
        self.show()

    def text(self) -> str:
        """Print how far the run is."""
        if not self.work.done:
            return f"{self.doing} …"
        jobs = f"{self.done} of {self.total} jobs"
        if self.done == self.total:
            return f"{jobs}, 100 %"
        share = self.work.done / self.work.total(self.total)
        left = (self.clock() - self.start) * (1 / share - 1)
        return f"{jobs}, {100 * share:.0f} %, about {duration(left)} left: {self.doing} …"

    def tell(self, text: str) -> None:
        """Write a text in place of the line."""
        self.clear()
        with _whether_heard_or_not():
            print(text, file=self.stream, flush=True)

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self.shown:
            with _whether_heard_or_not():
                self.stream.write("\r\x1b[K")
                self.stream.flush()
            self.shown = False

    def show(self) -> None:
        """Print it, if enough time has passed."""
        with _whether_heard_or_not():
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


@contextmanager
def _whether_heard_or_not() -> Iterator[None]:
    """Ignore that the terminal was closed: a signal says so too, and decides what becomes of the run."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise
