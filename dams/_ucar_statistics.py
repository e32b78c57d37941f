"""Statistics that are zero, but for chance, where values are lost completely at random (UCAR), and their joint law.

With b_j = [X̃_j ≠ 0], q_j = E[b_j] and functions h, g of the nonzero values (zero at zero), what does not depend on the
domain is

- E[h(X̃_i) g(X̃_j)] / (q_i q_j) for i ≠ j: relative missingness, estimated feature by feature, must explain every pair;
- E[h(X̃_j)] / q_j: the law of the nonzero values;

and P^t(X̃_j ≠ 0 | X̃_i ≠ 0) = (1 − r_j) P^s(X̃_j ≠ 0 | X̃_i ≠ 0) is a probability, so the right side is at most 1.

Checks are made and judged a few features at a time: all pairs of 500 features, by blocks of rows, would take gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import rankdata

Array = np.ndarray

N_BLOCKS = 250
N_BINS = 10
# A bound this many standard errors below its limit is met for certain.
SLACK = 3.0
# As for a chi-squared test: fewer expected events, and the normal approximation fails.
MIN_EXPECTED = 20
MIN_ELSEWHERE = 5
# About so many checks are held at once, which bounds the memory.
AT_ONCE = 4096


class PooledRanks:
    """Midranks of the nonzero values of both domains together, scaled to (−1, 1); zero stays zero."""

    def __init__(self, source: Any, target: Any):
        self.values: dict[int, Array] = {}
        self.ranks: dict[int, Array] = {}
        for j in range(source.shape[1]):
            pooled = np.concatenate([_column(source, j), _column(target, j)])
            pooled = pooled[pooled != 0]
            values = np.unique(pooled)
            if len(values) > 1:
                self.values[j] = values
                first = np.searchsorted(np.sort(pooled), values)
                ranks = rankdata(pooled, method="average")[np.argsort(pooled, kind="stable")][first]
                self.ranks[j] = 2 * (ranks - 0.5) / len(pooled) - 1
        self.columns = np.array(sorted(self.values), dtype=int)

    def of(self, X: Array) -> Array:
        """Ranks of the columns that have more than one nonzero value."""
        out = np.zeros((len(X), len(self.columns)))
        for k, j in enumerate(self.columns):
            nonzero = X[:, j] != 0
            out[nonzero, k] = self.ranks[j][np.searchsorted(self.values[j], X[nonzero, j])]
        return out


def _column(X: Any, j: int) -> Array:
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


class Domain:
    """The rows of one domain in blocks, whose spread gives all variances.

    What is given by block are sums divided by the mean size of a block, so that their mean over blocks is the mean over
    rows, though sizes differ by one.

    Attributes
    ----------
    n, d : int
        Rows and features.
    feature : array of shape (d + v,)
        The feature of each column of h: its presence, for all d, then its rank, for the v that have one.
    h : array of shape (blocks, rows, d + v)
        Short blocks end in rows of zeros. Single precision: sums of presences are exact, and those of ranks far more
        so than the data.
    per_block : float
        Rows of a block, on average.
    share_of_rows : array of shape (blocks,)
        Rows of each block, as a multiple of that.
    """

    def __init__(self, X: Any, ranks: PooledRanks) -> None:
        self.n, self.d = X.shape
        self.feature = np.concatenate([np.arange(self.d), ranks.columns])
        n_blocks = min(N_BLOCKS, self.n // 2)
        self.per_block = self.n / n_blocks
        sizes = np.array([len(range(block, self.n, n_blocks)) for block in range(n_blocks)])
        self.share_of_rows = sizes / self.per_block
        self.h = np.zeros((n_blocks, sizes.max(), len(self.feature)), dtype=np.float32)
        for block, size in enumerate(sizes):
            rows = X[block::n_blocks]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            self.h[block, :size] = np.column_stack([rows != 0, ranks.of(rows)])

    @cached_property
    def shares(self) -> Array:
        """Shares of nonzeros by block, (blocks, d)."""
        return self.h[:, :, : self.d].sum(axis=1).astype(float) / self.per_block

    @cached_property
    def q(self) -> Array:
        """Shares of nonzeros, (d,)."""
        return self.shares.mean(axis=0)

    def products(self, columns: Array) -> Array:
        """E[h_c h] of some columns by block, (blocks, columns, d + v)."""
        sums = np.matmul(self.h[:, :, columns].transpose(0, 2, 1), self.h)
        return sums.astype(float) / self.per_block

    def squares(self, columns: Array) -> Array:
        """E[h_c² h²] of some columns, (columns, d + v)."""
        some = (self.h[:, :, columns] ** 2 * np.float32(1 / self.n)).reshape(-1, len(columns))
        return (some.T @ (self.h**2).reshape(len(some), -1)).astype(float)

    def bins(self, columns: Array) -> Array:
        """Share of rows with a value in each bin, by block, for some columns of ranks; (blocks, columns, N_BINS)."""
        observed = self.h[:, :, self.feature[columns]] != 0
        bin_of = np.floor((self.h[:, :, columns] + 1) / 2 * N_BINS)
        hits = [(observed & (bin_of == k)).sum(axis=1) for k in range(N_BINS)]
        return np.stack(hits, axis=-1) / self.per_block


@dataclass(frozen=True)
class Checks:
    """Checks of one kind: estimates that should be zero (or, of bounds, at most zero) and their influences by block."""

    kind: str
    first: Array
    second: Array  # −1 where a check has one feature
    estimate: Array
    influence: tuple[Array, Array]  # source, target: (blocks, checks), mean zero

    @property
    def error(self) -> Array:
        """Standard error of every estimate."""
        return np.sqrt(sum(phi.var(axis=0, ddof=1) / len(phi) for phi in self.influence))

    @property
    def z(self) -> Array:
        """Estimates in standard errors."""
        return self.estimate / self.error

    def keep(self, which: Array) -> Checks:
        """The checks that can be judged: enough events, and some spread."""
        with np.errstate(invalid="ignore", divide="ignore"):
            which = which & (self.error > 1e-10 * np.maximum(1, np.abs(self.estimate)))
        source, target = self.influence
        return Checks(
            self.kind,
            self.first[which],
            self.second[which],
            self.estimate[which],
            (source[:, which], target[:, which]),
        )


def all_checks(source: Domain, target: Domain) -> Iterator[Checks]:
    """Every check of two domains, about `AT_ONCE` of them at a time."""
    ranked = np.arange(source.d, len(source.feature))
    for start in range(0, len(ranked), max(1, AT_ONCE // N_BINS)):
        yield check_values(source, target, ranked[start : start + max(1, AT_ONCE // N_BINS)])
    step = max(1, AT_ONCE // len(source.feature))
    for start in range(0, source.d, step):
        some = (source.feature >= start) & (source.feature < start + step)
        columns = np.flatnonzero(some)
        products = source.products(columns), target.products(columns)
        yield check_pairs(source, target, columns, products)
        yield check_bounds(source, target, columns, products[0])


def check_pairs(source: Domain, target: Domain, columns: Array, products: tuple[Array, Array]) -> Checks:
    """U = E[h_i g_j]/(q_i q_j), target minus source, with influence h_i g_j/(q_i q_j) − U (b_i/q_i + b_j/q_j − 1).

    The variance of the influence is κ/(q_i q_j) − 2U²s + U²(s + 2V − 2), with s = 1/q_i + 1/q_j − 1,
    κ = E[h_i² g_j²]/(q_i q_j) and V = E[b_i b_j]/(q_i q_j).

    `columns` are all columns of some features, and `products` theirs with every column; j runs over later features.
    """
    feature, domains = source.feature, (source, target)
    a, b = np.nonzero(feature[columns][:, None] < feature)
    i, j = feature[columns][a], feature[b]
    presence = np.searchsorted(columns, i)
    exposure = [domain.n * domain.q[i] * domain.q[j] for domain in domains]
    total = np.maximum(exposure[0] + exposure[1], 1)

    together = sum(domain.n * part.mean(axis=0) for domain, part in zip(domains, products, strict=True))
    squares = sum(domain.n * domain.squares(columns) for domain in domains)
    U, V, kappa = together[a, b] / total, together[presence, j] / total, squares[a, b] / total
    estimates, influences = [], []
    for domain, part in zip(domains, products, strict=True):
        safe = np.where(domain.q > 0, domain.q, np.inf)
        ratios, relative = part[:, a, b] / (safe[i] * safe[j]), domain.shares / safe
        estimates.append(ratios.mean(axis=0))
        influence = ratios - estimates[-1] * (relative[:, i] + relative[:, j] - domain.share_of_rows[:, None])
        s = 1 / safe[i] + 1 / safe[j] - 1
        variance = kappa / (safe[i] * safe[j]) - 2 * U**2 * s + U**2 * (s + 2 * V - 2)
        influences.append(_with_variance(influence, variance / domain.n))
    enough = np.minimum(*exposure) * V >= MIN_EXPECTED
    for domain in domains:
        enough &= (b >= domain.d) | (columns[a] >= domain.d) | (_rest_of_table(domain, i, j, V) >= MIN_ELSEWHERE)
    return Checks("pairs", i, j, estimates[1] - estimates[0], (-influences[0], influences[1])).keep(enough)


def _rest_of_table(domain: Domain, i: Array, j: Array, V: Array) -> Array:
    """The least expected count in the other cells of the two-by-two tables of presences: one absent, or both.

    Where features are hardly ever lost, these are the rare events that tell.
    """
    q_i, q_j = domain.q[i], domain.q[j]
    both = q_i * q_j * V
    return domain.n * np.minimum(np.minimum(q_i, q_j) - both, 1 - q_i - q_j + both)


def check_values(source: Domain, target: Domain, columns: Array) -> Checks:
    """P(value in bin | nonzero), target minus source, for some columns of ranks."""
    j, domains = np.repeat(source.feature[columns], N_BINS), (source, target)
    bins = [domain.bins(columns).reshape(len(domain.h), -1) for domain in domains]
    counts = [domain.n * domain.q[j] for domain in domains]
    hits = [domain.n * part.mean(axis=0) for domain, part in zip(domains, bins, strict=True)]
    pooled = (hits[0] + hits[1]) / np.maximum(counts[0] + counts[1], 1)
    estimates, influences = [], []
    for domain, part, count in zip(domains, bins, counts, strict=True):
        q = np.where(count > 0, count / domain.n, np.inf)
        estimates.append(part.mean(axis=0) / q)
        influence = (part - estimates[-1] * domain.shares[:, j]) / q
        influences.append(_with_variance(influence, pooled * (1 - pooled) / (q * domain.n)))
    enough = np.minimum(*counts) * np.minimum(pooled, 1 - pooled) >= MIN_EXPECTED
    none = np.full(len(j), -1)
    return Checks("values", j, none, estimates[1] - estimates[0], (-influences[0], influences[1])).keep(enough)


def _with_variance(influence: Array, variance: Array) -> Array:
    """Scale block averages so that their mean has the given variance.

    It is the variance under UCAR, with what both domains then share estimated from both. A domain whose own estimate
    is off by chance would also misjudge its error, and the largest of many statistics finds such cases.
    """
    own = influence.var(axis=0, ddof=1) / len(influence)
    return influence * np.sqrt(np.maximum(variance, 0) / np.where(own > 0, own, np.inf))


def check_bounds(source: Domain, target: Domain, columns: Array, products: Array) -> Checks:
    """(1 − r_j) P^s(X̃_j ≠ 0 | X̃_i ≠ 0), in logarithms, at most 0, where r_j < 0, for the j among `columns`.

    `products` are those of the source, of these columns with every column.
    """
    better = (columns < source.d) & (target.q > source.q)[source.feature[columns]]
    row, i = np.nonzero(better[:, None] & (columns[:, None] != np.arange(source.d)))
    together = products[:, row, i]
    share = together.mean(axis=0)
    enough = source.n * share >= MIN_EXPECTED
    row, i, together, share = row[enough], i[enough], together[:, enough], share[enough]
    j = columns[row]
    estimate = np.log(target.q[j] * share / (source.q[j] * source.q[i]))
    in_source = together / share - source.shares[:, i] / source.q[i] - source.shares[:, j] / source.q[j]
    in_source += source.share_of_rows[:, None]
    in_target = target.shares[:, j] / target.q[j] - target.share_of_rows[:, None]
    checks = Checks("bounds", j, i, estimate, (in_source, in_target)).keep(np.ones(len(j), dtype=bool))
    # Bounds far from binding would only dilute the others: they cannot fail, by chance or otherwise.
    return checks.keep(checks.z > -SLACK)


def judge(checks: Iterable[Checks], n_draws: int, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, float]]:
    """One row a check with its adjusted p-value, and the p-value of every kind on its own.

    Draws Σ_g e_g φ_g with independent e_g whose first three moments are 0, 1 and 1: given the data it has the estimated
    covariance and skewness of all checks, and the share of draws whose largest studentised value exceeds an observed
    one is that one's adjusted p-value. Counts of rare pairs are skewed, and normal e_g would raise alarms for that.
    """
    multipliers: list[Array] = []
    largest = {kind: np.full(n_draws, -np.inf) for kind in ("pairs", "values", "bounds")}
    found: dict[str, list[pd.DataFrame]] = {kind: [] for kind in largest}
    for check in checks:
        if not multipliers:
            # Gamma variables of mean 0, variance 1 and skewness 1.
            multipliers = [rng.gamma(4, 0.5, (n_draws, len(phi))) - 2 for phi in check.influence]
        columns = {"first": check.first, "second": check.second, "statistic": check.estimate, "z": check.z}
        found[check.kind].append(pd.DataFrame({"kind": check.kind} | columns))
        if not len(check.first):
            continue
        drawn = sum(
            e @ (phi - phi.mean(axis=0)) / np.sqrt(len(phi) * (len(phi) - 1))
            for e, phi in zip(multipliers, check.influence, strict=True)
        )
        drawn = _size(check.kind, drawn / check.error).max(axis=1)
        np.maximum(largest[check.kind], drawn, out=largest[check.kind])
    by_kind = {kind: pd.concat(parts, ignore_index=True) for kind, parts in found.items() if parts}

    def exceeding(draws: Array, observed: Array) -> Array:
        return (1 + n_draws - np.searchsorted(np.sort(draws), observed)) / (1 + n_draws)

    overall = np.max(list(largest.values()), axis=0)
    families = dict.fromkeys(largest, 1.0)
    for kind, table in by_kind.items():
        observed = _size(kind, table["z"].to_numpy())
        table["p_value"] = exceeding(overall, observed)
        families[kind] = float(exceeding(largest[kind], observed).min(initial=1.0))
    return pd.concat(by_kind.values(), ignore_index=True), families


def _size(kind: str, z: Array) -> Array:
    """Bounds are broken on one side only."""
    return z if kind == "bounds" else np.abs(z)
