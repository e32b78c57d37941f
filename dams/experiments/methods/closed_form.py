"""Algorithm 2: the linear target predictor from moments of source and target."""

from dataclasses import dataclass, replace

import numpy as np

from dams.estimators.closed_form import adjust_moments
from dams.experiments.cells import Cell
from dams.models import Sample
from dams.moments import Moments
from dams.relative import count_nonzero, from_counts


@dataclass(frozen=True)
class MomentsOnly(Sample):
    """A sample of which only the moments are known: all that a linear model asks for."""

    adjusted: Moments

    @property
    def moments(self) -> Moments:
        """The adjusted moments."""
        return self.adjusted

    def with_labels(self, wanted: np.ndarray) -> Sample:
        """Keep some of the labels, in the adjusted moments too."""
        return replace(self, Y=self.Y[:, wanted], adjusted=self.adjusted.with_labels(wanted))


def closed_form(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on the moments that labelled target rows are estimated to have."""
    source, target = cell.source_train, cell.target_train
    counts = count_nonzero(source.X), count_nonzero(target.X)
    r = from_counts(*counts, len(source.X), len(target.X)).r
    return MomentsOnly(source.X, source.Y, adjust_moments(source.moments, target.moments, r)), cell.target_test
