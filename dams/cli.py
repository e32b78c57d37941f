"""The command `dams`: a run with its progress, and small things around it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from pathlib import Path
from typing import get_args

import dams
from dams._extras import EXTRAS, how_to_install
from dams.datasets.eicu.names import Scenario, Size

# Snakemake's option that takes its lock away. It has no event for that; the option and the exit code say it.
UNLOCK = "--unlock"
# Exit codes of a run that was told to stop, and of one whose terminal was closed: nobody reads what is said of it.
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
HUNG_UP = 129  # 128 + SIGHUP, which Windows does not have


class Refused(Exception):  # noqa: N818 - a sentence for whoever typed the command
    """Something the user can mend; the text says what."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # What a terminal's letters lack is no reason to fail.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    parser = _parser()
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
    except Refused as refusal:
        print(refusal, file=sys.stderr)
    except ModuleNotFoundError as error:
        module = (error.name or "").split(".")[0]
        if module not in EXTRAS:
            raise
        print(
            f"`dams {given.command}` needs {module}, which is not installed: {how_to_install(module)} installs it.",
            file=sys.stderr,
        )
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dams", description=__doc__)
    parser.add_argument("--version", action="version", version=f"dams {dams.__version__}", help="show it and stop")
    commands = parser.add_subparsers(dest="command", required=True)

    check = commands.add_parser("check", help="check a configuration and its files, and say what it would run")
    check.add_argument("config", type=Path, help="YAML file; config/README.md explains every key")
    check.set_defaults(do=_check)

    run = commands.add_parser("run", help="run a configuration; further options go to snakemake")
    run.add_argument("config", type=Path, help="YAML file, such as config/quickstart.yaml")
    run.add_argument("--cores", default="all", help="processor cores to use, a number or all (default: %(default)s)")
    run.set_defaults(do=_run)

    report = commands.add_parser("report", help="write report.html from whatever a results folder holds")
    report.add_argument("folder", type=Path, help="results/<name> of a run, finished or not")
    report.set_defaults(do=_report)

    verify = commands.add_parser("verify", help="check that the files of a results folder are as the run made them")
    verify.add_argument("folder", type=Path, help="results/<name> of a run that came to its end")
    verify.add_argument("--complete", action="store_true", help="also fail where a file that the run made is not there")
    verify.set_defaults(do=_verify)

    compare = commands.add_parser("compare", help="say how two CSV files differ in what they lose")
    compare.add_argument("source", type=Path, help="CSV file with a header line: the place with labels")
    compare.add_argument("target", type=Path, help="CSV file with the same columns: the place to predict in")
    compare.add_argument(
        "--label",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns to leave out, in whichever file they are: labels, identifiers",
    )
    compare.add_argument(
        "--always-recorded",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns that neither place ever loses: sex, age, site",
    )
    compare.add_argument(
        "--column-group",
        nargs="+",
        action="append",
        default=[],
        metavar="COLUMN",
        help="columns that are lost together; once per group",
    )
    compare.add_argument("--groups", metavar="COLUMN", help="column that says which rows belong together: patients")
    compare.add_argument("--nan-as-zero", action="store_true", help="an empty field is a lost value, like a 0")
    compare.add_argument(
        "--separator",
        type=_separator,
        default=",",
        help=r"character between fields, \t for a tab (default: %(default)s)",
    )
    compare.add_argument("--seed", type=_seed, default=0, help="of the test's bootstrap (default: %(default)s)")
    compare.set_defaults(do=_compare)

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
    simulate.add_argument("--seed", type=_seed, default=0, help="of all random numbers (default: %(default)s)")
    simulate.set_defaults(do=_simulate)

    download = commands.add_parser("download-eicu", help="download eICU with your own PhysioNet account")
    download.add_argument("folder", type=Path, help="where the files go; made if needed")
    download.set_defaults(do=_download)

    sepsis = commands.add_parser("download-sepsis", help="download two hospitals with known losses, open to everyone")
    sepsis.add_argument("folder", type=Path, help="where the files go; made if needed")
    sepsis.add_argument("--archive", action="store_true", help="fetch one zip file instead of 40,336 small ones")
    sepsis.set_defaults(do=_download_sepsis)

    schema = commands.add_parser("schema", help="write the JSON schema of a configuration, for editors")
    schema.add_argument(
        "path", type=Path, nargs="?", default=Path("config/schema.json"), help="file to write (default: %(default)s)"
    )
    schema.set_defaults(do=_schema)
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got '{text}'")
    return int(text)


def _separator(text: str) -> str:
    # A shell has no easy way to write a tab.
    return "\t" if text == r"\t" else text


def _check(given: argparse.Namespace) -> int:
    from dams.experiments import config
    from dams.experiments.design import blocks
    from dams.experiments.inputs import describe_inputs, refuse_taken_name
    from dams.experiments.products import results_of

    try:
        run = config.read(given.config)
        refuse_taken_name(run, source=str(given.config))
        tables = describe_inputs(run, source=str(given.config))
    except (config.ConfigError, OSError) as error:
        raise Refused(error) from None
    jobs = list(blocks(run))
    for line in tables:
        print(line)
    for name in run.studies:
        own = [job for job in jobs if job.study == name]
        cells = {key.parts for job in own for key in job.cells}
        jobs_of_it = f"{len(own)} job{'s' * (len(own) != 1)}"
        print(f"{name}: {len(cells)} cells in {jobs_of_it}, on {', '.join(run.studies[name].datasets)}")
    print(f"{given.config} is fine; results go to {results_of(run.name)}/")
    return 0


def _run(given: argparse.Namespace) -> int:
    from dams import runner
    from dams.experiments import config
    from dams.experiments.inputs import refuse_taken_name
    from dams.experiments.products import results_of

    path, further = given.config, given.further
    _refuse_options(path, further)
    try:
        run = config.read(path)
        refuse_taken_name(run, source=str(path))
    except (config.ConfigError, OSError) as error:
        raise Refused(error) from None
    if not Path("Snakefile").is_file():
        raise Refused(
            f"There is no Snakefile in {Path.cwd()}: run it in the project folder, the one with the Makefile. "
            "The source distribution of dams has it; the installed package does not."
        )
    # Snakemake would take away the locks of all runs in the folder.
    if UNLOCK in further and (alive := _living_runs()):
        raise Refused(f"{alive} Its lock goes with it.")
    results = Path(results_of(run.name))
    log = results / "logs" / "snakemake.log"
    launch = [sys.executable, "-m", "dams.runner.launch"]
    try:
        # --configfile takes all names that follow it, so that a target must not come next.
        outcome = runner.run([*launch, "--configfile", str(path), "--cores", given.cores, *further], log)
    except runner.NotStartedError as error:
        raise Refused(
            f"Snakemake could not be started: {error}. Close other programs, or check the installation."
        ) from None
    except OSError as error:
        raise Refused(
            f"The log of the run can't be written: {error.filename or log}: {error.strerror}. Make {results} a folder "
            "that you may write to, on a disk with room, and run again."
        ) from None
    code = outcome.code
    if not code and UNLOCK in further:
        print(f"Unlocked; `dams run {path}` goes on from what was finished.")
    elif outcome.idle:
        from dams.report.page.closing import closing_words

        print(f"Nothing to do: all that {path} asks for is there.{closing_words(results)}")
    elif outcome.locked and (alive := _living_runs()):
        print(f"The folder is locked. {alive}", file=sys.stderr)
    elif outcome.locked:
        print(
            "The folder is locked: another run is going on, or one was killed and left its lock. If none is, type\n"
            f"    dams run {path} --unlock\nand run again; what was finished is kept.",
            file=sys.stderr,
        )
    elif code and code != HUNG_UP:
        how = "was interrupted" if code in INTERRUPTED else f"stopped with code {code}"
        print(f"Snakemake {how}; its whole log is {log}.", file=sys.stderr)
        if _holds_a_run(results):
            print(
                f"`dams report {results}` makes a report of what there is; running again goes on from there.",
                file=sys.stderr,
            )
    return code


def _living_runs() -> str:
    """Name the runs that are alive, and say how to stop them; nothing where there are none."""
    from dams.runner.alive import living_runs

    return " ".join(
        f"A run is alive, with the log {log}: wait for its end, or stop it with Ctrl-C where it was started "
        f"or with `kill -- -{group}`."
        for log, group in living_runs(Path("results")).items()
    )


def _refuse_options(path: Path, further: list[str]) -> None:
    """Refuse what would send the results elsewhere than where the log is and the advice points, or the events."""
    option = ""
    for word in further:
        if word.startswith("-"):
            option, _, word = word.partition("=")
        if option in ("--configfile", "--configfiles"):
            raise Refused(f"{option}: `dams run` takes one configuration, here {path}; name the other in its place.")
        if option in ("--config", "-C") and word.startswith("name="):
            raise Refused(
                f"{option} {word}: the name says where results go; change `name` in {path}, or in a copy of it."
            )
        if option == "--logger":
            raise Refused(
                f"--logger: `dams run` follows Snakemake by a logger of its own; `snakemake --configfile {path}` takes "
                "another."
            )


def _holds_a_run(folder: Path) -> bool:
    from dams.experiments.products import MANIFEST, SETTINGS

    traces = {SETTINGS, *(file.split("/")[0] for product in MANIFEST.values() for file in product.files)}
    return any((folder / trace).exists() for trace in traces)


def _report(given: argparse.Namespace) -> int:
    from dams.experiments.products import MANIFEST, SETTINGS, file_of
    from dams.report.page.contents import what_is_missing
    from dams.report.page.render import write_page
    from dams.report.run_folder import RunFolder

    folder = given.folder
    if not folder.is_dir():
        raise Refused(f"{folder} is not a folder; expected results/<name> of a run.")
    if not _holds_a_run(folder):
        raise Refused(
            f"{folder} holds nothing of a run; expected results/<name>, with {SETTINGS} or {file_of('records')} in it."
        )
    # A clone has the page and the tables of the paper's run, without what the page was made of.
    records, blocks = file_of("records"), MANIFEST["block_records"].path.split("/")[0]
    if (folder / file_of("provenance")).exists() and not any((folder / name).exists() for name in (records, blocks)):
        raise Refused(
            f"{folder} is of a run that came to its end, but its records are not there: expected {records} or "
            f"{blocks}/, got neither. A page made now would be empty, so report.html is left as it is; `dams run` with "
            "the configuration of this run makes the records and the page."
        )
    try:
        page = write_page(folder)
        missing = what_is_missing(RunFolder(folder))
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


def _compare(given: argparse.Namespace) -> int:
    from dams.compare import compare_files

    try:
        text = compare_files(
            given.source,
            given.target,
            labels=given.label,
            always_recorded=given.always_recorded,
            column_groups=given.column_group,
            groups=given.groups,
            nan_as_zero=given.nan_as_zero,
            separator=given.separator,
            random_state=given.seed,
        )
    except (ValueError, OSError) as error:
        raise Refused(error) from None
    print(text)
    return 0


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


def _schema(given: argparse.Namespace) -> int:
    from dams.experiments import config

    try:
        given.path.write_text(config.schema(), encoding="utf-8")
    except OSError as error:
        raise Refused(
            f"{given.path} can't be written ({error.strerror}); name a file in a folder that exists."
        ) from None
    return 0


if __name__ == "__main__":
    sys.exit(main())
