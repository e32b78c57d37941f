"""`dams simulate-eicu`, `dams download-eicu` and `dams download-sepsis`: data of hospitals."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from dams.commands._common import Refused, seed
from dams.datasets.ehr_names import EHRScenario, Outcome
from dams.datasets.eicu.names import Scenario, Size


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands that simulate and download to the commands."""
    simulate = commands.add_parser("simulate-eicu", help="write a simulated eICU cohort as FIDDLE would")
    simulate.add_argument("folder", type=Path, help="where the files go; made if needed")
    simulate.add_argument(
        "--size", choices=get_args(Size), default="default", help="8,600 stays, or 1,200 (default: %(default)s)"
    )
    simulate.add_argument(
        "--scenario",
        choices=get_args(Scenario),
        default="ucar",
        help="how hospitals differ, see docs/eicu.md (default: %(default)s)",
    )
    simulate.add_argument(
        "--strength", type=float, default=1.0, help="of the loss, 0 to 1, or of the violation (default: %(default)s)"
    )
    simulate.add_argument("--seed", type=seed, default=0, help="of all random numbers (default: %(default)s)")
    simulate.set_defaults(do=_simulate)

    ehr = commands.add_parser(
        "simulate-ehr", help="write two simulated hospitals as CSV files, for docs/walk_through.md"
    )
    ehr.add_argument("folder", type=Path, help="where the files go; made if needed")
    ehr.add_argument("--rows", type=int, default=60_000, help="of source and of target (default: %(default)s)")
    ehr.add_argument(
        "--outcome", choices=get_args(Outcome), default="days", help="what to predict (default: %(default)s)"
    )
    ehr.add_argument(
        "--scenario", choices=get_args(EHRScenario), default="ucar", help="what else differs (default: %(default)s)"
    )
    ehr.add_argument("--seed", type=seed, default=0, help="of all random numbers (default: %(default)s)")
    ehr.set_defaults(do=_simulate_ehr)

    download = commands.add_parser("download-eicu", help="download eICU with your own PhysioNet account")
    download.add_argument("folder", type=Path, help="where the files go; made if needed")
    download.set_defaults(do=_download)

    sepsis = commands.add_parser("download-sepsis", help="download two hospitals with known losses, open to everyone")
    sepsis.add_argument("folder", type=Path, help="where the files go; made if needed")
    sepsis.add_argument("--archive", action="store_true", help="fetch one zip file instead of 40,336 small ones")
    sepsis.set_defaults(do=_download_sepsis)


def _simulate(given: argparse.Namespace) -> int:
    from dams.datasets import simulate_eicu
    from dams.datasets.eicu.names import choose_mechanism

    try:
        choose_mechanism(given.scenario, None, given.strength)
    except ValueError as error:
        raise Refused(f"--strength: {error}") from None
    options = {"size": given.size, "scenario": given.scenario, "strength": given.strength}
    try:
        simulate_eicu(given.folder, **options, random_state=given.seed)
    except OSError as error:
        raise Refused(f"{given.folder} can't be written: {error}") from None
    return 0


def _simulate_ehr(given: argparse.Namespace) -> int:
    from dams.datasets import simulate_ehr

    if given.rows < 2:
        raise Refused(f"--rows must be at least 2, got {given.rows}.")
    options = {"outcome": given.outcome, "scenario": given.scenario, "random_state": given.seed}
    try:
        simulate_ehr(given.rows, given.rows, **options).write(given.folder)
    except OSError as error:
        raise Refused(f"{given.folder} can't be written: {error}") from None
    print(f"{given.folder}: source.csv, target.csv, target_labelled.csv, target_outcomes.csv, truth.json")
    return 0


def _download(given: argparse.Namespace) -> int:
    from dams.datasets.eicu.physionet import DownloadError, download_eicu

    try:
        download_eicu(given.folder)
    except (DownloadError, OSError) as error:
        raise Refused(error) from None
    return 0


def _download_sepsis(given: argparse.Namespace) -> int:
    from dams.datasets import download_sepsis
    from dams.datasets.physionet import DownloadError

    try:
        found = download_sepsis(given.folder, archive=given.archive)
    except (DownloadError, OSError) as error:
        raise Refused(error) from None
    print(f"{found.path}: {found.files:,} patients, each file as the publisher lists it")
    return 0
