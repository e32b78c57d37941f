"""Runs that are killed outright at random moments and started again, against one that was not: every byte alike.

python -m benchmarks.kills [--kills N] [--configs FILE ...] [--seed N] [--cores N] [--csv FILE] [--toy]

SIGKILL goes to Snakemake and all its jobs at once, so that nothing is tidied up. Moments are drawn before anything is
looked at: uniform between 0 and 40 % of what the undisturbed run takes. A run that comes to its end is compared, and
the next one begins in an empty folder. All files count but those that hold times: timings, provenance and the page that
shows it, logs, benchmark files, and the digests of jobs, which include those of timings.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import yaml

from benchmarks.toy import read_arguments
from dams.experiments.products import results_of

ROOT = Path(__file__).parents[1]
TIMES = ("timings.csv", "provenance.json", "report.html")
OF_TIMES = {"logs", "benchmarks", "digests"}
TINY = {
    "name": "tiny",
    "studies": {
        "one": {
            "datasets": ["redundant"],
            "rows": 60,
            "regimes": [{"kind": "free"}],
            "models": {"linear": {"draws": 2}},
            "methods": ["oracle", "source"],
        }
    },
}


def start(config: Path, folder: Path, *options: str) -> subprocess.Popen:
    """Start Snakemake in a folder and a session of its own."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--quiet",
        "--rerun-incomplete",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with open(folder / "log.txt", "a", encoding="utf-8") as log:
        return subprocess.Popen(
            [*command, "--configfile", str(config), *options],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def finish(config: Path, folder: Path, *options: str) -> None:
    """Run to the end."""
    if start(config, folder, *options).wait():
        raise RuntimeError((folder / "log.txt").read_text(encoding="utf-8")[-2000:])


def content(results: Path) -> dict[str, bytes]:
    """All that a run promises to repeat."""
    return {
        name.as_posix(): path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file()
        and (name := path.relative_to(results)).parts[0] not in OF_TIMES
        and not name.name.endswith(TIMES)
    }


def differing_bytes(one: dict[str, bytes], other: dict[str, bytes]) -> int:
    """Bytes that are not alike, a file that only one has counted whole."""
    count = 0
    for name in one.keys() | other.keys():
        first, second = one.get(name, b""), other.get(name, b"")
        count += abs(len(first) - len(second)) + sum(a != b for a, b in zip(first, second, strict=False))
    return count


def measure(config: Path, n_kills: int, rng: np.random.Generator, options: Sequence[str]) -> list[dict[str, object]]:
    """Kill runs of a configuration so many times; one row per kill, with how its run compares at the end."""
    name = yaml.safe_load(config.read_text(encoding="utf-8"))["name"]
    rows: list[dict[str, object]] = []
    with TemporaryDirectory() as whole:
        began = time.perf_counter()
        finish(config, Path(whole), *options)
        seconds = time.perf_counter() - began
        expected = content(Path(whole) / results_of(name))
        run = 0
        while len(rows) < n_kills:
            run += 1
            with TemporaryDirectory() as folder:
                killed = kill_until_done(config, Path(folder), n_kills - len(rows), 0.4 * seconds, rng, options)
                found = content(Path(folder) / results_of(name))
            outcome = {"files": len(expected), "differing_bytes": differing_bytes(expected, found)}
            rows += [{"configuration": name, "run": run, **kill, **outcome} for kill in killed]
            print(f"{name}, run {run}: {len(killed)} kills, {outcome['differing_bytes']} differing bytes", flush=True)
    return rows


def kill_until_done(
    config: Path, folder: Path, n_kills: int, longest: float, rng: np.random.Generator, options: Sequence[str]
) -> list[dict[str, object]]:
    """Start, kill and start again until the run is done, at most so many times; then let it finish."""
    killed: list[dict[str, object]] = []
    while len(killed) < n_kills:
        process, wait = start(config, folder, *options), rng.uniform(0, longest)
        try:
            if process.wait(timeout=wait):
                raise RuntimeError((folder / "log.txt").read_text(encoding="utf-8")[-2000:])
            return killed
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        done = len(list(folder.glob("results/*/digests/*")))
        killed.append({"kill": len(killed) + 1, "seconds": round(wait, 2), "jobs_done": done})
        # A killed run can't take its lock away.
        finish(config, folder, "--unlock")
    finish(config, folder, *options)
    return killed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10, help="of runs of each configuration (default: %(default)s)")
    parser.add_argument(
        "--configs", type=Path, nargs="+", default=[ROOT / "config/smoke.yaml", ROOT / "config/quickstart.yaml"]
    )
    parser.add_argument("--seed", type=int, default=24, help="of the moments (default: %(default)s)")
    parser.add_argument("--cores", default="2", help="of each run (default: %(default)s)")
    given = read_arguments(parser, argv, csv="write one row per kill to this file", kills=1, configs=[])
    rng, rows = np.random.default_rng(given.seed), []
    with TemporaryDirectory() as folder:
        options = ["--cores", given.cores]
        if not given.configs:
            given.configs = [Path(folder) / "tiny.yaml"]
            given.configs[0].write_text(yaml.safe_dump(TINY), encoding="utf-8")
            options += ["results/tiny/records.csv"]
        for config in given.configs:
            rows += measure(config.resolve(), given.kills, rng, options)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    if given.csv:
        table.to_csv(given.csv, index=False, lineterminator="\n")
    return int(table["differing_bytes"].any())


if __name__ == "__main__":
    sys.exit(main())
