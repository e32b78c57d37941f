"""A copy of the project to run Snakemake in: edits there take effect there alone."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PARTS = ["Snakefile", "workflow", "config", "profiles", "pyproject.toml", "dams"]
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
# Seconds after which a run has got stuck.
LONGEST = 600

# Snakemake and pandas load for three quarters of the time that a plan takes: a process that has loaded them, and
# nothing of dams, starts the runs.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["snakemake.cli", "pandas"])


def _snakemake(arguments, cwd, environment, told):
    """Do as `python -m snakemake` does in a process of its own; all that is told goes to a file."""
    from snakemake.cli import main

    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    with open(told, "wb") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    # A test module's folder is on the path of the process that asked for this one, and not on that of a new Python.
    others = (path for path in sys.path if not Path(path).is_relative_to(ROOT / "tests"))
    added = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [str(cwd), *filter(None, added), *others]
    sys.argv = ["snakemake", *arguments]
    main(arguments)


class Project:
    """The files that a run needs, in a folder of their own; or all that the folder of another holds, its results too."""

    def __init__(self, folder: Path, like: Path | None = None):
        self.folder = folder
        if like:
            shutil.copytree(like, folder, symlinks=True, dirs_exist_ok=True)
            return
        for part in PARTS:
            source, target = ROOT / part, folder / part
            if source.is_dir():
                # Compiled modules too, for files keep their times; but none that is being written.
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc.*"))
            else:
                shutil.copy2(source, target)

    def configure(self, raw: dict) -> None:
        """Write the configuration that is used from now on."""
        (self.folder / "run.yaml").write_text(yaml.safe_dump(raw, allow_unicode=True))

    def command(self, *arguments: str, cores: int = 1, config: str = "run.yaml") -> dict:
        """Arguments of `subprocess`."""
        environment = os.environ | {"PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"}
        # --configfile takes all names that follow it, so that a target must not come next.
        call = [*SNAKEMAKE, "--configfile", config, "--cores", str(cores), *arguments]
        return {"args": call, "cwd": self.folder, "env": environment}

    def run(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        """Run Snakemake to its end; stdout holds stderr too."""
        return self.finish(self.command(*arguments, **options))

    def dams(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run the command `dams` to its end."""
        call = [sys.executable, "-c", "import sys; from dams.cli import main; sys.exit(main())", *arguments]
        return self.finish(self.command() | {"args": call})

    def finish(self, command: dict) -> subprocess.CompletedProcess:
        """Run a command to its end."""
        if command["args"][:3] == SNAKEMAKE:
            return self._finish_forked(**command)
        return subprocess.run(
            **command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=LONGEST,
        )

    def _finish_forked(self, args: list, cwd: Path, env: dict) -> subprocess.CompletedProcess:
        told = self.folder / "told.log"
        process = FORKS.Process(target=_snakemake, args=(args[3:], cwd, env, told))
        process.start()
        process.join(LONGEST)
        if process.exitcode is None:
            os.killpg(process.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(args, LONGEST, told.read_text(encoding="utf-8"))
        return subprocess.CompletedProcess(args, process.exitcode, told.read_text(encoding="utf-8"))

    def kill_after_first(self, pattern: str, **options) -> None:
        """Start Snakemake and kill it with all its jobs as soon as a file matches `pattern`."""
        with open(self.folder / "killed.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                **self.command(**options), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                deadline = time.monotonic() + 300
                while not list(self.folder.glob(pattern)):
                    assert process.poll() is None, (self.folder / "killed.log").read_text(encoding="utf-8")
                    assert time.monotonic() < deadline, f"no {pattern} after five minutes"
                    time.sleep(0.02)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def results(self, name: str) -> dict[str, bytes]:
        """What a run promises to repeat to the byte: records, failures, tables, figures and diagnostics."""
        folder = self.folder / "results" / name
        paths = [
            folder / "records.csv",
            folder / "failures.csv",
            *folder.glob("tables/*"),
            *folder.glob("figures/*.svg"),
            *folder.glob("diagnostics/*.csv"),
            *folder.glob("diagnostics/*.svg"),
        ]
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
