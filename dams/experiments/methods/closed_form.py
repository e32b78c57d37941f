"""Algorithm 2: the linear target predictor from moments of source and target."""

import numpy as np

from dams.estimators.adjusted_moments import adjust_moments
from dams.estimators.folds import FoldedMoments
from dams.estimators.stabilise import fit_stabilised
from dams.experiments.cells import Cell
from dams.experiments.models import Sample
from dams.experiments.models.linear import FittedSample
from dams.least_squares import LinearFit, least_squares


def closed_form(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Predict with the stable closed form."""
    source, target = FoldedMoments.of(cell.source_train.X, cell.source_train.Y), FoldedMoments.of(cell.target_train.X)
    return _fitted(cell, fit_stabilised(source, target, cell.relative_missingness.r))


def closed_form_as_published(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Predict with the formula as it is, whatever matrix it has to invert."""
    source, target = cell.source_train.moments, cell.target_train.moments
    return _fitted(cell, least_squares(adjust_moments(source, target, cell.relative_missingness.r)))


def _fitted(cell: Cell, fit: LinearFit) -> tuple[Sample, Sample]:
    return FittedSample(cell.source_train.X, cell.source_train.Y, fit), cell.target_test
