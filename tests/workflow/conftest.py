"""A copy of the project to run Snakemake in."""

import pytest
from projects import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)
