"""Events of a run: one JSON object per line, over a pipe from the Snakemake process to `dams run`.

They have the names of Snakemake's own (`snakemake_interface_logger_plugins.common.LogEvent`):

================== ====================================================================================
`workflow_started` the workflow is read
`run_info`         there is work; `jobs`: how many, by rule
`job_info`         a job starts; `job`: its number, `rule`, `message`, `wildcards`
`job_finished`     it went well; `job`
`progress`         `done` of `total` jobs
`error`            `text`: what Snakemake says of it; `exception`: the name of its class, where there is one
================== ====================================================================================
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

# The environment variable that tells `launch` the numbers of its pipes.
PIPES = "DAMS_RUN_PIPES"

Event = dict[str, Any]


class Sender:
    """Send events over the pipe with this number."""

    def __init__(self, number: int):
        self._number = number

    def __call__(self, event: str, **fields: Any) -> None:
        """Send one; without a reader, nothing."""
        line = (json.dumps({"event": event} | fields, default=str) + "\n").encode()
        with contextlib.suppress(BrokenPipeError):
            while line:
                line = line[os.write(self._number, line) :]


def parse(line: str) -> Event:
    """Return the event of a line; an empty one where the sender was killed within the line."""
    try:
        return json.loads(line)
    except ValueError:
        return {}
