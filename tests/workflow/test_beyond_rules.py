"""The study of what to do when in the pipeline: one job per data set and draw, and no more for more draws."""

import re

import pytest

pytestmark = pytest.mark.workflow


def planned(project, *options):
    """Number of jobs of every rule that Snakemake would run, from its table of jobs."""
    answer = project.run("--dry-run", *options, config="config/beyond.yaml")
    assert answer.returncode == 0, answer.stdout
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", answer.stdout, flags=re.MULTILINE)}


def test_every_draw_is_a_job_of_its_own(project):
    jobs = planned(project)
    draws = int(re.search(r"draws: (\d+)", (project.folder / "config/beyond.yaml").read_text())[1])
    assert jobs["run_beyond"] == 4 * draws
    assert jobs["prepare_data"] == jobs["download_data"] == 3
    assert {"gather_beyond", "report_beyond", "write_provenance", "write_report"} <= set(jobs)
    assert "run_block" not in jobs and "gather_records" not in jobs
