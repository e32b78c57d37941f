"""The paper's two examples of what it costs not to adapt: their predictors and risks in closed form, and samplers.

Every quantity the paper derives is a property; `Example` works the same quantities out from the moments alone, so that
the two can be compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from dams.moments import move_gram, move_mean

Array = np.ndarray


class Example(ABC):
    """Two features with mean zero, a label with mean zero, and the rates of both domains."""

    @property
    @abstractmethod
    def m_source(self) -> Array:
        """Rates of the source."""

    @property
    @abstractmethod
    def m_target(self) -> Array:
        """Rates of the target."""

    @property
    @abstractmethod
    def gram(self) -> Array:
        """E[XᵀX] of the clean features."""

    @property
    @abstractmethod
    def cross(self) -> Array:
        """E[XᵀY] of the clean features."""

    @property
    @abstractmethod
    def label_variance(self) -> float:
        """Var(Y)."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw n clean rows (X, y)."""

    def sample_domain(self, n: int, m: Array, random_state: Any = None) -> tuple[Array, Array]:
        """Draw n rows (X̃, y) at rates m, which may be one here."""
        rng = np.random.default_rng(random_state)
        X, y = self.sample(n, rng)
        return X * (rng.random(X.shape) >= m), y

    def best_predictor(self, m: Array) -> Array:
        """Coefficients with least risk at rates m; zero for a feature that is always lost."""
        return lstsq(move_gram(self.gram, m), move_mean(self.cross, m))[0]

    def target_risk(self, beta: Array) -> float:
        """r^t(β) = E[(Y − X̃^t β)²]."""
        gram, cross = move_gram(self.gram, self.m_target), move_mean(self.cross, self.m_target)
        return float(self.label_variance - 2 * beta @ cross + beta @ gram @ beta)

    def simulated_fit(self, n: int, m: Array, random_state: Any = None) -> Array:
        """Coefficients of least squares on n rows drawn at rates m."""
        return lstsq(*self.sample_domain(n, m, random_state))[0]

    def simulated_target_risk(self, beta: Array, n: int, random_state: Any = None) -> float:
        """Mean squared error of β on n target rows."""
        X, y = self.sample_domain(n, self.m_target, random_state)
        return float(np.mean(np.square(y - X @ beta)))


@dataclass(frozen=True)
class Redundant(Example):
    """Example 1: X₁ = X₂ = Z, Y = Z + u, with m^s = [1 − ε, ε] and m^t = [ε, 1 − ε].

    As ε → 0 the source predictor trusts the feature that the target loses, and does no better than the label's mean.

    Parameters
    ----------
    epsilon : float
        The rate ε at which the source loses the second feature and the target the first.
    sigma_z, sigma_y : float
        Standard deviations of Z and of u.

    See Also
    --------
    Confounded : Example 2.
    """

    epsilon: float
    sigma_z: float = 1.0
    sigma_y: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is a missingness rate and must lie in [0, 1], got {self.epsilon!r}.")

    @property
    def m_source(self) -> Array:
        """[1 − ε, ε]."""
        return np.array([1 - self.epsilon, self.epsilon])

    @property
    def m_target(self) -> Array:
        """[ε, 1 − ε]."""
        return np.array([self.epsilon, 1 - self.epsilon])

    @property
    def gram(self) -> Array:
        """σ_Z² in every entry."""
        return np.full((2, 2), self.sigma_z**2)

    @property
    def cross(self) -> Array:
        """σ_Z² in every entry."""
        return np.full(2, self.sigma_z**2)

    @property
    def label_variance(self) -> float:
        """σ_Z² + σ_Y²."""
        return self.sigma_z**2 + self.sigma_y**2

    @property
    def beta_source(self) -> Array:
        """[ε, 1 − ε]/(1 − ε + ε²)."""
        return np.array([self.epsilon, 1 - self.epsilon]) / self._scale

    @property
    def beta_target(self) -> Array:
        """[1 − ε, ε]/(1 − ε + ε²)."""
        return np.array([1 - self.epsilon, self.epsilon]) / self._scale

    @property
    def excess_risk_of_source(self) -> float:
        """r^t(β^s) − r^t(β^t) = σ_Z² (1 − 2ε)² (1 − 2ε + 2ε²)/(1 − ε + ε²)²."""
        e = self.epsilon
        return self.sigma_z**2 * (1 - 2 * e) ** 2 * (1 - 2 * e + 2 * e**2) / self._scale**2

    @property
    def excess_risk_of_zero(self) -> float:
        """r^t(0) − r^t(β^t) = σ_Z² (1 − 2ε + 2ε²)/(1 − ε + ε²)."""
        e = self.epsilon
        return self.sigma_z**2 * (1 - 2 * e + 2 * e**2) / self._scale

    @property
    def risk_of_target(self) -> float:
        """r^t(β^t): predicting zero costs Var(Y), which exceeds it by `excess_risk_of_zero`."""
        return self.label_variance - self.excess_risk_of_zero

    @property
    def risk_of_source(self) -> float:
        """r^t(β^s)."""
        return self.risk_of_target + self.excess_risk_of_source

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw n clean rows (X, y)."""
        z = rng.normal(0, self.sigma_z, n)
        return np.column_stack([z, z]), z + rng.normal(0, self.sigma_y, n)

    @property
    def _scale(self) -> float:
        return 1 - self.epsilon + self.epsilon**2


@dataclass(frozen=True)
class Confounded(Example):
    """Example 2: X₁ = ν₁, X₂ = aX₁ + ν₂, Y = bX₁ + cX₂ + ν_Y, all ν standard normal; m^s = [0, 0], m^t = [1, 0].

    With a = −b/c the two features' effects on Y cancel, so the source predictor, cut off from X₁, can be worse than the
    label's mean by any factor.

    Parameters
    ----------
    a, b, c : float
        Coefficients of the equations.

    See Also
    --------
    Redundant : Example 1.
    """

    a: float
    b: float
    c: float

    @classmethod
    def cancelling(cls, b: float, c: float) -> Confounded:
        """The example with a = −b/c, where the risk ratio is (b² + 1)/(c² + 1)."""
        if c == 0:
            raise ValueError("c must not be zero: no a makes X₂'s effect cancel that of X₁ if X₂ has none.")
        return cls(-b / c, b, c)

    @classmethod
    def worse_than(cls, tau: float) -> Confounded:
        """An example where the source predictor's target risk is more than τ times Var(Y), for any τ > 0."""
        return cls.cancelling(b=float(np.sqrt(2 * tau)), c=1.0)

    @property
    def m_source(self) -> Array:
        """[0, 0]."""
        return np.zeros(2)

    @property
    def m_target(self) -> Array:
        """[1, 0]."""
        return np.array([1.0, 0.0])

    @property
    def gram(self) -> Array:
        """[[1, a], [a, a² + 1]]."""
        return np.array([[1.0, self.a], [self.a, self.a**2 + 1]])

    @property
    def cross(self) -> Array:
        """[b + ac, ab + a²c + c]."""
        return np.array([self.b + self.a * self.c, self.a * self.b + self.a**2 * self.c + self.c])

    @property
    def label_variance(self) -> float:
        """(b + ac)² + c² + 1."""
        return (self.b + self.a * self.c) ** 2 + self.c**2 + 1

    @property
    def beta_source(self) -> Array:
        """[b, c]."""
        return np.array([self.b, self.c])

    @property
    def beta_target(self) -> Array:
        """[0, ab/(a² + 1) + c]."""
        return np.array([0.0, self.a * self.b / (self.a**2 + 1) + self.c])

    @property
    def risk_of_source(self) -> float:
        """r^t(β^s) = b² + 1."""
        return self.b**2 + 1

    @property
    def risk_ratio(self) -> float:
        """r^t(β^s)/Var(Y), (b² + 1)/(c² + 1) where a = −b/c."""
        return self.risk_of_source / self.label_variance

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw n clean rows (X, y)."""
        nu_1, nu_2, nu_y = rng.normal(size=(3, n))
        x_2 = self.a * nu_1 + nu_2
        return np.column_stack([nu_1, x_2]), self.b * nu_1 + self.c * x_2 + nu_y
