"""Discrete laws of (X, Y) under missingness: corrupt them, recover them, carry them from source to target.

A *law* is an array with one axis per feature and the label on the last axis; along a feature's axis index 0 is the
value zero and the others are its nonzero values, however many. Losing values at rate m acts on every axis alike, by the
small matrix that leaves zero where it is, keeps a nonzero value with weight 1 − m and moves it to zero with weight m.
The paper's sum over all z ⇝ x is the product of these matrices, applied here one axis after another: O(d · size)
instead of one term for every pair of states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dams.missingness import check_rates
from dams.moments import inverse_rates

Array = np.ndarray


def is_reachable(a: Any, b: Any) -> Any:
    """Whether b is m-reachable from a, written a ⇝ b: some mask ξ ∈ {0, 1}^d has b = a ⊙ ξ.

    Equivalently every b_j is zero or equal to a_j. The last axis holds the features; the others broadcast.
    """
    a, b = np.asarray(a), np.asarray(b)
    return np.all((b == a) | (b == 0), axis=-1)


def corrupt_law(p: Any, m: Any) -> Array:
    """Law of (X̃, Y) when X is lost at rates m: p̃_{x,y} = Σ_{z⇝x} p_{z,y} Π_j (1−m_j)^[x_j≠0] m_j^([z_j≠0]−[x_j≠0]).

    Parameters
    ----------
    p : array of shape (k_1, …, k_d, k_y)
        Clean law, see the module's description. Never changed in place.
    m : float or array of shape (d,)
        Rates in [0, 1]; a rate of one loses the feature altogether.
    """
    law = _check_law(p, "p")
    return _lose(law, _check_interval(m, law.ndim - 1, 0, 1, name="m"))


def recover_law(p_tilde: Any, m: Any) -> Array:
    """Clean law from the corrupted one and the rates m < 1 that corrupted it, the inverse of `corrupt_law`.

    The mass is always kept. Entries are non-negative if p̃ did come from a law at rates m; a p̃ counted from a sample,
    or rates larger than the true ones, can give negative ones (see `could_have_produced`).
    """
    law = _check_law(p_tilde, "p_tilde")
    return _lose(law, inverse_rates(check_rates(m, law.ndim - 1, name="m")))


def transport_law(p_tilde_source: Any, r: Any) -> Array:
    """Labelled target law from the labelled source law and the relative missingness r ≤ 1, of either sign.

    The map is that of `corrupt_law` with m := r. Where r_j ≥ 0 it loses values and the result is a law. Where r_j < 0
    it puts back what the source lost more than the target, by taking mass from the zeros. The true p̃^s has that mass;
    with r̂ or p̃^s estimated the zeros of some state may hold too little, and the result, though its mass is still
    that of p̃^s, has negative entries.
    """
    law = _check_law(p_tilde_source, "p_tilde_source")
    return _lose(law, _check_interval(r, law.ndim - 1, -np.inf, 1, name="r"))


def could_have_produced(p_tilde: Any, m: Any, *, tolerance: float = 1e-12) -> bool:
    """Whether some clean law gives p̃ at rates m, that is, whether the recovered law has no negative entry.

    `tolerance` is the share of the total mass by which an entry may fall below zero through rounding.
    """
    recovered = recover_law(p_tilde, m)
    return bool(recovered.min() >= -tolerance * recovered.sum())


def possible_rates(p_tilde: Any) -> Array:
    """Largest rate that each feature could have had, the others at zero: min over (x̃_−j, y) of P(X̃_j = 0 | x̃_−j, y).

    One corrupted law does not tell the rates that made it, only bounds them. The rates that could have made it form a
    set with three properties:

    * it holds every m' ≤ m with m, since a law lost at m is one lost at m' and then at (m − m')/(1 − m');
    * so it lies in the box from zero to the vector returned here, and holds the box's edges on the axes;
    * but it need not be the whole box: two features that are never seen together, P(X̃ = (0,0)) = P((1,0)) = P((0,1))
      = 1/3, allow 1/2 for either and not for both. `could_have_produced` decides for a given vector.

    A feature that is never seen has the bound one, which no rate below one contradicts.

    Returns
    -------
    array of shape (d,)
    """
    law = _check_law(p_tilde, "p_tilde")
    if law.min() < 0:
        raise ValueError(f"p_tilde must be a law, with no negative entry; its smallest is {law.min():g}.")
    largest = np.ones(law.ndim - 1)
    for j in range(law.ndim - 1):
        zero, total = np.take(law, 0, axis=j), law.sum(axis=j)
        largest[j] = np.min(zero[total > 0] / total[total > 0], initial=1.0)
    return largest


class Corruption(NamedTuple):
    """A clean law and the rates at which it is lost."""

    law: Array
    rates: Array


def indistinguishable_pair(q: float = 0.5, m: float = 0.5) -> tuple[Corruption, Corruption]:
    """Two laws of one binary feature, with rates, that look alike once corrupted: the rates are not identified.

    The first is Bernoulli(q) at rate m, the second Bernoulli(q(1 − m)) at rate zero; the defaults are the paper's. The
    label takes a single value.
    """
    first = np.array([[1 - q], [q]])
    rates = check_rates(m, 1, name="m")
    return Corruption(first, rates), Corruption(corrupt_law(first, rates), np.zeros(1))


def total_variation(p: Any, q: Any) -> float:
    """Distance ½ Σ |p − q| of two laws: the largest difference of the probabilities they give to an event."""
    return float(np.abs(np.asarray(p) - np.asarray(q)).sum() / 2)


def filter_distance(p_tilde_source: Any, r: Any) -> float:
    """Total variation between algorithm 1's filtered source, lost at max(r, 0), and the target's law.

    Zero if and only if the filter is proper: r ≥ 0 in every feature that is ever observed.
    """
    target = transport_law(p_tilde_source, r)
    return total_variation(corrupt_law(p_tilde_source, np.maximum(r, 0)), target)


def _lose(law: Array, rates: Array) -> Array:
    """Apply the matrix of each rate along its axis; rates may be negative."""
    moved = law.copy()
    for axis, rate in enumerate(rates):
        # A view with the feature's axis first, so that the update below writes into `moved`.
        by_value = np.moveaxis(moved, axis, 0)
        by_value[0] += rate * by_value[1:].sum(axis=0)
        by_value[1:] *= 1 - rate
    return moved


def _check_law(law: Any, name: str) -> Array:
    values = np.asarray(law, dtype=float)
    if values.ndim < 2:
        raise ValueError(
            f"{name} must have one axis per feature and the label on the last axis, so two axes or more; got shape "
            f"{values.shape}. Without a label, add an axis of length one: law[..., None]."
        )
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(
            f"{name} must hold finite probabilities, got an empty array or entries that are NaN or infinite."
        )
    return values


def _check_interval(rates: Any, n_features: int, low: float, high: float, *, name: str) -> Array:
    values = np.asarray(rates, dtype=float)
    if values.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be one number or a vector with one rate per feature ({n_features}), "
            f"got an array of shape {values.shape}."
        )
    values = np.broadcast_to(values, (n_features,))
    bad = ~((values >= low) & (values <= high) & np.isfinite(values))
    if bad.any():
        j = int(np.flatnonzero(bad)[0])
        expected = f"in [{low:g}, {high:g}]" if np.isfinite(low) else f"finite and at most {high:g}"
        raise ValueError(f"{name} must be {expected}, got {values[j]:g} for feature {j}.")
    return values
