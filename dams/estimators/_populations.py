"""Means of columns that are always recorded, which tell whether source and target are of one population."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dams._rows import variance_of_mean
from dams.estimators.folds import FoldedMoments
from dams.estimators.systems import Gram

# Standard errors by which means that are known without loss must differ to speak of another population.
CLEARLY = 4.0
Known = tuple[np.ndarray, np.ndarray]


def moments_of(X: Any, always: np.ndarray | None, groups: Any = None) -> Known | None:
    """Means of some columns and the variances of these means; `groups` are ids of rows that belong together."""
    if always is None:
        return None
    values = X[:, np.flatnonzero(always)]
    values = values.toarray() if sparse.issparse(values) else values
    return values.mean(axis=0), variance_of_mean(values, groups)


def moments_of_folds(folds: FoldedMoments, always: np.ndarray | None) -> Known | None:
    """The same from moments of parts of the rows, which know of groups only where they were made of rows."""
    if always is None:
        return None
    shares = np.array([part.n for part in folds.parts]) / folds.n
    means = np.stack([part.mean[always] for part in folds.parts])
    squares = np.stack([np.diagonal(part.covariance)[always] for part in folds.parts]) + means**2
    mean = shares @ means
    variance = (shares @ squares - mean**2) / folds.n
    return mean, variance if folds.variance_of_known is None else folds.variance_of_known


def gram_to_use(asked: Gram, source: Known | None, target: Known | None) -> Gram:
    """Which Gram matrix to use, given moments of what is always recorded: None where that is nothing.

    Where these differ, the target's Gram matrix is that of another population than the labels'.
    """
    if asked != "pooled" or source is None or target is None:
        return asked
    return "source" if clearly_differ(source, target) else asked


def clearly_differ(source: Known, target: Known) -> bool:
    """Whether a mean of one domain is clearly another one than that of the other."""
    gap, error = np.abs(target[0] - source[0]), np.sqrt(np.maximum(source[1] + target[1], 0))
    return bool((gap > CLEARLY * error + 1e-12 * np.abs(source[0])).any())
