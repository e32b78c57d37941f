"""Algorithm 1: delete source values at the relative missingness, then train."""

import numpy as np

from dams.experiments.cells import Cell
from dams.experiments.models import Sample
from dams.missingness import delete_at_random


def nonparametric(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on filtered source rows, as `dams.MissingnessFilter` does."""
    source = cell.source_train
    return Sample(delete_at_random(source.X, cell.relative_missingness.filter_rates, rng), source.Y), cell.target_test
