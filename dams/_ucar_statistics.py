"""Statistics that are zero, but for chance, where values are lost completely at random (UCAR), and their joint law.

With b_j = [X̃_j ≠ 0], q_j = E[b_j] and functions h, g of the nonzero values (zero at zero), what does not depend on the
domain is

- E[h(X̃_i) g(X̃_j)] / (q_i q_j) for i ≠ j: relative missingness, estimated feature by feature, must explain every pair;
- E[h(X̃_j)] / q_j: the law of the nonzero values.

A feature that the target records better, r_j < 0, gives bounds. Were the source to record it alike, other features as
they are, it would show it in (1 − r_j) P^s(X̃_j ≠ 0 | A) of the rows of any event A about these: at most in all. A is
that another feature is present (`bounds`), or absent (`absences`). What else a user knows of the columns, and what can
then be checked, is in `dams._ucar_known`.

Checks are made and judged a few features at a time: all pairs of 500 features, by blocks of rows, would take gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dams._ucar_domains import (
    MIN_ELSEWHERE,
    MIN_EXPECTED,
    N_BINS,
    N_BLOCKS,
    Blocks,
    Checks,
    Domain,
    make_domains,
    share_checks,
)
from dams._ucar_known import Known, check_given, check_population, check_together

__all__ = ["MIN_EXPECTED", "N_BLOCKS", "Checks", "Domain", "Known", "all_checks", "judge", "make_domains"]

Array = np.ndarray

# A bound this many standard errors below its limit is met for certain.
SLACK = 3.0
# About so many checks are held at once, which bounds the memory.
AT_ONCE = 4096
# What checks are about; that two populations differ in what both always record is no sign of loss.
FAMILIES = ("pairs", "values", "bounds", "absences", "together")
POPULATION = "population"
ONE_SIDED = ("bounds", "absences")


def all_checks(source: Domain, target: Domain, known: Known | None = None) -> Iterator[Checks]:
    """Every check of two domains, about `AT_ONCE` of them at a time."""
    known = Known.nothing(source.d) if known is None else known
    ranked = np.arange(source.d, len(source.feature))
    ranked = ranked[~known.always_recorded[source.feature[ranked]]]
    for start in range(0, len(ranked), max(1, AT_ONCE // N_BINS)):
        yield check_values(source, target, ranked[start : start + max(1, AT_ONCE // N_BINS)])
    step = max(1, AT_ONCE // len(source.feature))
    for start in range(0, source.d, step):
        some = (source.feature >= start) & (source.feature < start + step)
        columns = np.flatnonzero(some)
        products = source.products(columns), target.products(columns)
        yield check_pairs(source, target, columns, products, known)
        yield check_bounds(source, target, columns, products[0], known)
        yield from check_absences(source, target, columns, products, known)
    yield from check_together(source, target, known)
    yield from check_given(source, target, known)
    yield from check_population(source, target, known)


def check_pairs(source: Domain, target: Domain, columns: Array, products: tuple[Array, Array], known: Known) -> Checks:
    """U = E[h_i g_j]/(q_i q_j), target minus source, with influence h_i g_j/(q_i q_j) − U (b_i/q_i + b_j/q_j − 1).

    The variance of the influence is κ/(q_i q_j) − 2U²s + U²(s + 2V − 2), with s = 1/q_i + 1/q_j − 1,
    κ = E[h_i² g_j²]/(q_i q_j) and V = E[b_i b_j]/(q_i q_j).

    `columns` are all columns of some features, and `products` theirs with every column; j runs over later features.
    The effect is 1 + (U^t − U^s)/κ^s: of presences U^t/U^s, the factor by which the target shows both more often than r
    explains; of ranks that factor at the highest rank, if it grows linearly with the rank.
    """
    feature, domains = source.feature, (source, target)
    a, b = np.nonzero(known.independent(feature[columns][:, None], feature) & (feature[columns][:, None] < feature))
    i, j = feature[columns][a], feature[b]
    presence = np.searchsorted(columns, i)
    means = [part.mean(axis=0) for part in products]
    return compare_pairs(
        domains,
        (i, j),
        (columns[a] >= source.d, b >= source.d),
        [
            PairSums(part[:, a, b], part[:, presence, j], mean[a, b], mean[presence, j], domain.squares(columns)[a, b])
            for domain, part, mean in zip(domains, products, means, strict=True)
        ],
    )


@dataclass(frozen=True)
class PairSums:
    """Moments of some pairs in one domain: E[h_i g_j] and E[b_i b_j] by block and over all rows, and E[h_i² g_j²]."""

    product: Array  # (blocks, pairs)
    presence: Array  # (blocks, pairs)
    mean: Array
    mean_presence: Array
    square: Array


def compare_pairs(
    domains: tuple[Blocks, Blocks], features: tuple[Array, Array], by_value: tuple[Array, Array], sums: list[PairSums]
) -> Checks:
    """Checks of pairs from their sums; `by_value` says for either feature whether it enters by rank."""
    i, j = features
    source, target = domains
    exposure = [domain.n * domain.q[i] * domain.q[j] for domain in domains]
    total = np.maximum(exposure[0] + exposure[1], 1)
    kappa = sum(domain.n * part.square for domain, part in zip(domains, sums, strict=True)) / total
    U = sum(domain.n * part.mean for domain, part in zip(domains, sums, strict=True)) / total
    V = sum(domain.n * part.mean_presence for domain, part in zip(domains, sums, strict=True)) / total
    estimates, influences, expected = [], [], []
    for domain, part in zip(domains, sums, strict=True):
        safe = np.where(domain.q > 0, domain.q, np.inf)
        both = safe[i] * safe[j]
        ratios, relative = part.product / both, domain.shares / safe
        estimates.append(ratios.mean(axis=0))
        influence = ratios - estimates[-1] * (relative[:, i] + relative[:, j] - domain.share_of_rows[:, None])
        s = 1 / safe[i] + 1 / safe[j] - 1
        variance = kappa / both - 2 * U**2 * s + U**2 * (s + 2 * V - 2)
        expected.append(part.square / both)
        own_u, own_v = estimates[-1], part.presence.mean(axis=0) / both
        own = expected[-1] / both - 2 * own_u**2 * s + own_u**2 * (s + 2 * own_v - 2)
        influences.append(domain.with_variance(influence, variance / domain.n, own / domain.n))
    enough = np.minimum(exposure[0] * source.worth, exposure[1] * target.worth) * V >= MIN_EXPECTED
    for domain in domains:
        rest = domain.worth * _rest_of_table(domain, i, j, V)
        enough &= by_value[0] | by_value[1] | (rest >= MIN_ELSEWHERE)
    difference, influence_of = estimates[1] - estimates[0], (-influences[0], influences[1])
    return Checks("pairs", i, j, difference, influence_of, expected[0], by_value).keep(enough)


def _rest_of_table(domain: Blocks, i: Array, j: Array, V: Array) -> Array:
    """The least expected count in the other cells of the two-by-two tables of presences: one absent, or both.

    Where features are hardly ever lost, these are the rare events that tell.
    """
    q_i, q_j = domain.q[i], domain.q[j]
    both = q_i * q_j * V
    return domain.n * np.minimum(np.minimum(q_i, q_j) - both, 1 - q_i - q_j + both)


def check_values(source: Domain, target: Domain, columns: Array) -> Checks:
    """P(value in bin | nonzero), target minus source, for some columns of ranks."""
    j, domains = np.repeat(source.feature[columns], N_BINS), (source, target)
    parts = tuple(domain.bins(columns).reshape(len(domain.sizes), -1) for domain in domains)
    wholes = source.shares[:, j], target.shares[:, j]
    return share_checks("values", domains, (j, np.full(len(j), -1)), (parts[0], parts[1]), wholes, by_value=True)


def check_bounds(source: Domain, target: Domain, columns: Array, products: Array, known: Known) -> Checks:
    """(1 − r_j) P^s(X̃_j ≠ 0 | X̃_i ≠ 0), in logarithms, at most 0, where r_j < 0, for the j among `columns`.

    `products` are those of the source, of these columns with every column.
    """
    row, i = np.nonzero(_beside(source, columns, known) & (target.q > source.q)[source.feature[columns]][:, None])
    return compare_bounds(source, target, columns[row], i, products[:, row, i])


def compare_bounds(source: Blocks, target: Blocks, j: Array, i: Array, together: Array) -> Checks:
    """Bounds of j given that i is present, from the source's shares of rows with both, by block."""
    share = together.mean(axis=0)
    enough = source.n * source.worth * share >= MIN_EXPECTED
    j, i, together, share = j[enough], i[enough], together[:, enough], share[enough]
    estimate = np.log(target.q[j] * share / (source.q[j] * source.q[i]))
    in_source = together / share - source.shares[:, i] / source.q[i] - source.shares[:, j] / source.q[j]
    in_source += source.share_of_rows[:, None]
    in_target = target.shares[:, j] / target.q[j] - target.share_of_rows[:, None]
    checks = Checks("bounds", j, i, estimate, (in_source, in_target)).keep(np.ones(len(j), dtype=bool))
    # Bounds far from binding would only dilute the others: they cannot fail, by chance or otherwise.
    return checks.keep(checks.z > -SLACK)


def _beside(source: Domain, columns: Array, known: Known) -> Array:
    """Which of the columns are presences of features that may be lost, beside which others; (columns, d)."""
    j, every = source.feature[columns], np.arange(source.d)
    lost = (columns < source.d) & ~known.always_recorded[j]
    return lost[:, None] & (columns[:, None] != every) & (known.group[j][:, None] != known.group)


def check_absences(
    source: Domain, target: Domain, columns: Array, products: tuple[Array, Array], known: Known
) -> Iterator[Checks]:
    """(1 − r_j) P^s(X̃_j ≠ 0 | A), in logarithms, at most 0, for the j among `columns`.

    It holds of r_j > 0 too, and by itself; but where r_j is about 0, only chance says which of two levels of a category
    has the bound that may break, and both must be counted.

    A: another feature is absent; or, where several features never occur beside j in either domain though chance would
    bring them together, all of these. Levels of a category that is never lost are such: A then leaves rows with level j
    alone, of which no more than all can show it.
    """
    presences = np.searchsorted(columns, columns[columns < source.d])
    row, i = np.nonzero(_beside(source, columns, known))
    share = source.q[columns[row]] - products[0].mean(axis=0)[row, i]
    # Most are far from their bounds; what a block of rows says is only asked of the rest.
    close = may_break(source, target, columns[row], share, 1 - source.q[i])
    row, i = row[close], i[close]
    absent = source.share_of_rows[:, None] - source.shares[:, i]
    joint = source.shares[:, columns[row]] - products[0][:, row, i]
    yield compare_absences(source, target, columns[row], i, joint, absent)

    never = np.ones((len(presences), source.d), dtype=bool)
    for domain, part in zip((source, target), products, strict=True):
        together = part[:, presences, : source.d].mean(axis=0)
        expected = domain.n * domain.worth * domain.q[columns[presences]][:, None] * domain.q
        never &= (together == 0) & (expected >= MIN_EXPECTED)
    never &= _beside(source, columns[presences], known)
    several = np.flatnonzero(never.sum(axis=1) > 1)
    if several.size:
        j = columns[presences[several]]
        seen = [source.any_by_block(np.flatnonzero(never[k])) for k in several]
        absent = source.share_of_rows[:, None] - np.stack(seen, axis=1)
        most = np.array([np.argmax(np.where(never[k], source.q, -1)) for k in several])
        close = may_break(source, target, j, source.q[j], absent.mean(axis=0))
        yield compare_absences(source, target, j[close], most[close], source.shares[:, j[close]], absent[:, close])


def may_break(source: Blocks, target: Blocks, j: Array, share: Array, P: Array) -> Array:
    """Which bounds of j given an absence have enough rows, and are not met for certain."""
    limit = source.q[j] / np.where(target.q[j] > 0, target.q[j], np.inf)
    enough = (source.n * source.worth * share >= MIN_EXPECTED) & (limit > 0)
    variance = np.max(_variances_of_absence(source, j[enough], share[enough], P[enough], limit[enough]), axis=0)
    variance += (1 - target.q[j[enough]]) / (target.q[j[enough]] * target.n)
    # A feature without a zero has none, but for rounding.
    error = np.sqrt(np.maximum(variance, 0) / min(source.worth, target.worth))
    # With some room, as blocks give another error.
    enough[enough] = np.log(share[enough] / (limit[enough] * P[enough])) > -(SLACK + 1) * error
    return enough


def _variances_of_absence(source: Blocks, j: Array, share: Array, P: Array, limit: Array) -> tuple[Array, Array]:
    """Variance of log P̂^s(j | absent) − log q̂^s_j in independent rows: at the limit, and as estimated.

    It is [(1 − π)/(π P) + (1 − q)/q − 2(1 − π)/q]/n for P(absent) = P and P(j | absent) = π.
    """
    q = source.q[j]
    at_limit, own = (
        ((1 - p) / (p * P) + (1 - q) / q - 2 * (1 - p) / q) / source.n for p in np.minimum(1, [limit, share / P])
    )
    return at_limit, own


def compare_absences(source: Blocks, target: Blocks, j: Array, i: Array, joint: Array, absent: Array) -> Checks:
    """Checks of j given an absence, from shares of rows by block: with j and without the other, and all without it.

    The variance is taken at the limit, P(j | absent) = 1/(1 − r_j), if it is larger there: where all rows of few that
    are without the other have j by chance, the estimated variance would be none.
    """
    P, share = absent.mean(axis=0), joint.mean(axis=0)
    limit = source.q[j] / target.q[j]
    estimate = np.log(share / (limit * P))
    in_source = joint / share - absent / P - source.shares[:, j] / source.q[j] + source.share_of_rows[:, None]
    at_limit, own = _variances_of_absence(source, j, share, P, limit)
    in_source = source.with_variance(in_source, np.maximum(at_limit, own), own)
    in_target = target.shares[:, j] / target.q[j] - target.share_of_rows[:, None]
    checks = Checks("absences", j, i, estimate, (in_source, in_target)).keep(np.ones(len(j), dtype=bool))
    return checks.keep(checks.z > -SLACK)


def judge(
    checks: Iterable[Checks], n_draws: int, rng: np.random.Generator, *, errors: float = 1.96
) -> tuple[pd.DataFrame, dict[str, float]]:
    """One row per check with its adjusted p-value and its effect, and the p-value of every kind on its own.

    Draws Σ_g e_g φ_g with independent e_g whose first three moments are 0, 1 and 1: given the data it has the estimated
    covariance and skewness of all checks, and the share of draws whose largest studentised value exceeds an observed
    one is that one's adjusted p-value. Counts of rare pairs are skewed, and normal e_g would raise alarms for that.

    The population's own checks are judged among themselves. Effects have limits so many standard errors away.
    """
    multipliers: list[Array] = []
    largest = {kind: np.full(n_draws, -np.inf) for kind in (*FAMILIES, POPULATION)}
    found: dict[str, list[dict[str, Array]]] = {kind: [] for kind in largest}
    for check in checks:
        if not multipliers:
            # Gamma variables of mean 0, variance 1 and skewness 1.
            multipliers = [rng.gamma(4, 0.5, (n_draws, len(phi))) - 2 for phi in check.influence]
        found[check.kind].append(_columns(check, errors))
        if not len(check.first):
            continue
        drawn = sum(
            e @ (phi - phi.mean(axis=0)) / np.sqrt(len(phi) * (len(phi) - 1))
            for e, phi in zip(multipliers, check.influence, strict=True)
        )
        drawn /= check.error
        np.maximum(largest[check.kind], _size(check.kind, drawn).max(axis=1), out=largest[check.kind])
    by_kind = {kind: _concatenate(parts) for kind, parts in found.items() if parts}

    def exceeding(draws: Array, observed: Array) -> Array:
        return (1 + n_draws - np.searchsorted(np.sort(draws), observed)) / (1 + n_draws)

    overall = np.max([largest[kind] for kind in FAMILIES], axis=0)
    families = dict.fromkeys(largest, 1.0)
    for kind, columns in by_kind.items():
        observed = _size(kind, columns["z"])
        columns["p_value"] = exceeding(largest[kind] if kind == POPULATION else overall, observed)
        families[kind] = float(exceeding(largest[kind], observed).min(initial=1.0))
    kinds = np.repeat(list(by_kind), [len(columns["z"]) for columns in by_kind.values()])
    return pd.DataFrame({"kind": pd.Series(kinds, dtype=str), **_concatenate(list(by_kind.values()))}), families


def _columns(check: Checks, errors: float) -> dict[str, Array]:
    by_value = check.by_value or (np.zeros(len(check.first), dtype=bool),) * 2
    return {
        "first": check.first,
        "second": check.second,
        "first_by_value": by_value[0],
        "second_by_value": by_value[1],
        "statistic": check.estimate,
        "z": check.z,
        "effect": check.effect(),
        "effect_lower": check.effect(-errors),
        "effect_upper": check.effect(errors),
    }


def _concatenate(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _size(kind: str, z: Array) -> Array:
    """Bounds are broken on one side only."""
    return z if kind in ONE_SIDED else np.abs(z)
