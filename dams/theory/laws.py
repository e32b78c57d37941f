"""Small discrete laws with the values they sit on, and the enumerations that serve as the ground truth for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from dams.identification import corrupt_law, is_reachable
from dams.moments import Moments

Array = np.ndarray


@dataclass(frozen=True)
class DiscreteLaw:
    """A law of (X, Y) together with the values its axes stand for.

    Attributes
    ----------
    p : array of shape (k_1, …, k_d, k_y)
        Probabilities, as `dams.identification` describes them.
    supports : tuple of d arrays
        Values of each feature; the first of each is zero.
    labels : array of shape (k_y,)
        Values of Y.
    """

    p: Array
    supports: tuple[Array, ...]
    labels: Array

    @classmethod
    def random(cls, rng: np.random.Generator, sizes: tuple[int, ...] = (2, 3, 4), n_labels: int = 2) -> DiscreteLaw:
        """Draw a law with `sizes[j]` values of feature j: probabilities uniform on the simplex, values normal."""
        shape = (*sizes, n_labels)
        p = rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
        supports = tuple(np.concatenate([[0.0], rng.normal(size=k - 1)]) for k in sizes)
        return cls(p, supports, rng.normal(size=n_labels))

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.supports)

    def corrupted(self, m: Any) -> DiscreteLaw:
        """Return the law of (X̃, Y) at rates m."""
        return replace(self, p=corrupt_law(self.p, m))

    def states(self) -> Array:
        """Every x as a row, in the order of `p.reshape(-1, k_y)`."""
        return np.stack([axis.ravel() for axis in np.meshgrid(*self.supports, indexing="ij")], axis=1)

    def nonzero_shares(self) -> Array:
        """q_j = P(X_j ≠ 0)."""
        return (self.states() != 0).T @ self.p.sum(axis=-1).ravel()

    @property
    def label_mean(self) -> float:
        """E[Y]."""
        return float(self.p.reshape(-1, len(self.labels)).sum(axis=0) @ self.labels)

    def moments(self) -> Moments:
        """Exact first and second moments. A law has no sample size; `n` is one."""
        X, weights = self.states(), self.p.reshape(-1, len(self.labels))
        mean = weights.sum(axis=1) @ X
        X, labels = X - mean, self.labels - self.label_mean
        return Moments(
            n=1,
            mean=mean,
            covariance=X.T @ (weights.sum(axis=1)[:, None] * X),
            label_mean=np.array([self.label_mean]),
            label_covariance=(X.T @ weights @ labels)[:, None],
            label_variance=np.array([weights.sum(axis=0) @ labels**2]),
        )

    def conditional_mean(self) -> Array:
        """E[Y | X = x] for every x, the best predictor; NaN where P(X = x) = 0."""
        return conditional(self.p) @ self.labels


def conditional(joint: Array) -> Array:
    """Law of the last axis given all the others; NaN where these have probability zero."""
    total = joint.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(total > 0, joint / total, np.nan)


def masks(n_features: int) -> Iterator[Array]:
    """Every ξ ∈ {0, 1}^d."""
    for mask in product((0, 1), repeat=n_features):
        yield np.array(mask)


def mask_probability(mask: Array, keep: Array) -> Array:
    """P(ξ = mask) = Π_j keep_j^ξ_j (1 − keep_j)^(1 − ξ_j), with features on the last axis of `keep` = P(ξ_j = 1)."""
    return np.where(mask == 1, keep, 1 - keep).prod(axis=-1)


def corrupt_by_enumeration(law: DiscreteLaw, m: Array) -> Array:
    """The paper's equation for p̃ term by term, as printed, with 0⁰ = 1: the reference for `corrupt_law`.

    It looks at every pair of states, so keep the law small. Also right for m := r < 0.
    """
    X, p = law.states(), law.p.reshape(-1, law.p.shape[-1])
    corrupted = np.zeros_like(p)
    for to, x in enumerate(X):
        for start in np.flatnonzero(is_reachable(X, x)):
            kept, lost = x != 0, (X[start] != 0) & (x == 0)
            corrupted[to] += p[start] * np.prod((1 - m) ** kept * m**lost)
    return corrupted.reshape(law.p.shape)
