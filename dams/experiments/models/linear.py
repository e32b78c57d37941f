"""Linear regression on many labels: from moments, so that rows are read once and every label is a small solve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dams.experiments.models import Sample, Training
from dams.least_squares import LinearFit, least_squares

Array = np.ndarray


@dataclass(frozen=True)
class FittedSample(Sample):
    """A sample whose linear predictors are known already, because a closed form gives them."""

    fit: LinearFit

    def select(self, wanted: Array) -> FittedSample:
        """Keep the wanted labels and their predictors."""
        if wanted.all():
            return self
        fit = replace(self.fit, coef=self.fit.coef[:, wanted], intercept=self.fit.intercept[wanted])
        return replace(self, Y=self.Y[:, wanted], fit=fit)


def errors(train: Training, test: Sample, rng: np.random.Generator) -> Array:
    """Test MSE of linear predictors, one value per label; nothing is random."""
    return mean_fit([_fit(sample) for sample in train.draws]).mse(test.moments)


def _fit(sample: Sample) -> LinearFit:
    return sample.fit if isinstance(sample, FittedSample) else least_squares(sample.moments)


def mean_fit(fits: Sequence[LinearFit]) -> LinearFit:
    """Return the predictor whose predictions are the mean of these; of one alone itself."""
    if len(fits) == 1:
        return fits[0]
    coef, intercept = (np.mean([getattr(fit, name) for fit in fits], axis=0) for name in ("coef", "intercept"))
    return LinearFit(coef, intercept, tuple(system for fit in fits for system in fit.systems))
