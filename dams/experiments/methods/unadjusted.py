"""The two ends: target labels as if we had them, and no adjustment at all."""

import numpy as np

from dams.experiments.cells import Cell
from dams.experiments.models import Sample


def oracle(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on labelled target rows."""
    return cell.target_train, cell.target_test


def source(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on labelled source rows as they are."""
    return cell.source_train, cell.target_test
