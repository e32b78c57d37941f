"""The profiles: read by Snakemake, and alike in all but where jobs run."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def test_a_cluster_is_used_with_the_settings_of_one_machine():
    default, slurm = profile("default"), profile("slurm")
    assert {key: slurm.get(key) for key in default} == default


def test_the_extra_installs_the_executor():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (requirement,) = extras["slurm"]
    executor = profile("slurm")["executor"]
    assert re.match(r"[a-z-]+", requirement).group() == f"snakemake-executor-plugin-{executor}"


def test_snakemake_reads_the_cluster_profile(project):
    """A key that it does not know ends the call; a target rule shows what a rule gets that asks for nothing.

    The executor is replaced, as its plugin is an extra.
    """
    call = ["--profile", "profiles/slurm", "--executor", "local", "--dry-run"]
    answer = project.run(*call, config="config/smoke.yaml")
    assert answer.returncode == 0, answer.stdout
    assert "Using profiles profiles/slurm" in answer.stdout
    (resources,) = re.findall(r"resources: (.*)", answer.stdout)
    assert {"mem_mb=1500", "runtime=30"} <= set(resources.split(", "))

    path = project.folder / "profiles/slurm/config.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "latencywait: 60\n", encoding="utf-8")
    answer = project.run(*call, config="config/smoke.yaml")
    assert answer.returncode != 0
    assert "unrecognized arguments: --latencywait=60" in answer.stdout
