"""Consequences of observing the mask ξ: with indicators, missingness shift is covariate shift for (x̃, ξ).

A *mechanism* is an array `keep` of shape (k_1, …, k_d, d): the probability P(ξ_j = 1 | X = x) for every state x. Given
x the ξ_j are independent. Laws are arrays as in `dams.identification`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dams.theory.laws import conditional, mask_probability, masks

Array = np.ndarray


def ucar(sizes: tuple[int, ...], m: Any) -> Array:
    """Mechanism of underreporting completely at random: P(ξ_j = 1 | x) = 1 − m_j, for features of `sizes` values."""
    return np.broadcast_to(1 - np.asarray(m, dtype=float), (*sizes, len(sizes)))


def driven_by_observed(sizes: tuple[int, ...], observed: list[int], f: Callable[..., Any]) -> Array:
    """Mechanism ξ ~ Bernoulli(f(x_c)) that depends only on covariates x_c that are never lost.

    Parameters
    ----------
    sizes : tuple of int
        Number of values of each feature.
    observed : list of int
        The features c; their own ξ_c is always one.
    f : callable
        Called once for every combination of values of x_c, with their indices (0 for the value zero) as arguments;
        returns P(ξ_j = 1) for the d − |c| other features, in order.
    """
    keep = np.ones((*sizes, len(sizes)))
    others = [j for j in range(len(sizes)) if j not in observed]
    for x in np.ndindex(*sizes):
        keep[(*x, others)] = f(*(x[c] for c in observed))
    return keep


def is_missingness_shift(keep_source: Array, keep_target: Array) -> bool:
    """Whether the mechanisms differ, P^s(ξ | ·) ≠ P^t(ξ | ·), the law of (X, Y) being the same in both domains."""
    return not np.array_equal(keep_source, keep_target)


def observed_law(p: Array, keep: Array) -> Array:
    """Joint law of (X̃, ξ, Y), of shape (k_1, …, k_d, 2, …, 2, k_y), for clean law `p` and mechanism `keep`."""
    *sizes, n_labels = p.shape
    d = len(sizes)
    joint = np.zeros((*sizes, *(2,) * d, n_labels))
    for mask in masks(d):
        seen = p * mask_probability(mask, keep)[..., None]
        lost = tuple(int(j) for j in np.flatnonzero(mask == 0))
        where = tuple(0 if j in lost else slice(None) for j in range(d))
        joint[(*where, *mask.tolist())] += seen.sum(axis=lost)
    return joint


def label_law(p: Array, keep: Array, *, indicators: bool) -> Array:
    """P(Y | X̃ = x̃, ξ) with `indicators`, P(Y | X̃ = x̃) without; NaN where the condition has probability zero.

    With indicators the two domains agree wherever both are defined, if ξ depends on nothing or on covariates that are
    never lost. Without them they do not.
    """
    joint = observed_law(p, keep)
    if not indicators:
        d = p.ndim - 1
        joint = joint.sum(axis=tuple(range(d, 2 * d)))
    return conditional(joint)
