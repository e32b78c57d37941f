"""The two-way adjustment, this project's own: delete where the target loses more, fill in where it loses less."""

import numpy as np

from dams.estimators import TwoWayFilter
from dams.experiments.cells import Cell
from dams.experiments.models import Sample


def two_way(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on source rows brought to the target's rates; the cell has one label, which the filling looks at."""
    source = cell.source_train
    rows, y = TwoWayFilter(random_state=rng).fit_resample(source.X, source.Y[:, 0], X_target=cell.target_train.X)
    return Sample(rows, y[:, None]), cell.target_test
