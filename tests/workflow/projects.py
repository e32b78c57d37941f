"""A copy of the project to run Snakemake in: edits there take effect there alone."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml
from forks import LONGEST, SNAKEMAKE, run

ROOT = Path(__file__).parents[2]
PARTS = ["Snakefile", "workflow", "config", "profiles", "pyproject.toml", "dams"]


class Project:
    """The files that a run needs, in a folder of their own; or all that another's folder holds, its results too."""

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

    def run(self, *arguments: str, hashes: int = 1, **options) -> subprocess.CompletedProcess:
        """Run Snakemake to its end; stdout holds stderr too. `hashes` number those of texts in its jobs."""
        return self.finish(self.command(*arguments, **options), hashes=hashes)

    def dams(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run the command `dams` to its end."""
        call = [sys.executable, "-c", "import sys; from dams.cli import main; sys.exit(main())", *arguments]
        return self.finish(self.command() | {"args": call})

    def finish(self, command: dict, *, hashes: int = 1) -> subprocess.CompletedProcess:
        """Run a command to its end."""
        if command["args"][:3] == SNAKEMAKE:
            return run(**command, told=self.folder / "told.log", hashes=hashes)
        return subprocess.run(
            **command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=LONGEST,
        )

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
