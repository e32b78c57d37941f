"""The profiles: read by Snakemake, the default one with any other."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def test_a_setting_is_said_once():
    assert not profile("default").keys() & profile("slurm").keys()


def test_the_guide_says_what_jobs_need():
    """A table in docs/cluster.md; rules that run where Snakemake does are no jobs."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    rules = re.split(r"^rule ", text, flags=re.MULTILINE)[1:]
    needs = {
        rule.partition(":")[0]: (
            int(re.search(r"threads: (\d+)", rule)[1]),
            re.search(r"mem_mb=memory\((.*)\),", rule)[1],
        )
        for rule in rules
        if "script:" in rule and "localrule: True" not in rule
    }
    guide = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    assert needs.pop("run_block") == (1, "1500")
    assert "| a block of experiments | 1 | 1,500 MB |" in guide
    cores, memory = needs.pop("run_eicu")
    assert f"| the eICU experiment | {cores} | {int(memory):,} MB |" in guide
    hospitals = {needs.pop(name) for name in ("run_sepsis", "mask_sepsis")}
    assert {f"| the two hospitals, two jobs | {cores} | {int(memory):,} MB |" for cores, memory in hospitals} == {
        "| the two hospitals, two jobs | 2 | 2,000 MB |"
    }
    assert "| the two hospitals, two jobs | 2 | 2,000 MB |" in guide
    memories = [int(memory) for _, memory in needs.values()]
    assert {cores for cores, _ in needs.values()} == {1}
    assert f"| everything else | 1 | {min(memories):,} to {max(memories):,} MB |" in guide


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
    # A cluster is used with the settings of one machine.
    assert "Using profiles profiles/slurm and workflow specific profile profiles/default" in answer.stdout
    (resources,) = re.findall(r"resources: (.*)", answer.stdout)
    assert {"mem_mb=1500", "runtime=30"} <= set(resources.split(", "))

    path = project.folder / "profiles/slurm/config.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "latencywait: 60\n", encoding="utf-8")
    answer = project.run(*call, config="config/smoke.yaml")
    assert answer.returncode != 0
    assert "unrecognized arguments: --latencywait=60" in answer.stdout
