"""Where results come from: code, configuration, versions, machine and time."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dams._files import write_json
from dams.experiments.config import Config, parse
from dams.experiments.digests import read_digests, refuse_altered
from dams.experiments.products import SETTINGS, STARTS, products_of

PACKAGES = ["dams", "numpy", "scipy", "pandas", "scikit-learn", "xgboost-cpu", "matplotlib", "snakemake"]
# Of the project, where dams is used from a checkout.
CODE = Path(__file__).resolve().parents[2]
_NUMBER = re.compile(r"-\d+$")


def write_provenance(
    path: str | Path,
    config: dict[str, Any],
    results: str | Path,
    made: Iterable[str | Path] = (),
    *,
    digests: Iterable[str | Path] = (),
    code: str | Path = CODE,
) -> None:
    """Write provenance.json for the run in `results`, where Snakemake keeps benchmark files of every job.

    It vouches by content for what jobs made: files of another configuration or of other code may come in their place,
    and times say nothing in a clone.

    Parameters
    ----------
    path : path
        The file to write.
    config : dict
        The configuration of the run.
    results : path
        The folder of the run.
    made : iterable of paths
        Files in that folder. One whose content is not what its job wrote is refused by name, with a ValueError.
    digests : iterable of paths
        What jobs wrote of the content of their files; see `dams.experiments.digests`. What they say of products, that
        is of what people look at, goes to `files`; of blocks and other steps, which a clone does not have, to `steps`.
    code : path
        The folder of the project.
    """
    known = read_digests(digests)
    refuse_altered(results, made, known)
    run = parse(config)
    products = {file for step in products_of(run) if step.product.kind != "step" for file in step.files}
    benchmarks = Path(results) / "benchmarks"
    jobs = jobs_of(run, benchmarks)
    content = {
        "commit": _git(code, "rev-parse", "HEAD"),
        "uncommitted_changes": bool(
            _git(code, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!results")
        ),
        "config": config,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "wall_seconds": wall_seconds(Path(results) / STARTS, jobs.values()),
        "peak_memory_mb": peak_memory(jobs.values()),
        "job_seconds": job_seconds(jobs),
        "files": {name: digest for name, digest in known.items() if name in products},
        "steps": {name: digest for name, digest in known.items() if name not in products},
    }
    write_json(content, path)


def note_start(results: str | Path, config: dict[str, Any]) -> None:
    """Note that Snakemake starts, or starts again, to work on a run, and with which configuration.

    config.json is written only where it says something else: its time is that of the last change, which tells what was
    made for this configuration from what was made before.
    """
    settings = Path(results) / SETTINGS
    try:
        known = json.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or one that can't be read
        known = None
    if known != config:
        write_json(config, settings)
    path = Path(results) / STARTS
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(f"{time.time():.1f}\n")


def jobs_of(run: Config, benchmarks: Path) -> dict[tuple[str, ...], Path]:
    """Benchmark files by rule and names of the job, of those jobs that the configuration asks for.

    A folder may hold those of studies that are no longer part of it.
    """
    jobs = dict.fromkeys(made.job for made in products_of(run))
    files = {tuple(job.split("/")): benchmarks / f"{job}.tsv" for job in sorted(jobs)}
    return {job: file for job, file in files.items() if file.exists()}


def wall_seconds(starts: Path, jobs: Iterable[Path]) -> float | None:
    """Seconds from each start to the last job that ended before the next one, added up; None if no start is known.

    So the time between an interruption and its resumption does not count, nor a job that was cut off.
    """
    if not starts.exists():
        return None
    times = [float(line) for line in starts.read_text(encoding="utf-8").split()]
    ends = [file.stat().st_mtime for file in jobs]
    total = 0.0
    for start, following in zip(times, [*times[1:], float("inf")], strict=True):
        total += max((end - start for end in ends if start <= end < following), default=0.0)
    return round(total, 1)


def job_seconds(jobs: Mapping[tuple[str, ...], Path]) -> dict[str, float]:
    """Add up the seconds of all jobs by part: study, data set and group of fits, or rule."""
    seconds: dict[str, float] = defaultdict(float)
    for (rule, *names), file in jobs.items():
        part = f"{names[0]}: {_NUMBER.sub('', names[1])}" if rule == "run_block" else rule
        seconds[part] += sum(float(row["s"]) for row in _rows(file))
    return {part: round(total, 1) for part, total in sorted(seconds.items())}


def peak_memory(jobs: Iterable[Path]) -> float | None:
    """Megabytes of the largest job; None where Snakemake could not tell."""
    sizes = [row.get("max_rss", "-") for file in jobs for row in _rows(file)]
    return max((float(size) for size in sizes if size not in ("-", "NA", "")), default=None)


def _rows(file: Path) -> list[dict[str, str]]:
    with open(file, encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(folder: str | Path, *arguments: str) -> str | None:
    """Ask git; None where the code is not a checkout or git is not installed.

    A project that was unpacked below somebody else's checkout is not of it: git must know the Snakefile.
    """
    try:
        for command in (["ls-files", "--error-unmatch", "Snakefile"], arguments):
            answer = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
