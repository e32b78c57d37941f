"""Where results come from: code, configuration, versions, machine and time."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ["dams", "numpy", "scipy", "pandas", "scikit-learn", "xgboost-cpu", "matplotlib", "snakemake"]


def write_provenance(path: str | Path, config: dict[str, Any], benchmarks: str | Path) -> None:
    """Write provenance.json; `benchmarks` is the folder of Snakemake's benchmark files of this run."""
    content = {
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "config": config,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "job_seconds": job_seconds(benchmarks),
    }
    Path(path).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def job_seconds(benchmarks: str | Path) -> dict[str, float]:
    """Add up the seconds of all jobs, by rule."""
    seconds: dict[str, float] = defaultdict(float)
    for file in sorted(Path(benchmarks).rglob("*.tsv")):
        with open(file, encoding="utf-8") as stream:
            rule = file.relative_to(benchmarks).parts[0].removesuffix(".tsv")
            seconds[rule] += sum(float(row["s"]) for row in csv.DictReader(stream, delimiter="\t"))
    return {rule: round(total, 1) for rule, total in sorted(seconds.items())}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """Ask git; None where the code is not a checkout or git is not installed."""
    try:
        answer = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
