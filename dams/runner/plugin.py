"""A logger plugin of Snakemake that sends events.

Snakemake looks for plugins among the top-level modules that are named `snakemake_logger_plugin_…`. A distribution made
by flit holds one top-level module, here `dams`; so `launch` registers this one in the process that needs it. Other
Snakemake processes, such as those of jobs, never see it.
"""

from __future__ import annotations

import logging
from typing import ClassVar

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from dams.runner.account import hide_password
from dams.runner.events import Sender

# What is sent of an event: our names for Snakemake's. Nothing else leaves: no command, no environment.
FIELDS: dict[LogEvent, dict[str, str]] = {
    LogEvent.WORKFLOW_STARTED: {},
    LogEvent.RUN_INFO: {"jobs": "stats"},
    LogEvent.JOB_INFO: {"job": "jobid", "rule": "rule_name", "message": "rule_msg", "wildcards": "wildcards"},
    LogEvent.JOB_FINISHED: {"job": "job_id"},
    LogEvent.PROGRESS: {"done": "done", "total": "total"},
}


class LogHandler(LogHandlerBase):
    """Send the events of a run, and every error in Snakemake's words."""

    send: ClassVar[Sender]

    def emit(self, record: logging.LogRecord) -> None:
        """Send what a record says."""
        try:
            self._send(record)
        except Exception:
            # One that can't be sent must not keep others from being sent: they come from one thread.
            self.handleError(record)

    def _send(self, record: logging.LogRecord) -> None:
        # A dry run writes its jobs and its errors to stdout, and none of the jobs runs.
        dry = self.common_settings.dryrun
        kind = getattr(record, "event", None)
        if record.levelno >= logging.ERROR:
            text = "" if dry else hide_password(self.format(record))
            self.send("error", text=text, exception=getattr(record, "exception", None))
        elif kind in FIELDS and not dry:
            self.send(kind, **{ours: getattr(record, theirs) for ours, theirs in FIELDS[kind].items()})

    @property
    def writes_to_stream(self) -> bool:
        """No: Snakemake's own handler writes its log."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """No."""
        return False

    @property
    def has_filter(self) -> bool:
        """Yes, none: with `--quiet` an error is still an error, and a run without work is recognised."""
        return True

    @property
    def has_formatter(self) -> bool:
        """No: errors are shown in Snakemake's words."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """No."""
        return False
