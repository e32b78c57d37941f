"""Risks of several predictors in the target, with their covariance: what `dams.risk` reports.

For any function b of covariates alone, E_t[b(X̃)] is both a mean over the target's rows and E_s[T b]. So

    R_t(f) = E_s[T(ℓ − θ b)] + θ E_t[b],   b(x) = E_Y[ℓ(Y, f(x))],

for every θ, and b, the loss with a label that has nothing to do with the row, takes out of the signed mean what labels
are not needed for: of the squared loss all but −2 Cov_t(Y, f). θ in [0, 1] is the value with the least variance. But
where E_s[T b] and E_t[b] clearly differ, for any model, the kernel is wrong, as it is where columns are lost together:
then θ = 1 for all. Of a linear model nothing is left then that depends on what is lost together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dams._influence import Domains, Influence
from dams._influence_anchored import AnchoredSamples
from dams._risk_losses import Loss
from dams._risk_rows import StandIns, present_units

Array = np.ndarray
Samples = Domains | AnchoredSamples

# Standard errors by which E_s[T b] must differ from E_t[b] to contradict the kernel.
CONTRADICTED = 3.0
# Stand-ins per unit from which the gradient in r is taken: it only serves a standard error.
ENOUGH_FOR_GRADIENT = 1000


@dataclass(frozen=True)
class Part:
    """Some held-out rows and models that did not see them; without cross-fitting, all rows."""

    rows: Array
    models: list[Any]


@dataclass(frozen=True)
class Terms:
    """Components of the risks of k models, for ℓ and for b.

    Attributes
    ----------
    moved, moved_unrelated : arrays of shape (n_s, k)
        T ℓ and T b by source row, times w(s) where there are anchors.
    unrelated : array of shape (n_t, k)
        b by target row.
    gradient, gradient_unrelated : arrays of shape (parameters, k)
        Derivatives of E_s[T ℓ] and E_s[T b] in r, or in what r(s) is made of.
    """

    moved: Array
    moved_unrelated: Array
    unrelated: Array
    gradient: Array
    gradient_unrelated: Array


def stack_terms(terms: Sequence[Terms], order: Array) -> Terms:
    """Terms of several sets of models side by side, the models in another order."""
    names = [field.name for field in fields(Terms)]
    return Terms(*(np.hstack([getattr(one, name) for one in terms])[:, order] for name in names))


@dataclass(frozen=True)
class Measured:
    """Risks of k models, what their errors are made of, and θ, the weight of b."""

    risk: Array
    influence: Influence
    theta: Array

    @property
    def standard_error(self) -> Array:
        """Standard errors of the risks."""
        return np.array([self.influence.standard_error(one) for one in np.eye(len(self.risk))])


def combine(terms: Terms, domains: Samples, *, theta: float | None = None) -> Measured:
    """Return the risks and what their errors are made of; θ is chosen for each model unless it is given."""
    chosen = _best_theta(terms, domains) if theta is None else np.full(terms.moved.shape[1], theta)
    of_source = terms.moved - chosen * terms.moved_unrelated
    of_target = chosen * terms.unrelated
    gradient = terms.gradient - chosen * terms.gradient_unrelated
    risk = of_source.mean(axis=0) + of_target.mean(axis=0)
    return Measured(risk, domains.influence(of_source, of_target, gradient), chosen)


def _best_theta(terms: Terms, domains: Samples) -> Array:
    """θ with the least Var(A − θ B), A and B the estimates of E_s[T ℓ] and of E_s[T b] − E_t[b]; 1 if B is not 0."""
    first = domains.influence(terms.moved, np.zeros_like(terms.unrelated), terms.gradient)
    second = domains.influence(terms.moved_unrelated, -terms.unrelated, terms.gradient_unrelated)
    between = np.sum(first.source * second.source, axis=0) + np.sum(first.target * second.target, axis=0)
    own = np.sum(np.square(second.source), axis=0) + np.sum(np.square(second.target), axis=0)
    gap = terms.moved_unrelated.mean(axis=0) - terms.unrelated.mean(axis=0)
    error = np.array([second.standard_error(one) for one in np.eye(len(gap))])
    if (np.abs(gap) > CONTRADICTED * error).any():
        return np.ones_like(gap)
    return np.clip(np.divide(between, own, out=np.zeros_like(own), where=own > 0), 0.0, 1.0)


def terms_by_rows(
    parts: Sequence[Part],
    stand_ins: Callable[[Array], Iterable[StandIns]],
    loss: Loss,
    y: Array,
    target: Any,
    domains: Samples,
    unit: Array,
    as_table: Callable[[Array], Any],
    rng: np.random.Generator,
) -> Terms:
    """Return the terms of models of any kind, from rows that stand for labelled target rows.

    `stand_ins` makes them of some source rows, `as_table` gives rows the form that the models were fitted on, and
    `target` holds the target's rows in this form.
    """
    k, n = len(parts[0].models), len(y)
    moved = np.zeros((2, n, k))
    gradient = np.zeros((2, domains.n_parameters, k))
    unrelated = np.zeros((len(domains.target.present), k))
    for part in parts:
        share = len(part.rows) / n
        for number, model in enumerate(part.models):
            unrelated[:, number] += share * loss.unrelated(loss.predict(model, target))
        for some in stand_ins(part.rows):
            losses = _losses(part.models, loss, as_table(some.X), y[some.row])
            for number in range(k):
                for which in range(2):
                    moved[which, :, number] += np.bincount(some.row, some.weight * losses[which, :, number], n)
            quota = max(1, round(ENOUGH_FOR_GRADIENT * len(np.unique(some.row)) / n))
            gradient += _gradient(part.models, loss, y, some, losses, domains, unit, as_table, quota, rng) / n
    return Terms(moved[0], moved[1], unrelated, gradient[0], gradient[1])


def _losses(models: Sequence[Any], loss: Loss, X: Any, y: Array) -> Array:
    """ℓ and b of rows, (2, N, k)."""
    found = np.empty((2, len(y), len(models)))
    for number, model in enumerate(models):
        predicted = loss.predict(model, X)
        found[0, :, number], found[1, :, number] = loss.values(y, predicted), loss.unrelated(predicted)
    return found


def _gradient(
    models: Sequence[Any],
    loss: Loss,
    y: Array,
    some: StandIns,
    losses: Array,
    domains: Samples,
    unit: Array,
    as_table: Callable[[Array], Any],
    quota: int,
    rng: np.random.Generator,
) -> Array:
    """Sum over stand-ins of the derivative, (2, parameters, k).

    ∂T_u g/∂r_u = g(x without u) − g(x) where x has u, and stand-ins with u have the weight 1 − r_u of it: so the
    derivative is the mean over stand-ins of what deleting u does, over 1 − r_u. Some of them will do.
    """
    present = present_units(some.X, unit)
    rate = np.broadcast_to(domains.rates(some.row), present.shape)
    chosen, which = [], []
    for column in np.flatnonzero(domains.estimated):
        have = np.flatnonzero(present[:, column] & (rate[:, column] < 1))
        if len(have) > quota:
            have = rng.choice(have, quota, replace=False)
        chosen.append(have)
        which.append(np.full(len(have), column))
    if not sum(map(len, chosen)):
        return np.zeros((2, domains.n_parameters, len(models)))
    rows, units = np.concatenate(chosen), np.concatenate(which)
    without = np.where(unit[None, :] == units[:, None], 0.0, some.X[rows])
    change = _losses(models, loss, as_table(without), y[some.row[rows]]) - losses[:, rows]
    scale = present.sum(axis=0) / np.maximum(np.bincount(units, minlength=present.shape[1]), 1)
    weight = some.weight[rows] * (scale[units] / (1 - rate[rows, units]))
    return np.stack([domains.collect(some.row[rows], units, weight[:, None] * kind) for kind in change])


def terms_of_linear(
    parts: Sequence[Part], X: Array, y: Array, target: Array, domains: Samples, unit: Array, centre: float
) -> Terms:
    """Return the terms of linear predictors a + xβ and the squared loss, exactly.

    With c_u = Σ_{j in u} x_j β_j, T (y − a − xβ)² = (y − a − Σ_u (1 − r_u) c_u)² + Σ_u r_u (1 − r_u) c_u²: the moments
    table, row by row. `centre` is the label of b.
    """
    n, k = len(y), len(parts[0].models)
    moved, gradient = np.zeros((2, n, k)), np.zeros((2, domains.n_parameters, k))
    unrelated = np.zeros((len(target), k))
    members = (unit[:, None] == np.arange(len(domains.estimated))).astype(float)
    for part in parts:
        share = len(part.rows) / n
        r, w = domains.rates(part.rows), domains.weights[part.rows]
        for number, model in enumerate(part.models):
            coef, intercept = linear_predictor(model)
            unrelated[:, number] += share * np.square(target @ coef + intercept - centre)
            parts_of = (X[part.rows] * coef) @ members
            mean = intercept + (parts_of * (1 - r)).sum(axis=1)
            squares = np.square(parts_of)
            spread = (squares * (r * (1 - r))).sum(axis=1)
            for which, label in enumerate((y[part.rows], np.full(len(part.rows), centre))):
                moved[which, part.rows, number] = w * (np.square(label - mean) + spread)
                slope = 2 * (label - mean)[:, None] * parts_of + (1 - 2 * r) * squares
                gradient[which, :, number] += domains.collect_rows(part.rows, w[:, None] * slope) / n
    return Terms(moved[0], moved[1], unrelated, gradient[0], gradient[1])


def linear_predictor(model: Any) -> tuple[Array, float]:
    """Coefficients and intercept of a linear model with one label."""
    return np.asarray(model.coef_, dtype=float).ravel(), float(np.ravel(model.intercept_)[0])


def is_linear(model: Any, X: Array, table: Any) -> bool:
    """Whether a model predicts a + xβ with its own `coef_` and `intercept_`, judged on a few rows."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return False
    if np.size(model.coef_) != X.shape[1] or np.size(model.intercept_) != 1:
        return False
    coef, intercept = linear_predictor(model)
    predicted = np.asarray(model.predict(table)).ravel()
    if predicted.dtype.kind not in "biuf":
        return False  # a linear classifier predicts names of classes
    expected = X @ coef + intercept
    return predicted.shape == expected.shape and np.allclose(
        predicted, expected, rtol=1e-9, atol=1e-9 * np.ptp(expected)
    )
