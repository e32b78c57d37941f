"""Signals for a run."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def passing_on(child: subprocess.Popen) -> Iterator[list[int]]:
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
