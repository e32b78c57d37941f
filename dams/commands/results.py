"""`dams report` and `dams verify`: what a run left."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dams.commands._common import Refused, holds_a_run


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report` and `verify` to the commands."""
    report = commands.add_parser("report", help="write report.html from whatever a results folder holds")
    report.add_argument("folder", type=Path, help="results/<name> of a run, finished or not")
    report.set_defaults(do=_report)

    verify = commands.add_parser("verify", help="check that the files of a results folder are as the run made them")
    verify.add_argument("folder", type=Path, help="results/<name> of a run that came to its end")
    verify.add_argument("--complete", action="store_true", help="also fail where a file that the run made is not there")
    verify.set_defaults(do=_verify)


def _report(given: argparse.Namespace) -> int:
    from dams.experiments.products import MANIFEST, SETTINGS, file_of
    from dams.report.page.contents import what_is_missing
    from dams.report.page.render import write_page
    from dams.report.run_folder import RunFolder

    folder = given.folder
    if not folder.is_dir():
        raise Refused(f"{folder} is not a folder; expected results/<name> of a run.")
    if not holds_a_run(folder):
        raise Refused(
            f"{folder} holds nothing of a run; expected results/<name>, with {SETTINGS} or {file_of('records')} in it."
        )
    try:
        run = RunFolder(folder)
        # Tables and figures alone, without the records behind them, make no page; a run without studies has none.
        held = [file_of("records"), file_of("records_compact"), MANIFEST["block_records"].path.split("/")[0]]
        finished = (folder / file_of("provenance")).exists() and (run.run is None or run.run.studies)
        if finished and not any((folder / name).exists() for name in held):
            raise Refused(
                f"{folder} is of a run that came to its end, but its records are not there: expected {held[0]}, "
                f"{held[1]} or {held[2]}/, got none of them. A page made now would be empty, so report.html is left as "
                "it is; `dams run` with the configuration of this run makes the records and the page."
            )
        page = write_page(folder)
        missing = what_is_missing(run)
    except OSError as error:
        raise Refused(
            f"No report of {folder}: {error.filename or folder}: {error.strerror}. "
            "Expected a folder that can be read and written."
        ) from None
    except ValueError as error:
        raise Refused(f"No report of {folder}: {error}") from None
    for line in missing:
        print(f"Not in this run: {line}")
    print(f"Report: {page}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    from dams.report.verify import verify

    try:
        found = verify(given.folder)
    except (ValueError, OSError) as error:
        raise Refused(error) from None
    failed = bool(found.problems or (given.complete and found.absent))
    print(found, file=sys.stderr if failed else sys.stdout)
    return int(failed)
