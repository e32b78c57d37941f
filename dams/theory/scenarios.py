"""Exact scores of linear predictors in the two synthetic scenarios: from the moments of their laws, without sampling.

A sampled score scatters with sample, β and masks; these are what it scatters around, up to the noise of a ratio whose
denominator, Var(Y) over the test rows, is estimated too. Corrupted moments follow from the clean ones by the moments
table, the best linear predictor from the moments of the domain that it is fitted on, and its risk from the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import expit

from dams.least_squares import least_squares
from dams.moments import Moments, relative_rates
from dams.rates import OpposingRates

Array = np.ndarray
Scores = dict[str, float]

# E over N(0, 1), and over U(0, 1); the integrands are smooth, so few nodes give all digits.
_HERMITE = np.polynomial.hermite_e.hermegauss(60)
_LEGENDRE = np.polynomial.legendre.leggauss(40)


@cache
def _redundant() -> tuple[Array, Array]:
    """E[X] and Cov(X) of X₁ = X₂ = Z ~ Bernoulli(½)."""
    return np.full(2, 0.5), np.full((2, 2), 0.25)


@cache
def _confounded() -> tuple[Array, Array]:
    """E[X] and Cov(X) of X₁ ~ Bernoulli(½), X₂ = expit(2 X₁ + N(0, 1))."""
    nodes, weights = _HERMITE
    weights = weights / weights.sum()
    first, second = ([float(expit(2 * x + nodes) ** k @ weights) for x in (0, 1)] for k in (1, 2))
    mean = np.array([0.5, np.mean(first)])
    gram = np.array([[0.5, first[1] / 2], [first[1] / 2, np.mean(second)]])
    return mean, gram - np.outer(mean, mean)


# Moments of the covariates, and the coefficients of the stated equations, whose noise has variance 1.
_LAWS: dict[str, tuple[Callable[[], tuple[Array, Array]], tuple[float, float]]] = {
    "redundant": (_redundant, (1.0, 0.0)),
    "confounded": (_confounded, (1.0, -1.0)),
}


@cache
def exact_scores(scenario: str, epsilon: float, labels: str = "random_linear") -> Scores:
    """Target MSE/Var(Y) of the linear predictors at m^s = [1 − ε, ε], m^t = [ε, 1 − ε], as n grows without bound.

    Parameters
    ----------
    scenario : {"redundant", "confounded"}
    epsilon : float between 0 and 1, exclusive
    labels : {"random_linear", "structural"}
        Y = Xβ with β ~ U(0, 10)², averaged over β, or the labels of the stated equations.

    Returns
    -------
    dict
        By method: oracle, source, closed_form, nonparametric. The closed form's limit is the oracle.
    """
    if labels == "structural":
        beta, weights, noise = np.array(_LAWS[scenario][1])[:, None], np.ones(1), 1.0
    else:
        # Scores depend on β₂/β₁ alone. For β uniform on a square that ratio, or its inverse, is uniform on (0, 1).
        t = (_LEGENDRE[0] + 1) / 2
        beta = np.hstack([[np.ones_like(t), t], [t, np.ones_like(t)]])
        weights, noise = np.tile(_LEGENDRE[1] / 4, 2), 0.0
    scores = scores_of(scenario, epsilon, beta, noise=noise)
    return {method: float(values @ weights) for method, values in scores.items()}


def scores_of(scenario: str, epsilon: float, beta: Array, *, noise: float = 0.0) -> dict[str, Array]:
    """Scores for labels Y = Xβ + noise of that variance, one per column of β; see `exact_scores`."""
    mean, covariance = _LAWS[scenario][0]()
    signal = covariance @ beta
    clean = Moments(1, mean, covariance, mean @ beta, signal, (beta * signal).sum(axis=0) + noise)
    m_source, m_target = OpposingRates(epsilon).sample(2, np.random.default_rng())  # nothing is random in it
    filtered = 1 - (1 - m_source) * (1 - np.maximum(relative_rates(m_source, m_target), 0))
    target = clean.moved(m_target)
    trained_on = {"oracle": m_target, "source": m_source, "closed_form": m_target, "nonparametric": filtered}
    variance = clean.label_variance
    assert variance is not None
    return {method: least_squares(clean.moved(rates)).mse(target) / variance for method, rates in trained_on.items()}
