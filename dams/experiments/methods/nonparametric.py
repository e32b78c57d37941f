"""Algorithm 1: delete source values at the relative missingness, then train."""

import numpy as np

from dams.estimators import MissingnessFilter
from dams.experiments.cells import Cell
from dams.models import Sample


def nonparametric(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on filtered source rows."""
    source = cell.source_train
    filtered = MissingnessFilter(rng).fit(source.X, X_target=cell.target_train.X).transform(source.X)
    return Sample(filtered, source.Y), cell.target_test
