"""Rows that belong together, such as several of one patient, and nonzeros counted with them in mind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dams.missingness import canonical_csr

Array = np.ndarray


def resolve_row_groups(groups: Any, n_rows: int, *, parameter: str) -> Array | None:
    """Return the number of each row's group, shape (n,), by first appearance; None where every row stands alone.

    `groups` holds one id per row, of any type; `parameter` is what the user called it, for messages.
    """
    if groups is None:
        return None
    values = groups.to_numpy() if hasattr(groups, "to_numpy") else np.asarray(groups)
    if values.ndim != 1 or len(values) != n_rows:
        got = f"{len(values)}" if values.ndim == 1 else f"an array of shape {values.shape}"
        raise ValueError(f"{parameter} must hold one id per row, {n_rows}, got {got}.")
    number, ids = pd.factorize(values)
    if (number < 0).any():
        raise ValueError(
            f"{parameter} has no id in {(number < 0).sum()} rows: give a row that stands alone an id of its own."
        )
    if len(ids) < 2 and n_rows > 1:
        raise ValueError(f"{parameter} puts all {n_rows} rows into one group: what varies between groups is not seen.")
    return None if len(ids) == n_rows else np.asarray(number)


def resolve_both(groups: Any, groups_target: Any, n_rows: tuple[int, int]) -> tuple[Array | None, Array | None]:
    """Return the numbers of the groups of source and target rows, as `resolve_row_groups` does."""
    return (
        resolve_row_groups(groups, n_rows[0], parameter="groups"),
        resolve_row_groups(groups_target, n_rows[1], parameter="groups_target"),
    )


def effective_number(sizes: Array) -> float:
    """Return how many groups of one size would tell as much as groups of these sizes: n²/Σ size², at most all."""
    return float(sizes.sum() ** 2 / np.square(sizes).sum())


def correct_for_mean(sizes: Array) -> float:
    """Return the factor by which squares of sums over groups, with the mean over all rows taken out, are too small.

    A large group draws the mean to itself. Where the rows of a group are as one, these squares add up to
    1 − 2 Σw³/Σw² + Σw² of the variance, w = size/n: (G − 1)/G for G groups of one size, and less for others.
    """
    w = sizes / sizes.sum()
    second = float(np.square(w).sum())
    return 1 / max(1 - 2 * float((w**3).sum()) / second + second, np.finfo(float).eps)


def variance_of_mean(values: Array, groups: Any = None) -> Array:
    """Return the variances of the means of columns (n, d), from sums over groups of rows if ids of such are given.

    No group counts for more than its rows.
    """
    n, alone = len(values), values.var(axis=0) / len(values)
    number = resolve_row_groups(groups, n, parameter="groups")
    if number is None:
        return alone
    belongs = sparse.csr_array((np.ones(n), (number, np.arange(n))))
    sums = belongs @ (values - values.mean(axis=0))
    return np.maximum(np.square(sums).sum(axis=0) / n**2 * correct_for_mean(np.bincount(number)), alone)


@dataclass(frozen=True)
class GroupedRows:
    """Nonzeros of one domain by group of rows: `count` is sparse, (groups, units), and `size` has the rows."""

    count: Any
    size: Array

    @property
    def effective(self) -> float:
        """Groups of one size that would tell as much as these: n²/Σ size², at most their number."""
        return effective_number(self.size)

    @cached_property
    def independent(self) -> Array:
        """Independent rows that would know each share as well, (units,).

        The variance of a share q̂ is Σ_g (count_g − q̂ size_g)²/n², times `correct_for_mean`, and that of n independent
        rows q(1 − q)/n. Shares of 0 and 1 show no spread: their groups count once each. No group counts for more than
        its rows.
        """
        n = self.size.sum()
        count = np.asarray(self.count.sum(axis=0), dtype=float).ravel()
        q = count / n
        squares = np.asarray(self.count.multiply(self.count).sum(axis=0), dtype=float).ravel()
        spread = squares - 2 * q * (self.count.T @ self.size) + q**2 * np.square(self.size).sum()
        variance = np.maximum(spread, 0) * correct_for_mean(self.size) / n**2
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where((count == 0) | (count == n), len(self.size), q * (1 - q) / variance)
        return np.minimum(worth, n)

    def resample(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Shares over resampled groups, (draws, units)."""
        groups, out = len(self.size), np.empty((n_draws, self.count.shape[1]))
        # A few draws at a time: their weights are as many as groups.
        for start in range(0, n_draws, step := max(1, 2_000_000 // groups)):
            stop = min(start + step, n_draws)
            weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=stop - start)
            out[start:stop] = (self.count.T @ weights.T).T / (weights @ self.size)[:, None]
        return out


@dataclass(frozen=True)
class Worth:
    """How well one domain knows the share of rows with a value, by unit: what is left of a tally when it is judged.

    Attributes
    ----------
    q : array of shape (units,)
        Shares of rows with a value.
    independent : int or array of shape (units,)
        Independent rows that would know them as well: n itself where every row stands alone.
    n, n_groups : int
        Rows, and groups of rows.
    """

    q: Array
    independent: Any
    n: int
    n_groups: int


@dataclass(frozen=True)
class Tally:
    """Rows of one domain with a value, by unit: a column, or columns that are lost together.

    Attributes
    ----------
    count : array of shape (units,)
        Rows with a nonzero; of a group of columns, with a nonzero in any.
    n : int
        Rows.
    grouped : GroupedRows or None
        The same by group of rows, where rows belong together.
    """

    count: Array
    n: int
    grouped: GroupedRows | None = None

    @property
    def q(self) -> Array:
        """Shares of rows with a value."""
        return self.count / self.n

    @property
    def independent(self) -> Any:
        """Independent rows that would know the shares as well: n itself, or one number per unit."""
        return self.n if self.grouped is None else self.grouped.independent

    @property
    def n_groups(self) -> int:
        """Groups of rows; n where every row stands alone."""
        return self.n if self.grouped is None else len(self.grouped.size)

    @property
    def effective(self) -> float:
        """Groups of one size that would tell as much; n where every row stands alone."""
        return self.n if self.grouped is None else self.grouped.effective

    @property
    def worth(self) -> Worth:
        """The tally without anybody's own rows."""
        return Worth(self.q, self.independent, self.n, self.n_groups)


def tally(X: Any, unit: Array, groups: Array | None) -> Tally:
    """Count the rows of X (dense or CSR) with a nonzero in each unit, and by group of rows where there are groups."""
    present = sparse.csr_array((canonical_csr(X) if sparse.issparse(X) else X) != 0, dtype=np.int64)
    if len(unit) > unit.max(initial=-1) + 1:
        members = sparse.csr_array((np.ones(len(unit), dtype=np.int64), (np.arange(len(unit)), unit)))
        present = present @ members
        present.data[:] = 1
    count = np.asarray(present.sum(axis=0)).ravel()
    if groups is None:
        return Tally(count, X.shape[0])
    size = np.bincount(groups)
    belongs = sparse.csr_array((np.ones(len(groups), dtype=np.int64), (groups, np.arange(len(groups)))))
    return Tally(count, X.shape[0], GroupedRows(belongs @ present, size))
