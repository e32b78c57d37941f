"""Tests of the assumption that values are lost completely at random (UCAR): from two tables to a report.

What is computed, and how it is judged, is in `dams._ucar_statistics`; what is reported, in `dams._ucar_report`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dams._columns import known_columns, resolve_columns
from dams._random import as_generator
from dams._rows import resolve_both
from dams._threads import few_threads
from dams._ucar_anchored import AnchoredDomains, anchored_checks
from dams._ucar_known import check_population
from dams._ucar_report import UCARReport
from dams._ucar_statistics import MIN_EXPECTED, POPULATION, Checks, Known, all_checks, judge, make_domains
from dams._ucar_wide import choose_pairs, is_wide, make_wide_domains, wide_checks
from dams._validation import check_draws, check_pair
from dams.anchors import AnchoredRows, with_anchors
from dams.relative import count_nonzero, warn_without_zeros

__all__ = ["PreparedCheck", "UCARReport", "check_ucar", "prepare_check"]


def check_ucar(
    X_source: Any,
    X_target: Any,
    *,
    alpha: float = 0.05,
    n_bootstrap: int = 1000,
    random_state: Any = None,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
) -> UCARReport:
    """Test whether source and target can be the same data with values lost completely at random.

    Presence (b) and, where a feature has more than one nonzero value, the rank of the value enter every pair; ranks
    bound the influence of heavy tails. Each check is studentised with the error of the estimated rates included, and
    the p-values are those of the largest statistic under a multiplier bootstrap over blocks of rows, so they hold for
    all checks at once, however dependent.

    Of more than 700 features, counted twice if they have ranks, not all pairs are checked: each feature goes with the
    40 others of which most rows should show both, and `UCARReport.pairs_left_out` counts the rest. What depends on a
    feature that it seldom occurs with is then missed.

    UCAR cannot be proved. Missingness that depends on a feature by the same factor in both domains leaves no trace,
    and does no harm. What does harm and is hardly seen, since labels are not looked at: loss that depends on the
    outcome and another share of cases (each found in one case of ten at n = 1,000, docs/check_ucar.md), another
    relation between covariates and outcome, and a condition that is truly rarer in the target, which looks like one
    that is recorded less. With many rows a rejection may be harmless: `UCARReport.checks` has the size of each
    departure beside its p-value.

    Parameters
    ----------
    X_source, X_target : array, DataFrame or sparse matrix
        Observed covariates, zero meaning missing or zero. DataFrames are matched by column name.
    alpha : float
        Level of the verdict.
    n_bootstrap : int
        Bootstrap draws; the smallest p-value is 1/(n_bootstrap + 1), which must lie below alpha.
    random_state : int, Generator, RandomState or None
        Seed of the bootstrap.
    always_recorded : list of columns, mask or None
        Columns that neither place ever loses, such as sex, age or site, by name, position or mask. They are not tested
        as columns that are lost: their laws may differ, and the report says so. What is lost is tested given their
        values, whatever their mix.
    column_groups : list of lists of columns or None
        Columns that are lost together, as all values of one blood sample are. Pairs within a group are not tested;
        that a group is lost as one is.
    anchors : list of columns, mask or None
        Columns that both places always record and on which loss, and the population, may depend. What is tested is
        then randomness *given* these: relative missingness r_j(s) and weights w(s), smooth in
        the anchors, must explain every pair and every law of values. Bounds are not checked then. Anchors count among
        `always_recorded`.
    groups, groups_target : one id per row, or None
        Source and target rows that belong together, such as several of one patient. None: every row stands alone.

    Returns
    -------
    UCARReport
        Printed, it is the verdict in words; `checks` has every check with p-value and size.

    See Also
    --------
    estimate_relative_missingness : How much more the target loses, feature by feature.
    check_sensitivity : How strongly loss may depend on the outcome, which this test can't see.
    compare_target_risk : Whether adapting pays.

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
    _check_level(alpha, n_bootstrap)
    prepared = prepare_check(
        X_source,
        X_target,
        always_recorded=always_recorded,
        column_groups=column_groups,
        anchors=anchors,
        groups=groups,
        groups_target=groups_target,
    )
    return prepared.judge(alpha=alpha, n_bootstrap=n_bootstrap, random_state=random_state)


def _check_level(alpha: float, n_bootstrap: int) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    # The smallest p-value must lie below alpha: 1/(n + 1) < alpha.
    check_draws(n_bootstrap, math.floor(round(1 / alpha, 6)), purpose=f"a verdict at alpha={alpha:g}")


def prepare_check(
    X_source: Any,
    X_target: Any,
    *,
    always_recorded: Any,
    column_groups: Any,
    groups: Any,
    groups_target: Any,
    anchors: Any = None,
) -> PreparedCheck:
    """Read the tables for `check_ucar`, whose parameters these are.

    Narrow tables are not needed any more when this returns; whoever has no other use for them can free their memory.
    """
    source, target, given = check_pair(X_source, X_target)
    rows = resolve_both(groups, groups_target, (source.shape[0], target.shape[0]))
    for name, X, together in zip(("X_source", "X_target"), (source, target), rows, strict=True):
        n = X.shape[0] if together is None else int(together.max()) + 1
        if n < 2 * MIN_EXPECTED:
            what = "rows" if together is None else "groups of rows"
            raise ValueError(f"{name} needs at least {2 * MIN_EXPECTED} {what} for a test, got {n}.")
    recorded = with_anchors(always_recorded, anchors, source.shape[1], given)
    known = Known(*known_columns(recorded, column_groups, source.shape[1], given))
    chosen = resolve_columns(anchors, source.shape[1], given, parameter="anchors")
    lost = ~known.always_recorded
    warn_without_zeros(count_nonzero(source)[lost], count_nonzero(target)[lost], source.shape[0], target.shape[0])
    names = _names(given, source.shape[1])
    make = _make_anchored_checks if chosen.any() else _make_checks
    with few_threads(source.shape[1], max(source.shape[0], target.shape[0])):
        made = make(source, target, rows, known, chosen)
    return PreparedCheck(
        *made,
        names,
        known,
        (source.shape[0], target.shape[0]),
        tuple(names[j] for j in np.flatnonzero(chosen)),
    )


@dataclass(frozen=True)
class PreparedCheck:
    """The checks of two tables, made one after another while they are judged, once."""

    checks: Iterator[Checks]
    n_with_values: int
    pairs_left_out: int
    names: list[str]
    known: Known
    n_rows: tuple[int, int]
    anchors: tuple[str, ...] = ()

    def judge(self, *, alpha: float = 0.05, n_bootstrap: int = 1000, random_state: Any = None) -> UCARReport:
        """Return the report; parameters and their defaults are those of `check_ucar`."""
        errors = float(ndtri(1 - alpha / 2))
        with few_threads(len(self.names), max(self.n_rows)):
            judged, families = judge(self.checks, n_bootstrap, as_generator(random_state), errors=errors)
        table = _name_features(judged, self.names)
        table = table.sort_values("p_value", kind="stable", key=lambda p: p - 1e-6 * np.abs(table["z"]))
        of_loss = table[table["kind"] != POPULATION]
        table = pd.concat([of_loss, table[table["kind"] == POPULATION]], ignore_index=True)
        # Of a pair with what is always recorded, the other is lost.
        recorded = of_loss["other"].isin([self.names[j] for j in self.known.recorded])
        n_lost = int((~self.known.always_recorded).sum())
        return UCARReport(
            p_value=float(of_loss["p_value"].min()) if len(of_loss) else 1.0,
            p_by_family=families,
            checks=table,
            suspects=_cover(of_loss.assign(other=of_loss["other"].mask(recorded, "")), alpha),
            alpha=alpha,
            n_source=self.n_rows[0],
            n_target=self.n_rows[1],
            not_checked="" if len(of_loss) else _why_nothing(n_lost, self.n_with_values),
            pairs_left_out=self.pairs_left_out,
            anchors=self.anchors,
        )


def _make_anchored_checks(
    source: Any, target: Any, rows: tuple[Any, Any], known: Known, anchors: np.ndarray
) -> tuple[Iterator[Checks], int, int]:
    """As `_make_checks`, given the anchors."""
    if is_wide(source, target):
        raise ValueError(
            f"anchors are for tables that are not wide, got {source.shape[1]} columns, of which all pairs can't be "
            "checked: drop columns, or leave anchors out."
        )
    anchored = AnchoredRows.of(source, target, anchors, known.group, known.always_recorded, groups=rows)
    domains = make_domains(source, target, rows)
    given = AnchoredDomains(source, target, domains, anchored, anchored.estimate())
    return chain(anchored_checks(given, known), check_population(*domains, known)), len(domains[0].ranks), 0


def _make_checks(
    source: Any, target: Any, rows: tuple[Any, Any], known: Known, _: np.ndarray
) -> tuple[Iterator[Checks], int, int]:
    """All checks, the number of features with several nonzero values, and that of pairs that are not checked."""
    if not is_wide(source, target):
        domains = make_domains(source, target, rows)
        return all_checks(*domains, known), len(domains[0].ranks), 0
    here, there, ranked = make_wide_domains(source, target, rows)
    pairs = choose_pairs(here, there, known)
    n_lost = int((~known.always_recorded).sum())
    checks = wide_checks(here, there, ranked, known, pairs, (source, target), rows)
    return checks, int(ranked.sum()), n_lost * (n_lost - 1) // 2 - len(pairs[0])


def _names(given: list[Any] | None, n_features: int) -> list[str]:
    """Return what every feature is called. An empty name would stand for no feature."""
    return [
        name if isinstance(name, str) and name else f"column {name or position}"
        for position, name in enumerate(given if given is not None else range(n_features))
    ]


def _name_features(judged: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the table of checks with names in place of positions."""
    table = judged.rename(columns={"first_by_value": "feature_by_value", "second_by_value": "other_by_value"})
    table["feature"] = [names[j] for j in judged["first"]]
    table["other"] = [names[j] if j >= 0 else "" for j in judged["second"]]
    order = ["kind", "feature", "other", "statistic", "z", "p_value", "effect", "effect_lower", "effect_upper"]
    return table[[*order, "feature_by_value", "other_by_value"]]


def _why_nothing(n_features: int, n_with_values: int) -> str:
    """Why there is no check, given the number of features that may be lost and of those with several nonzero values."""
    if n_features == 0:
        return "every column is always recorded, so that nothing is lost"
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
    left = checks[checks["p_value"] < alpha]
    if not len(left):
        return []
    size = _involved(checks).pow(2).groupby(level=0).mean()
    # Positions among the names, −1 where a check has one feature.
    first, second = (size.index.get_indexer(pd.Index(left[name])) for name in ("feature", "other"))
    suspects: list[str] = []
    while len(first):
        count = np.bincount(first, minlength=len(size)) + np.bincount(second[second >= 0], minlength=len(size))
        worst = int(np.argmax(np.where(count == count.max(), size.to_numpy(), -np.inf)))
        suspects.append(size.index[worst])
        others = (first != worst) & (second != worst)
        first, second = first[others], second[others]
    return suspects


def _involved(checks: pd.DataFrame) -> pd.Series:
    """Standardised size z of every check under the name of each feature that takes part in it."""
    pairs = checks[checks["other"] != ""]
    return pd.concat([checks.set_index("feature")["z"], pairs.set_index("other")["z"]])
