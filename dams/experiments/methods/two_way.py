"""The two-way adjustment, this project's own: delete where the target loses more, fill in where it loses less."""

import numpy as np

from dams.estimators.filling import two_way_draws
from dams.experiments.cells import Cell
from dams.experiments.models import Draws, Sample


def two_way(cell: Cell, rng: np.random.Generator) -> tuple[Draws, Sample]:
    """Train on source rows brought to the target's rates, as `dams.TwoWayEstimator` does.

    The cell has one label, which the filling looks at. Predictions are averaged over the draws.
    """
    source = cell.source_train
    rows = two_way_draws(source.X, source.Y[:, 0], cell.relative_missingness, random_state=rng)
    return Draws(tuple(Sample(draw, source.Y) for draw in rows)), cell.target_test
