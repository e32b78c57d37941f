"""Tests of the assumption that values are lost completely at random (UCAR): the report and its verdict.

What is computed, and how it is judged, is in `dams._ucar_statistics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dams._ucar_statistics import MIN_EXPECTED, Domain, PooledRanks, all_checks, judge
from dams._validation import check_covariates, check_draws, column_names, match_columns
from dams.relative import count_nonzero, warn_without_zeros


@dataclass(frozen=True, repr=False)
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
        The fewest features that take part in all checks with p_value < alpha, found greedily.
    not_checked : str
        Where there is no check at all, why.
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
    not_checked: str = ""

    @property
    def rejected(self) -> bool:
        """Whether UCAR is rejected at level alpha."""
        return self.p_value < self.alpha

    def __str__(self) -> str:
        size = f"{len(self.checks)} checks, {self.n_source:,} source and {self.n_target:,} target rows"
        if self.checks.empty:
            return f"UCAR could not be checked: {self.not_checked} ({size})."
        if not self.rejected:
            return f"Nothing speaks against UCAR (p = {self.p_value:.3g}; {size}), which does not prove it."
        worst = self.checks.iloc[0]
        return (
            f"UCAR is rejected (p = {self.p_value:.2g}; {size}). Suspect: {', '.join(self.suspects)}. "
            f"Furthest off: {_describe(worst)} (z = {worst.z:.1f})."
        )

    # A notebook shows the verdict; the numbers are in the attributes.
    __repr__ = __str__


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
        Bootstrap draws; the smallest p-value is 1/(n_bootstrap + 1), which must lie below alpha.
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
    # The smallest p-value must lie below alpha: 1/(n + 1) < alpha.
    check_draws(n_bootstrap, math.floor(round(1 / alpha, 6)), purpose=f"a verdict at alpha={alpha:g}")
    given = column_names(X_source)
    source = check_covariates(X_source, name="X_source")
    target = check_covariates(match_columns(X_target, given, source.shape[1]), name="X_target")
    for name, X in [("X_source", source), ("X_target", target)]:
        if X.shape[0] < 2 * MIN_EXPECTED:
            raise ValueError(f"{name} needs at least {2 * MIN_EXPECTED} rows for a test, got {X.shape[0]}.")
    columns = given if given is not None else range(source.shape[1])
    # An empty name would stand for no feature.
    names = [
        name if isinstance(name, str) and name else f"column {name or position}"
        for position, name in enumerate(columns)
    ]
    warn_without_zeros(count_nonzero(source), count_nonzero(target), source.shape[0], target.shape[0])
    ranks = PooledRanks(source, target)
    checks = all_checks(Domain(source, ranks), Domain(target, ranks))
    judged, families = judge(checks, n_bootstrap, np.random.default_rng(random_state))
    features = {
        "feature": [names[j] for j in judged["first"]],
        "other": [names[j] if j >= 0 else "" for j in judged["second"]],
    }
    table = judged.assign(**features)[["kind", "feature", "other", "statistic", "z", "p_value"]]
    table = table.sort_values("p_value", kind="stable", key=lambda p: p - 1e-6 * np.abs(table["z"]))
    return UCARReport(
        p_value=float(table["p_value"].min()) if len(table) else 1.0,
        p_pairs=families["pairs"],
        p_values=families["values"],
        p_bounds=families["bounds"],
        checks=table.reset_index(drop=True),
        suspects=_cover(table, alpha),
        alpha=alpha,
        n_source=source.shape[0],
        n_target=target.shape[0],
        not_checked="" if len(table) else _why_nothing(source.shape[1], len(ranks.columns)),
    )


def _why_nothing(n_features: int, n_with_values: int) -> str:
    """Why there is no check, given the number of features and of those with more than one nonzero value."""
    if n_features > 1:
        return "too few values are observed together, or they never vary"
    if n_with_values:
        return "too few nonzero values are observed to compare their laws"
    return "any share of nonzeros fits a single column with one nonzero value; give the columns beside it"


def _cover(checks: pd.DataFrame, alpha: float) -> list[str]:
    """Features that between them take part in every significant check, the one in most of these first.

    Of equals the one whose checks of any kind, significant or not, are the furthest off: a feature that is lost for
    some reason is also off with all that is related to the reason, the reason itself is not.
    """
    size = _involved(checks).pow(2).groupby(level=0).mean()
    left = checks[checks["p_value"] < alpha]
    suspects: list[str] = []
    while len(left):
        count = _involved(left).groupby(level=0).size()
        suspects.append(max(count.index, key=lambda name: (count[name], size[name])))
        left = left[(left["feature"] != suspects[-1]) & (left["other"] != suspects[-1])]
    return suspects


def _involved(checks: pd.DataFrame) -> pd.Series:
    """Standardised size z of every check under the name of each feature that takes part in it."""
    pairs = checks[checks["other"] != ""]
    return pd.concat([checks.set_index("feature")["z"], pairs.set_index("other")["z"]])
