"""Algorithm 2: the linear target predictor from moments of source and target."""

import numpy as np

from dams.estimators.closed_form import adjust_moments
from dams.estimators.stabilise import FoldedMoments, fit_stabilised
from dams.experiments.cells import Cell
from dams.models import Sample
from dams.models.linear import FittedSample, LinearFit, least_squares
from dams.relative import count_nonzero, from_counts


def closed_form(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Predict with the stable closed form."""
    folded = FoldedMoments.of(cell.source_train.X, cell.source_train.Y), FoldedMoments.of(cell.target_train.X)
    return _fitted(cell, fit_stabilised(*folded, _relative_missingness(cell)))


def closed_form_as_published(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Predict with the formula as it is, whatever matrix it has to invert."""
    source, target = cell.source_train.moments, cell.target_train.moments
    return _fitted(cell, least_squares(adjust_moments(source, target, _relative_missingness(cell))))


def _relative_missingness(cell: Cell) -> np.ndarray:
    source, target = cell.source_train.X, cell.target_train.X
    return from_counts(count_nonzero(source), count_nonzero(target), len(source), len(target)).r


def _fitted(cell: Cell, fit: LinearFit) -> tuple[Sample, Sample]:
    return FittedSample(cell.source_train.X, cell.source_train.Y, fit), cell.target_test
