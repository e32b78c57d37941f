"""Algorithm 2: the linear target predictor from moments of source and target."""

from itertools import pairwise

import numpy as np

from dams.estimators.closed_form import adjust_moments
from dams.estimators.stabilise import N_FOLDS, FoldedMoments, fit_stabilised
from dams.experiments.cells import Cell
from dams.experiments.models import Sample
from dams.experiments.models.linear import FittedSample
from dams.least_squares import LinearFit, least_squares
from dams.moments import Moments
from dams.relative import count_nonzero


def closed_form(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Predict with the stable closed form."""
    source, target = _folds(cell.source_train.X, cell.source_train.Y), _folds(cell.target_train.X)
    return _fitted(cell, fit_stabilised(source, target, cell.relative_missingness.r))


def closed_form_as_published(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Predict with the formula as it is, whatever matrix it has to invert."""
    source, target = cell.source_train.moments, cell.target_train.moments
    return _fitted(cell, least_squares(adjust_moments(source, target, cell.relative_missingness.r)))


def _folds(X: np.ndarray, Y: np.ndarray | None = None) -> FoldedMoments:
    """Moments of equal runs of rows: a cell's rows are shuffled, so runs, which need no copy, will do."""
    ends = np.linspace(0, len(X), N_FOLDS + 1).astype(int)
    runs = [slice(start, stop) for start, stop in pairwise(ends)]
    parts = tuple(Moments.of(X[rows], None if Y is None else Y[rows]) for rows in runs)
    return FoldedMoments(parts, np.array([count_nonzero(X[rows]) for rows in runs]))


def _fitted(cell: Cell, fit: LinearFit) -> tuple[Sample, Sample]:
    return FittedSample(cell.source_train.X, cell.source_train.Y, fit), cell.target_test
