"""Start Snakemake, follow it to its end, and say how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO

from dams.experiments.config import Config
from dams.runner.account import find_account, hide_password
from dams.runner.alive import mark_alive
from dams.runner.events import PIPES
from dams.runner.follow import Seen, follow, read_lines
from dams.runner.progress import ProgressLine, expected_work
from dams.runner.signals import Group

# With these Snakemake runs no job.
NO_JOBS = {"-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--list", "--list-rules", "--summary", "--dag"}


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes
    ----------
    code : int
        The exit code of Snakemake or, where a signal stopped the run, 128 and its number, as a shell would say.
    idle : bool
        Whether all was there, so that no job was run.
    locked : bool
        Whether Snakemake refused to run because its lock is there.
    """

    code: int
    idle: bool = False
    locked: bool = False


class NotStartedError(Exception):
    """Snakemake could not be started; the text says why."""


def run(command: Sequence[str], log: Path, config: Config | None = None, *, stream: IO[str] | None = None) -> Outcome:
    """Run Snakemake, and pass signals on to it and its jobs.

    Snakemake gets a session of its own, so that a terminal's interrupt reaches it once, from here. Every run has its
    own log, because another run may be going on or may have failed; `log` is a link to the log of the run that started
    or ended last.

    Parameters
    ----------
    command : sequence of str
        Snakemake's command line.
    log : path
        Where the link to the log is made.
    config : Config or None
        What the command runs: tells how much there is to do, and whether an account is needed.
    stream : text stream or None
        Gets the line of progress; None: standard error.

    Returns
    -------
    Outcome
        How the run ended.
    """
    runs_jobs = not NO_JOBS & set(command)
    environment = os.environ | (find_account(config) if runs_jobs else {})
    progress = ProgressLine(stream or sys.stderr, work=expected_work(config) if config else None)
    group = Group(progress.tell)
    log.parent.mkdir(parents=True, exist_ok=True)
    own = log.with_name(f"{log.stem}-{datetime.now():%Y%m%d-%H%M%S-%f}{log.suffix}")
    with (
        open(own, "x", encoding="utf-8") as file,
        mark_alive(own) if runs_jobs else nullcontext() as alive,
        group.listening(),
        _started(command, environment, alive) as (child, lines),
    ):
        group.started(child.pid)
        if alive:
            print(child.pid, file=alive, flush=True)
        _link(log, own)
        try:
            hide = partial(hide_password, environment=environment)
            seen = follow(lines, file, progress, hide=hide, stopping=lambda: group.came)
        except OSError:
            # A disk that is full, say: whoever waits should hear of it now, and not when all jobs are done.
            group.send(signal.SIGINT)
            deque(lines, maxlen=0)
            raise
        code = child.wait()
        _link(log, own)
    if code and group.came:
        # Snakemake says that a job failed, whoever stopped it.
        return Outcome(128 + group.came[-1])
    if code and not (seen.failed or seen.started):
        # It ended before it had a logger, so its text is all there is.
        progress.tell("".join(seen.before).rstrip("\n"))
    return _outcome(code, seen)


def _outcome(code: int, seen: Seen) -> Outcome:
    # Snakemake has no event for "nothing to be done", but one for each workflow, and one for its jobs if there are any.
    idle = seen.started and not seen.planned
    return Outcome(code if code >= 0 else 128 - code, idle=not code and idle, locked=seen.locked)


@contextmanager
def _started(
    command: Sequence[str], environment: dict[str, str], alive: IO[str] | None
) -> Iterator[tuple[subprocess.Popen, Iterator]]:
    """Start a command with pipes for its events and its text. Yields the process, and its lines by where they are from.

    Its stderr is that of the jobs. The pipes are closed by its end, but stderr only by that of its last job.
    """
    try:
        (events, its_events), (text, its_text) = os.pipe(), os.pipe()
    except OSError as error:
        raise NotStartedError(error.strerror) from error
    inherited = [its_events, its_text, *([alive.fileno()] if alive else [])]
    with ExitStack() as stack:
        for number in (events, text):
            stack.callback(os.close, number)
        try:
            child = subprocess.Popen(
                command,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=inherited,
                env=environment | {PIPES: ",".join(map(str, inherited))},
            )
        except OSError as error:
            raise NotStartedError(f"{error.filename or command[0]}: {error.strerror}") from error
        finally:
            for number in (its_events, its_text):
                os.close(number)
        stack.enter_context(child)
        assert child.stderr is not None
        yield child, read_lines({"jobs": child.stderr.fileno(), "snakemake": text, "events": events})


def _link(log: Path, own: Path) -> None:
    """Let `log` stand for the file `own` beside it."""
    link = own.with_suffix(".link")
    link.symlink_to(own.name)
    os.replace(link, log)
