"""The command `dams`: a run with its progress, and small things around it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import traceback

import dams
from dams._extras import EXTRAS, how_to_install
from dams.commands import adapt, compare, data, results, run, summarise
from dams.commands._common import Refused


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # A character that the terminal cannot show is no reason to fail.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    parser = make_parser()
    given, further = parser.parse_known_args(arguments)
    if further and given.command != "run":
        parser.error(f"unrecognised arguments: {' '.join(further)}")
    given.further = further
    try:
        code = given.do(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who reads has had enough, as `head` has; what is left to write goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        # Files appear whole or not at all, so that there is nothing to tidy up.
        print(f"\n`dams {given.command}` was interrupted.", file=sys.stderr)
        return 128 + signal.SIGINT
    except Refused as refusal:
        print(refusal, file=sys.stderr)
    except ModuleNotFoundError as error:
        module = (error.name or "").split(".")[0]
        if module not in EXTRAS:
            return _fail(given)
        print(
            f"`dams {given.command}` needs {module}, which is not installed: {how_to_install(module)} installs it.",
            file=sys.stderr,
        )
    except Exception:
        return _fail(given)
    return given.error_code


def _fail(given: argparse.Namespace) -> int:
    """Show an error of the program; where 1 is a result, it must not look like one."""
    traceback.print_exc()
    return given.error_code


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="dams", description=__doc__)
    parser.set_defaults(error_code=1)
    parser.add_argument("--version", action="version", version=f"dams {dams.__version__}", help="show it and stop")
    commands = parser.add_subparsers(dest="command", required=True)
    for topic in (run, results, compare, adapt, summarise, data):
        topic.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
