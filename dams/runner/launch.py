"""The Snakemake process of `dams run`: `python -m dams.runner.launch` takes the options of `snakemake`.

It differs from `python -m snakemake` in three ways. Our logger plugin is registered and chosen. What Snakemake itself
writes goes to a pipe of its own, so that what jobs write to stderr is known to be theirs. And a hang-up is an
interrupt, after which Snakemake takes its lock away.

Jobs inherit none of these pipes and variables. Snakemake's own processes for jobs are started as `python -m snakemake`
and know nothing of the plugin.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import NoReturn

from snakemake.cli import main as snakemake
from snakemake_interface_logger_plugins.common import logger_plugin_module_prefix
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from dams.runner import plugin
from dams.runner.events import PIPES, Sender

NAME = "dams"


def main() -> NoReturn:
    """Run Snakemake with the arguments of this process."""
    arguments = sys.argv[1:]
    # In its log and its messages the command is `snakemake`, with options that it knows without this module.
    sys.argv[0] = "snakemake"
    # nohup has a run ignore it.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    if pipes := os.environ.pop(PIPES, ""):
        _connect(*map(int, pipes.split(",")))
        arguments = ["--logger", NAME, *arguments]
    snakemake(arguments)
    raise AssertionError("snakemake.cli.main exits by itself")


def _connect(events: int, text: int, *others: int) -> None:
    """Send events and text over the pipes with these numbers; the others are only held open."""
    for number in (events, text, *others):
        os.set_inheritable(number, False)
    sys.stderr = os.fdopen(text, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    plugin.LogHandler.send = send = Sender(events)
    LoggerPluginRegistry().register_plugin(f"{logger_plugin_module_prefix}{NAME}", plugin)

    # Options are read before there is a logger.
    plain = argparse.ArgumentParser.error

    def error(self: argparse.ArgumentParser, message: str) -> NoReturn:
        send("error", text=f"{self.prog}: error: {message}", exception=None)
        plain(self, message)

    argparse.ArgumentParser.error = error  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
