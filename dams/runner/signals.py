"""Signals for a run: they go to Snakemake and to all its jobs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

ADVICE = "Stopping the jobs. If they go on, Ctrl-C ends them, and once more kills them."


class Group:
    """The group of processes that a run is, told to stop by signals to this one.

    The first signal goes to all of them as it came. Snakemake cancels its jobs and waits for them, and they end of the
    same signal. A job may take long to hear of it, or ignore it: the second signal is TERM, the third KILL.

    Parameters
    ----------
    say : callable
        Told a sentence at the first signal.
    """

    def __init__(self, say: Callable[[str], None]):
        self.came: list[int] = []
        self._say = say
        self._leader: int | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take INT, TERM and HUP; HUP not where it is ignored, as with nohup."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._take) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def started(self, leader: int) -> None:
        """Pass signals on to the group of this process, beginning with those that came before."""
        self._leader = leader
        if self.came:
            self.send(self.came[-1])

    def send(self, number: int) -> None:
        """Send a signal to all that are there."""
        if self._leader is not None:
            # macOS refuses where only ended ones are left.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)

    def _take(self, number: int, frame: Any) -> None:
        self.came.append(number)
        self.send((number, signal.SIGTERM, signal.SIGKILL)[min(len(self.came), 3) - 1])
        if len(self.came) == 1:
            # RuntimeError: the stream was being written to.
            with suppress(RuntimeError):
                self._say(ADVICE)
