"""`dams check`, `dams run` and `dams schema`: a configuration, and what is done with it."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dams.commands._common import Refused

if TYPE_CHECKING:
    from dams.experiments.config import Config

# Snakemake's option that takes its lock away. It has no event for that; the option and the exit code say it.
UNLOCK = "--unlock"
# Exit codes of a run that was told to stop, and of one whose terminal was closed: nobody reads what is said of it.
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
HUNG_UP = 129  # 128 + SIGHUP, which Windows does not have


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check`, `run` and `schema` to the commands."""
    check = commands.add_parser("check", help="check a configuration and its files, and say what it would run")
    check.add_argument("config", type=Path, help="YAML file; config/README.md explains every key")
    check.set_defaults(do=_check)

    run = commands.add_parser("run", help="run a configuration; further options go to snakemake")
    run.add_argument("config", type=Path, help="YAML file, such as config/quickstart.yaml")
    run.add_argument("--cores", default="all", help="processor cores to use, a number or all (default: %(default)s)")
    run.set_defaults(do=_run)

    schema = commands.add_parser("schema", help="write the JSON schema of a configuration, for editors")
    schema.add_argument(
        "path", type=Path, nargs="?", default=Path("config/schema.json"), help="file to write (default: %(default)s)"
    )
    schema.set_defaults(do=_schema)


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
        outcome = runner.run([*launch, "--configfile", str(path), "--cores", given.cores, *further], log, run)
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

        print(f"Nothing to do: all that was asked for is there.{closing_words(results)}")
        # The run has another configuration than the file where options change it.
        if not {"--config", "-C"} & {word.partition("=")[0] for word in further}:
            _tell_of_another(run, path, results)
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
    return code


def _tell_of_another(run: Config, path: Path, results: Path) -> None:
    """Say where the results are of another configuration, which Snakemake sees only by its notes in .snakemake."""
    from dams.experiments.inputs import without_absent_hospitals
    from dams.experiments.products import SETTINGS
    from dams.report.run_folder import RunFolder

    known, asked = RunFolder(results).config, without_absent_hospitals(run).model_dump(mode="json")
    differing = [key for key in asked if asked[key] != known.get(key)]
    if known and differing:
        print(
            f"{results / SETTINGS} is another configuration than {path}, in {', '.join(differing)}: what is there may "
            f"be of that one. `dams run {path} --forceall` makes it anew; so does a run once {results} is deleted.",
            file=sys.stderr,
        )


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
        if option == "--directory" or option.startswith("-d"):
            raise Refused(
                f"{option}: `dams run` works where it is called, in {Path.cwd()}; `snakemake --directory FOLDER "
                f"--configfile {path}` works in another folder."
            )
        if option == "--logger":
            raise Refused(
                f"--logger: `dams run` follows Snakemake by a logger of its own; `snakemake --configfile {path}` takes "
                "another."
            )


def _schema(given: argparse.Namespace) -> int:
    from dams.experiments import config

    try:
        given.path.write_text(config.schema(), encoding="utf-8")
    except OSError as error:
        raise Refused(
            f"{given.path} can't be written ({error.strerror}); name a file in a folder that exists."
        ) from None
    return 0
