"""Messages of a running job: progress to the terminal, everything to its log file."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


class Progress:
    """Report how far a job is and how long it may take, at most every `every` seconds."""

    def __init__(self, name: str, total: int, *, every: float = 10.0):
        self.name, self.total, self.every = name, total, every
        self.done = 0
        self.start = self.told = time.monotonic()

    def step(self) -> None:
        """Count one more cell."""
        self.done += 1
        now = time.monotonic()
        if now - self.told >= self.every and self.done < self.total:
            self.told = now
            left = (now - self.start) / self.done * (self.total - self.done)
            log.info("%s: %d of %d cells, about %.0f s left", self.name, self.done, self.total, left)


@contextmanager
def job_log(path: str | Path) -> Iterator[None]:
    """Log to `path` and, briefly, to the terminal; an uncaught error leaves its traceback in the file."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    file = logging.FileHandler(path, mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(logging.Formatter("%(message)s"))
    terminal.setLevel(logging.INFO)
    root = logging.getLogger("dams")
    root.setLevel(logging.INFO)
    root.handlers = [file, terminal]
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").handlers = [file]
    try:
        yield
    except Exception as error:
        file.emit(logging.LogRecord("dams", logging.ERROR, "", 0, "stopped", None, sys.exc_info()))
        sys.exit(f"{type(error).__name__}: {error}\nThe whole story is in {path}")
