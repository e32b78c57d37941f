"""Tests of the assumption that values are lost completely at random (UCAR).

Each domain loses value j with a probability of its own, whatever the other values. Then, with b_j = [X̃_j ≠ 0],
q_j = E[b_j] and functions h, g of the nonzero values (zero at zero), what does not depend on the domain is

- E[h(X̃_i) g(X̃_j)] / (q_i q_j) for i ≠ j: relative missingness, estimated feature by feature, must explain every pair;
- E[h(X̃_j)] / q_j: the law of the nonzero values;

and P^t(X̃_j ≠ 0 | X̃_i ≠ 0) = (1 − r_j) P^s(X̃_j ≠ 0 | X̃_i ≠ 0) is a probability, so the right side is at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import rankdata

from dams.validation import check_covariates, column_names, match_columns

Array = np.ndarray

N_BLOCKS = 250
N_BINS = 10
# A bound this many standard errors below its limit is met for certain.
SLACK = 3.0
# As for a chi-squared test: fewer expected events, and the normal approximation fails.
MIN_EXPECTED = 20
# Checks that the bootstrap draws together, which bounds its memory.
AT_ONCE = 4096


@dataclass(frozen=True)
class UCARReport:
    """Result of `check_ucar`.

    Attributes
    ----------
    p_value : float
        Of all checks together.
    p_pairs, p_values, p_bounds : float
        Of the pairs of features, of the laws of nonzero values, and of the probabilities that may not exceed 1; each
        for its own checks alone. 1 where there was nothing to check.
    checks : DataFrame
        One row a check, the most significant first: kind, feature, other, statistic, z, p_value. The p-values are
        adjusted: the probability that any check is as far off under UCAR.
    suspects : list of str
        The fewest features that explain all checks with p_value < alpha, found greedily.
    """

    p_value: float
    p_pairs: float
    p_values: float
    p_bounds: float
    checks: pd.DataFrame
    suspects: list[str]
    alpha: float
    n_source: int
    n_target: int

    @property
    def rejected(self) -> bool:
        """Whether UCAR is rejected at level alpha."""
        return self.p_value < self.alpha

    def __str__(self) -> str:
        size = f"{len(self.checks)} checks, {self.n_source:,} source and {self.n_target:,} target rows"
        if self.checks.empty:
            return f"UCAR could not be checked: too few values are observed together ({size})."
        if not self.rejected:
            return f"Nothing speaks against UCAR (p = {self.p_value:.3g}; {size})."
        worst = self.checks.iloc[0]
        return (
            f"UCAR is rejected (p = {self.p_value:.2g}; {size}). Suspect: {', '.join(self.suspects)}. "
            f"Furthest off: {_describe(worst)} (z = {worst.z:.1f})."
        )


def _describe(check: Any) -> str:
    feature, other = check.feature, check.other
    if check.kind == "values":
        return f"the law of the nonzero values of {feature}"
    if check.kind == "bounds":
        return f"{feature} would be observed in more than all target rows that have {other}"
    return f"{feature} and {other} together"


def check_ucar(
    X_source: Any, X_target: Any, *, alpha: float = 0.05, n_bootstrap: int = 1000, random_state: Any = None
) -> UCARReport:
    """Test whether source and target can be the same data with values lost completely at random.

    Presence (b) and, where a feature has more than one nonzero value, the rank of the value enter every pair; ranks
    bound the influence of heavy tails. Each check is studentised with the error of the estimated rates included, and
    the p-values are those of the largest statistic under a multiplier bootstrap over blocks of rows, so they hold for
    all checks at once, however dependent.

    UCAR cannot be proved: missingness that depends on a feature alike in both domains leaves no trace.

    Parameters
    ----------
    X_source, X_target : array, DataFrame or sparse matrix
        Observed covariates, zero meaning missing or zero. DataFrames are matched by column name.
    alpha : float
        Level of the verdict.
    n_bootstrap : int
        Bootstrap draws; the smallest p-value is 1/(n_bootstrap + 1).
    random_state : int, Generator or None
        Seed of the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import apply_missingness, check_ucar
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(10_000, 3)) + rng.normal(size=(10_000, 1))
    >>> source = apply_missingness(X[:5_000], [0.1, 0.2, 0.5], random_state=1)
    >>> target = apply_missingness(X[5_000:], [0.4, 0.2, 0.1], random_state=2)
    >>> check_ucar(source, target, random_state=0).rejected
    False
    >>> target[X[5_000:, 0] > 1, 2] = 0
    >>> print(check_ucar(source, target, random_state=0).suspects)
    ['column 2']
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    names = column_names(X_source)
    source = check_covariates(X_source, name="X_source")
    target = check_covariates(match_columns(X_target, names, source.shape[1]), name="X_target")
    for name, X in [("X_source", source), ("X_target", target)]:
        if X.shape[0] < 2 * MIN_EXPECTED:
            raise ValueError(f"{name} needs at least {2 * MIN_EXPECTED} rows for a test, got {X.shape[0]}.")
    labels = names if names is not None else [f"column {j}" for j in range(source.shape[1])]
    ranks = _PooledRanks(source, target)
    checks = _all_checks(_Blocks.of(source, ranks), _Blocks.of(target, ranks), ranks)
    adjusted, families = _bootstrap(checks, n_bootstrap, np.random.default_rng(random_state))
    table = pd.DataFrame(
        {
            "kind": [check.kind for check in checks for _ in check.first],
            "feature": [labels[j] for check in checks for j in check.first],
            "other": [labels[j] if j >= 0 else "" for check in checks for j in check.second],
            "statistic": np.concatenate([check.estimate for check in checks]),
            "z": np.concatenate([check.z for check in checks]),
            "p_value": adjusted,
        }
    )
    table = table.sort_values("p_value", kind="stable", key=lambda p: p - 1e-6 * np.abs(table["z"]))
    return UCARReport(
        p_value=float(adjusted.min(initial=1.0)),
        p_pairs=families["pairs"],
        p_values=families["values"],
        p_bounds=families["bounds"],
        checks=table.reset_index(drop=True),
        suspects=_cover(table[table["p_value"] < alpha]),
        alpha=alpha,
        n_source=source.shape[0],
        n_target=target.shape[0],
    )


class _PooledRanks:
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


@dataclass(frozen=True)
class _Blocks:
    """What the checks need of one domain, averaged over blocks of rows: all variances come from their spread."""

    n: int
    products: Array  # E[hᵀh], h = (b, ranks), (blocks, d + v, d + v)
    squares: Array  # E[(h²)ᵀh²] over all rows, (d + v, d + v)
    bins: Array  # shares of rows with a value in each bin, (blocks, v, N_BINS)

    @classmethod
    def of(cls, X: Any, ranks: _PooledRanks) -> _Blocks:
        n_blocks, width = min(N_BLOCKS, X.shape[0] // 2), X.shape[1] + len(ranks.columns)
        products, squares = np.empty((n_blocks, width, width)), np.zeros((width, width))
        bins = np.empty((n_blocks, len(ranks.columns), N_BINS))
        for block in range(n_blocks):
            rows = X[block::n_blocks]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            ranked, observed = ranks.of(rows), rows[:, ranks.columns] != 0
            h = np.column_stack([rows != 0, ranked])
            np.divide(h.T @ h, len(rows), out=products[block])
            squares += (h**2).T @ h**2 / len(rows)
            bin_of = np.floor((ranked + 1) / 2 * N_BINS)
            for k in range(N_BINS):
                bins[block, :, k] = (observed & (bin_of == k)).mean(axis=0)
        return cls(X.shape[0], products, squares / n_blocks, bins)

    def shares(self, d: int) -> Array:
        """Shares of nonzeros, (blocks, d)."""
        return np.diagonal(self.products, axis1=1, axis2=2)[:, :d]


@dataclass(frozen=True)
class _Checks:
    """Checks of one kind: estimates that should be zero (or, of bounds, at most zero) and their influences by block."""

    kind: str
    first: Array
    second: Array  # −1 where a check has one feature
    estimate: Array
    influence: tuple[Array, Array]  # source, target: (blocks, checks), mean zero

    @property
    def error(self) -> Array:
        return np.sqrt(sum(phi.var(axis=0, ddof=1) / len(phi) for phi in self.influence))

    @property
    def z(self) -> Array:
        return self.estimate / self.error

    def keep(self, which: Array) -> _Checks:
        """The checks that can be judged: enough events, and some spread."""
        with np.errstate(invalid="ignore", divide="ignore"):
            which = which & (self.error > 1e-10 * np.maximum(1, np.abs(self.estimate)))
        source, target = self.influence
        return _Checks(
            self.kind,
            self.first[which],
            self.second[which],
            self.estimate[which],
            (source[:, which], target[:, which]),
        )


def _all_checks(source: _Blocks, target: _Blocks, ranks: _PooledRanks) -> list[_Checks]:
    d = source.products.shape[1] - len(ranks.columns)
    return [_pairs(source, target, ranks, d), _values(source, target, ranks, d), _bounds(source, target, d)]


def _pairs(source: _Blocks, target: _Blocks, ranks: _PooledRanks, d: int) -> _Checks:
    """U = E[h_i g_j]/(q_i q_j), target minus source, with influence h_i g_j/(q_i q_j) − U (b_i/q_i + b_j/q_j − 1).

    The variance of the influence is κ/(q_i q_j) − 2U²s + U²(s + 2V − 2), with s = 1/q_i + 1/q_j − 1,
    κ = E[h_i² g_j²]/(q_i q_j) and V = E[b_i b_j]/(q_i q_j).
    """
    feature = np.concatenate([np.arange(d), ranks.columns])
    a, b = np.triu_indices(len(feature), 1)
    distinct = feature[a] != feature[b]
    a, b = a[distinct], b[distinct]
    i, j = feature[a], feature[b]
    q = [domain.shares(d).mean(axis=0) for domain in (source, target)]
    exposure = [domain.n * q_k[i] * q_k[j] for domain, q_k in zip((source, target), q, strict=True)]
    total = np.maximum(exposure[0] + exposure[1], 1)

    products = source.n * source.products.mean(axis=0) + target.n * target.products.mean(axis=0)
    squares = source.n * source.squares + target.n * target.squares
    U, V, kappa = products[a, b] / total, products[i, j] / total, squares[a, b] / total
    estimates, influences = [], []
    for domain, q_k in zip((source, target), q, strict=True):
        safe = np.where(q_k > 0, q_k, np.inf)
        ratios, relative = domain.products[:, a, b] / (safe[i] * safe[j]), domain.shares(d) / safe
        estimates.append(ratios.mean(axis=0))
        influence = ratios - estimates[-1] * (relative[:, i] + relative[:, j] - 1)
        s = 1 / safe[i] + 1 / safe[j] - 1
        variance = kappa / (safe[i] * safe[j]) - 2 * U**2 * s + U**2 * (s + 2 * V - 2)
        influences.append(_with_variance(influence, variance / domain.n))
    enough = np.minimum(*exposure) * V >= MIN_EXPECTED
    return _Checks("pairs", i, j, estimates[1] - estimates[0], (-influences[0], influences[1])).keep(enough)


def _values(source: _Blocks, target: _Blocks, ranks: _PooledRanks, d: int) -> _Checks:
    """P(value in bin | nonzero), target minus source."""
    j = np.repeat(ranks.columns, N_BINS)
    counts = [domain.n * domain.shares(d).mean(axis=0)[j] for domain in (source, target)]
    hits = [domain.n * domain.bins.mean(axis=0).ravel() for domain in (source, target)]
    pooled = (hits[0] + hits[1]) / np.maximum(counts[0] + counts[1], 1)
    estimates, influences = [], []
    for domain, count in zip((source, target), counts, strict=True):
        shares, bins = domain.shares(d)[:, j], domain.bins.reshape(len(domain.bins), -1)
        q = np.where(count > 0, count / domain.n, np.inf)
        estimates.append(bins.mean(axis=0) / q)
        influence = (bins - estimates[-1] * shares) / q
        influences.append(_with_variance(influence, pooled * (1 - pooled) / (q * domain.n)))
    enough = np.minimum(*counts) * np.minimum(pooled, 1 - pooled) >= MIN_EXPECTED
    none = np.full(len(j), -1)
    return _Checks("values", j, none, estimates[1] - estimates[0], (-influences[0], influences[1])).keep(enough)


def _with_variance(influence: Array, variance: Array) -> Array:
    """Scale block averages so that their mean has the given variance.

    It is the variance under UCAR, with what both domains then share estimated from both. A domain whose own estimate
    is off by chance would also misjudge its error, and the largest of many statistics finds such cases.
    """
    own = influence.var(axis=0, ddof=1) / len(influence)
    return influence * np.sqrt(np.maximum(variance, 0) / np.where(own > 0, own, np.inf))


def _bounds(source: _Blocks, target: _Blocks, d: int) -> _Checks:
    """(1 − r_j) P^s(X̃_j ≠ 0 | X̃_i ≠ 0), in logarithms, at most 0, where r_j < 0."""
    shares_source, shares_target = source.shares(d), target.shares(d)
    q_source, q_target = shares_source.mean(axis=0), shares_target.mean(axis=0)
    j, i = np.nonzero((q_target > q_source)[:, None] & ~np.eye(d, dtype=bool))
    together = source.products[:, j, i]
    share = together.mean(axis=0)
    enough = source.n * share >= MIN_EXPECTED
    j, i, together, share = j[enough], i[enough], together[:, enough], share[enough]
    estimate = np.log(q_target[j] * share / (q_source[j] * q_source[i]))
    in_source = together / share - shares_source[:, i] / q_source[i] - shares_source[:, j] / q_source[j] + 1
    in_target = shares_target[:, j] / q_target[j] - 1
    checks = _Checks("bounds", j, i, estimate, (in_source, in_target)).keep(np.ones(len(j), dtype=bool))
    # Bounds far from binding would only dilute the others: they cannot fail, by chance or otherwise.
    return checks.keep(checks.z > -SLACK)


def _bootstrap(checks: Sequence[_Checks], n_draws: int, rng: np.random.Generator) -> tuple[Array, dict[str, float]]:
    """Adjusted p-value of every check, and the p-value of every kind on its own.

    Draws Σ_g e_g φ_g with independent e_g whose first three moments are 0, 1 and 1: given the data it has the estimated
    covariance and skewness of all checks, and the share of draws whose largest studentised value exceeds an observed
    one is that one's adjusted p-value. Counts of rare pairs are skewed, and normal e_g would raise alarms for that.
    """
    # Gamma variables of mean 0, variance 1 and skewness 1.
    multipliers = [rng.gamma(4, 0.5, (n_draws, len(phi))) - 2 for phi in checks[0].influence]
    observed, largest = [], {}
    for check in checks:
        two_sided, error = check.kind != "bounds", check.error
        observed.append(np.abs(check.z) if two_sided else check.z)
        largest[check.kind] = np.full(n_draws, -np.inf)
        for start in range(0, len(check.first), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            drawn = sum(
                e @ (phi[:, some] - phi[:, some].mean(axis=0)) / np.sqrt(len(phi) * (len(phi) - 1))
                for e, phi in zip(multipliers, check.influence, strict=True)
            )
            drawn = drawn / error[some]
            highest = (np.abs(drawn) if two_sided else drawn).max(axis=1)
            np.maximum(largest[check.kind], highest, out=largest[check.kind])
    overall = np.sort(np.max(list(largest.values()), axis=0))

    def exceeding(sorted_draws: Array, z: Array) -> Array:
        return (1 + n_draws - np.searchsorted(sorted_draws, z)) / (1 + n_draws)

    adjusted = exceeding(overall, np.concatenate(observed))
    families = {
        check.kind: float(exceeding(np.sort(largest[check.kind]), z).min(initial=1.0))
        for check, z in zip(checks, observed, strict=True)
    }
    return adjusted, families


def _cover(significant: pd.DataFrame) -> list[str]:
    """Features that between them take part in every significant check, the one in most checks first."""
    suspects = []
    left = significant[["feature", "other"]]
    while len(left):
        involved = pd.concat([left["feature"], left.loc[left["other"] != "", "other"]])
        suspects.append(str(involved.value_counts(sort=True).index[0]))
        left = left[(left["feature"] != suspects[-1]) & (left["other"] != suspects[-1])]
    return suspects
