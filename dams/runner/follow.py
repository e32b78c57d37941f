"""Output of a run over its pipes: text for the log, events for whoever watches."""

from __future__ import annotations

import codecs
import io
import os
import selectors
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Literal

from dams.runner.events import parse
from dams.runner.progress import ProgressLine

Source = Literal["jobs", "snakemake", "events"]

# As many lines of what jobs wrote are shown with an error: enough for the traceback of one that failed before it had a
# log of its own. Which job wrote a line is not known.
RECENT = 40


def read_lines(pipes: Mapping[Source, int]) -> Iterator[tuple[Source, str]]:
    """Yield lines as they come, until all pipes are closed.

    Of pipes that are ready, the first comes first: what a job wrote stands before what Snakemake says of its end.
    """
    utf8 = codecs.getincrementaldecoder("utf-8")
    decoders = {name: io.IncrementalNewlineDecoder(utf8("replace"), translate=True) for name in pipes}
    rest = dict.fromkeys(pipes, "")
    with selectors.DefaultSelector() as selector:
        for name, number in pipes.items():
            selector.register(number, selectors.EVENT_READ, name)
        while selector.get_map():
            ready = {key.data for key, _ in selector.select()}
            for name in pipes:
                if name not in ready:
                    continue
                chunk = os.read(pipes[name], 1 << 16)
                *lines, rest[name] = (rest[name] + decoders[name].decode(chunk, final=not chunk)).split("\n")
                for line in lines:
                    yield name, f"{line}\n"
                if not chunk:
                    selector.unregister(pipes[name])
                    if rest[name]:
                        yield name, rest[name]


@dataclass
class Seen:
    """Summary of the events of a run.

    Attributes
    ----------
    started, planned : bool
        Whether the workflow was read, and whether it had jobs to run.
    failed : bool
        Whether there was an error.
    locked : bool
        Whether it was that Snakemake's lock is there.
    before : list of str
        The lines that were written before the workflow was read.
    """

    started: bool = False
    planned: bool = False
    failed: bool = False
    locked: bool = False
    before: list[str] = field(default_factory=list)


def follow(
    messages: Iterable[tuple[Source, str]],
    log: IO[str],
    progress: ProgressLine,
    *,
    hide: Callable[[str], str] = str,
    stopping: Callable[[], object] = bool,
) -> Seen:
    """Write every line of text to the log; show progress, and errors in full.

    Parameters
    ----------
    hide : callable
        Returns a text without what must not be written.
    stopping : callable
        Whether the run was told to stop: that jobs fail then is no news.
    """
    seen = Seen()
    recent: deque[str] = deque(maxlen=RECENT)
    progress.show()
    for source, line in messages:
        if source != "events":
            text = hide(line)
            log.write(text)
            log.flush()
            if source == "jobs":
                recent.append(text)
            if not seen.started:
                seen.before.append(text)
            continue
        event = parse(line)
        match event:
            case {"event": "workflow_started"}:
                seen.started = True
            case {"event": "run_info"}:
                seen.planned = True
            case {"event": "error", "text": text, "exception": exception}:
                seen.failed = True
                seen.locked = seen.locked or exception == "LockException"
                if text and not stopping():
                    progress.tell("".join(recent) + hide(text))
                recent.clear()
        progress.read(event)
    progress.clear()
    return seen
