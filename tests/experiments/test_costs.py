"""Costs cut the work into jobs; they need not be right, but they must order and balance."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dams.experiments.config import parse, read
from dams.experiments.costs import JOB, ends_of_jobs
from dams.experiments.design import blocks

ROOT = Path(__file__).parents[2]


def test_jobs_of_the_paper_are_of_one_length_where_a_cell_allows_it():
    jobs = list(blocks(read(ROOT / "config" / "paper.yaml")))
    assert max(job.seconds for job in jobs) < 2 * JOB
    for job, following in pairwise(jobs):
        # Only the last of a group may be short.
        assert job.seconds >= JOB or following.number == 0


def test_what_does_more_costs_more(small, study):
    def seconds(**changes):
        study.update(changes)
        return next(blocks(parse(small))).seconds

    base = {"datasets": ["redundant"], "rows": 1000, "methods": ["oracle"], "models": {"linear": {"draws": 1}}}
    linear = seconds(**base)
    assert seconds(rows=2000) == pytest.approx(2 * linear)
    boosted = seconds(rows=1000, models={"xgboost": {"draws": 1}})
    assert linear < boosted < seconds(models={"xgboost": {"draws": 1, "betas": 3}})
    assert seconds(models={"xgboost": {"draws": 1}}, methods=["two_way"]) > boosted


@pytest.mark.parametrize("n_cells", [1, 2, 7, 100])
@pytest.mark.parametrize("seconds", [1e-9, JOB / 3, JOB, 10 * JOB])
def test_there_are_no_empty_jobs_and_none_longer_than_need_be(n_cells, seconds):
    ends = ends_of_jobs([seconds] * n_cells)
    sizes = np.diff([0, *ends])
    assert ends[-1] == n_cells and (sizes >= 1).all()
    assert ((sizes == 1) | (sizes * seconds < 2 * JOB)).all()
    assert (sizes[:-1] * seconds >= JOB).all()
