"""Moments of a fold as lists of numbers in a JSON file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dams.moments import Moments

Array = np.ndarray


def to_json(part: Moments, counts: Array) -> dict[str, Any]:
    """Return a fold's moments as lists; of the covariance what is on and below the diagonal, row by row."""
    lists = {"rows": part.n, "counts": counts.tolist(), "mean": part.mean.tolist()}
    lists["covariance"] = part.covariance[np.tril_indices(len(part.mean))].tolist()
    if part.label_mean is not None:
        assert part.label_covariance is not None and part.label_variance is not None
        lists["label_mean"] = float(part.label_mean[0])
        lists["label_variance"] = float(part.label_variance[0])
        lists["label_covariance"] = part.label_covariance[:, 0].tolist()
    return lists


def from_json(fold: dict[str, Any], d: int, *, labelled: bool) -> Moments:
    """Return the moments of d columns that `to_json` wrote; raise a ValueError for what can't be that."""
    lower = read_numbers(fold, "covariance", (d * (d + 1) // 2,))
    covariance = np.zeros((d, d))
    covariance[np.tril_indices(d)] = lower
    covariance = covariance + np.tril(covariance, -1).T
    mean = read_numbers(fold, "mean", (d,))
    if not isinstance(fold["rows"], int) or fold["rows"] < 0:
        raise ValueError(f"rows must be a whole number, got {fold['rows']!r}")
    if not labelled:
        return Moments(fold["rows"], mean, covariance)
    return Moments(
        fold["rows"],
        mean,
        covariance,
        read_numbers(fold, "label_mean", ())[None],
        read_numbers(fold, "label_covariance", (d,))[:, None],
        read_numbers(fold, "label_variance", ())[None],
    )


def read_numbers(content: dict[str, Any], name: str, shape: tuple[int, ...]) -> Array:
    """Return finite numbers of that shape; raise a ValueError that names them where they are not."""
    values = np.asarray(content[name], dtype=float)
    if values.shape != shape:
        raise ValueError(f"{name} must hold {shape[0] if shape else 1} numbers, got an array of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must hold finite numbers")
    return values
