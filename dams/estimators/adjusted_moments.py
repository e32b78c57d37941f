"""Moments of labelled target data, of which the closed form (algorithm 2) is least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dams.estimators.systems import Gram
from dams.moments import Moments


def adjust_moments(
    source: Moments, target: Moments, r: np.ndarray, *, gram: Gram = "pooled", groups: np.ndarray | None = None
) -> Moments:
    """Estimate the moments of labelled target data, algorithm 2 up to its last step.

    E[X̃^tᵀY] = (1 − r) ⊙ E[X̃^sᵀY] can only come from the source. E[X̃^tᵀX̃^t] comes from the target, from the source by
    the moments table, or from both weighted by sample size. (The paper prints r in place of 1 − r; its derivation two
    lines above gives 1 − r.) `groups` numbers the columns that are lost together, as in `dams.moments.move_gram`.
    """
    return join_moments(source.moved(r, groups=groups), target, gram)


def join_moments(moved: Moments, target: Moments, gram: Gram) -> Moments:
    """Moments of labelled target data from those that were moved there and those of the target's covariates."""
    if gram == "source":
        return moved
    covariates = target if gram == "target" else moved.pooled(target)
    assert moved.label_mean is not None
    # The intercept is a column of ones with r = 0, so the cross-moment is centred by the means that M itself holds.
    return replace(
        moved,
        mean=covariates.mean,
        covariance=covariates.covariance,
        label_covariance=moved.cross - np.outer(covariates.mean, moved.label_mean),
    )
