"""Underreporting completely at random as regularisation of a generalised linear model.

The model is p_β(y | x) = h(y) exp(y·xβ − A(xβ)), fitted to corrupted rows scaled back to their mean,
x̃ = x ⊙ ξ / (1 − m). The expected loss over ξ is then the loss on the clean rows plus a penalty R(β) ≥ 0, for linear
regression exactly

    R(β) = ½ Σ_j m_j/(1 − m_j) β_j² Σ_i x_ij².

The model has no intercept, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.special import expit

from dams.missingness import check_rates
from dams.moments import move_gram, move_mean
from dams.theory.laws import mask_probability, masks

Array = np.ndarray


@dataclass(frozen=True)
class Family:
    """A generalised linear model by its log partition function A and the second derivative A''."""

    log_partition: Callable[[Array], Array]
    variance: Callable[[Array], Array]


LINEAR = Family(lambda eta: np.square(eta) / 2, np.ones_like)
LOGISTIC = Family(lambda eta: np.logaddexp(0, eta), lambda eta: expit(eta) * expit(-eta))


def loss(beta: Array, X: Array, y: Array, *, family: Family = LINEAR) -> float:
    """Negative log likelihood Σ_i A(x_i β) − y_i x_i β, without the term log h(y), which β does not move."""
    eta = X @ beta
    return float(np.sum(family.log_partition(eta) - y * eta))


def expected_loss(beta: Array, X: Array, y: Array, m: Any, *, family: Family = LINEAR) -> float:
    """Exact Σ_i E_ξ[loss on x_i ⊙ ξ / (1 − m)], by going through all 2^d masks; meant for few features."""
    m = check_rates(m, X.shape[1], name="m")
    return sum(
        float(mask_probability(mask, 1 - m)) * loss(beta, X * mask / (1 - m), y, family=family)
        for mask in masks(X.shape[1])
    )


def regulariser(beta: Array, X: Array, m: Any, *, family: Family = LINEAR) -> float:
    """R(β) = Σ_i E_ξ[A(x̃_i β)] − A(x_i β), exactly; it does not depend on the labels."""
    zeros = np.zeros(len(X))
    return expected_loss(beta, X, zeros, m, family=family) - loss(beta, X, zeros, family=family)


def quadratic_penalty(beta: Array, X: Array, m: Any, *, family: Family = LINEAR) -> float:
    """R^q(β) = ½ Σ_i A''(x_i β) Σ_j m_j/(1 − m_j) x_ij² β_j²: for linear regression R itself, else to second order."""
    m = check_rates(m, X.shape[1], name="m")
    weights = family.variance(X @ beta)
    return float(weights @ np.square(X) @ (m / (1 - m) * np.square(beta)) / 2)


def penalised_fit(X: Array, y: Array, m: Any) -> Array:
    """Least squares on the *clean* rows with the penalty R: (XᵀX + diag(m/(1 − m)) diag(XᵀX)) β = Xᵀy."""
    m = check_rates(m, X.shape[1], name="m")
    gram = X.T @ X
    return lstsq(gram + np.diag(m / (1 - m) * np.diagonal(gram)), X.T @ y)[0]


def corrupted_fit(X: Array, y: Array, m: Any) -> Array:
    """Minimiser of the expected loss on *corrupted* rows scaled by 1/(1 − m), from the moments of X̃.

    The limit of least squares on ever more corrupted copies of the same rows; equal to `penalised_fit`.
    """
    m = check_rates(m, X.shape[1], name="m")
    scale = 1 / (1 - m)
    gram = np.outer(scale, scale) * move_gram(X.T @ X, m)
    return lstsq(gram, scale * move_mean(X.T @ y, m))[0]
