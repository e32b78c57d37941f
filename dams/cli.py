"""The command `dams`: a run with its progress, and small things around it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dams.experiments import config

# What Snakemake says of a folder with a lock.
LOCKED = "cannot be locked"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(prog="dams", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="check a configuration and say what it would run")
    check.add_argument("config", type=Path)
    schema = commands.add_parser("schema", help="write the JSON schema of a configuration, for editors")
    schema.add_argument("path", type=Path, nargs="?", default=Path("config/schema.json"))
    simulate = commands.add_parser("simulate-eicu", help="write a simulated eICU cohort as FIDDLE would")
    simulate.add_argument("folder", type=Path)
    simulate.add_argument("--size", choices=["default", "test"], default="default")
    simulate.add_argument(
        "--scenario", choices=["ucar", "block_ucar", "hourly", "population", "mar", "mnar"], default="ucar"
    )
    simulate.add_argument("--strength", type=float, default=1.0)
    simulate.add_argument("--seed", type=int, default=0)
    download = commands.add_parser("download-eicu", help="download eICU with your own PhysioNet account")
    download.add_argument("folder", type=Path)
    run = commands.add_parser("run", help="run a configuration; further options go to snakemake")
    run.add_argument("config", type=Path)
    run.add_argument("--cores", default="all")
    report = commands.add_parser("report", help="write report.html from whatever a results folder holds")
    report.add_argument("folder", type=Path)
    given, further = parser.parse_known_args(arguments)
    if further and given.command != "run":
        parser.error(f"unrecognised arguments: {' '.join(further)}")
    if given.command == "check":
        return _check(given.config)
    if given.command == "run":
        return _run(given.config, given.cores, further)
    if given.command == "report":
        return _report(given.folder)
    if given.command == "schema":
        given.path.write_text(config.schema(), encoding="utf-8")
    elif given.command == "simulate-eicu":
        from dams.datasets import simulate_eicu

        options = {"size": given.size, "scenario": given.scenario, "strength": given.strength}
        simulate_eicu(given.folder, **options, random_state=given.seed)
    else:
        from dams.datasets.physionet import download_eicu

        download_eicu(given.folder)
    return 0


def _check(path: Path) -> int:
    from dams.experiments.design import blocks

    try:
        run = config.read(path)
    except (config.ConfigError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    jobs = list(blocks(run))
    for name in run.studies:
        own = [job for job in jobs if job.study == name]
        cells = {key.parts for job in own for key in job.cells}
        print(f"{name}: {len(cells)} cells in {len(own)} jobs, on {', '.join(run.studies[name].datasets)}")
    print(f"{path} is fine; results go to results/{run.name}/")
    return 0


def _run(path: Path, cores: str, further: list[str]) -> int:
    from dams import runner

    try:
        name = config.read(path).name
    except (config.ConfigError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    results = Path("results") / name
    log = results / "logs" / "snakemake.log"
    # --configfile takes all names that follow it, so that a target must not come next.
    command = [sys.executable, "-m", "snakemake", "--configfile", str(path), "--cores", cores, *further]
    code = runner.run(command, log)
    if code and LOCKED in log.read_text(encoding="utf-8"):
        print(
            "The folder is locked: another run is going on, or one was killed and left its lock. If none is, type\n"
            f"    dams run {path} --unlock\nand run again; what was finished is kept.",
            file=sys.stderr,
        )
    elif code:
        print(f"Snakemake stopped with code {code}; its whole log is {log}.", file=sys.stderr)
        print(
            f"`dams report {results}` makes a report of what there is; running again goes on from there.",
            file=sys.stderr,
        )
    return code


def _report(folder: Path) -> int:
    from dams.report.contents import what_is_missing
    from dams.report.evidence import Evidence
    from dams.report.page import write_page

    if not folder.is_dir():
        print(f"{folder} is not a folder; expected results/<name> of a run.", file=sys.stderr)
        return 1
    page = write_page(folder)
    for line in what_is_missing(Evidence(folder)):
        print(f"Not in this run: {line}")
    print(f"Report: {page}")
    return 0
