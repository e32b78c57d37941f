"""Relative missingness: how much more the target loses than the source, estimated from counts of nonzeros.

With q_j = P(X̃_j ≠ 0), 1 − r_j = q^t_j / q^s_j = (1 − m^t_j)/(1 − m^s_j): identified although m^s and m^t are not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from dams._columns import known_columns, resolve_columns
from dams._intervals import Method, delta_interval, ratio_interval
from dams._random import as_generator
from dams._relative_result import RelativeMissingness
from dams._rows import Tally, resolve_both, tally
from dams._validation import check_confidence, check_pair, describe_columns, warn_user
from dams.anchors import AnchoredRows, warn_if_worth_little, with_anchors
from dams.missingness import canonical_csr

Array = np.ndarray
__all__ = ["RelativeMissingness", "estimate_relative_missingness"]


def count_nonzero(X: Any) -> Array:
    """Nonzeros of every column; X is dense or sparse."""
    if sparse.issparse(X):
        csr = canonical_csr(X)
        # Few tables store zeros, and the others need no copy.
        shown = csr.indices if csr.data.all() else csr.indices[csr.data != 0]
        return np.bincount(shown, minlength=csr.shape[1])
    # A narrow sum is the fastest way to count along the rows of a C-ordered array.
    return np.add.reduce(X != 0, axis=0, dtype=np.int32).astype(np.int64)


def estimate_relative_missingness(
    X_source: Any,
    X_target: Any,
    *,
    confidence: float = 0.95,
    method: Method = "delta",
    n_bootstrap: int = 2000,
    random_state: Any = None,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
) -> RelativeMissingness:
    """Estimate r̂ = 1 − q̂^t/q̂^s and an interval for every feature.

    Parameters
    ----------
    X_source, X_target : array, DataFrame or sparse matrix
        Observed covariates, zero meaning missing or zero. DataFrames are matched by column name.
    confidence : float
        Level of each feature's interval, and of the simultaneous intervals for all features together.
    method : "delta", "hoeffding" or "bootstrap"
        "delta": normal approximation on the log of q^t/q^s, with exact limits for columns without a zero. "hoeffding":
        the paper's finite-sample bound, solved for r, wide but valid at any n. "bootstrap": percentiles over resampled
        rows; "delta" where every resample is the same.
    n_bootstrap, random_state
        Only used by "bootstrap", which needs at least 2/(1 − confidence) draws.
    always_recorded : list of columns, mask or None
        Columns that neither place ever loses, such as sex, age or site, by name, position or mask. Their zeros are
        true, so r = 0 there, whatever their shares of nonzeros: these differ where the populations do.
    column_groups : list of lists of columns or None
        Columns that are lost together, as all values of one blood sample are: they share a mask, hence one r.
    anchors : list of columns, mask or None
        Columns that both places always record and on which loss, and the population, may depend. They count among
        `always_recorded`. `RelativeMissingness.at` then gives r_j(s) of rows, a smooth function of the anchors
        (`dams.anchors`), and `weights` the ratio of the populations.
    groups, groups_target : one id per row, or None
        Source and target rows that belong together, such as several of one patient. Groups must be independent of each
        other, rows within one need not be. None: every row stands alone.

    Returns
    -------
    RelativeMissingness
        Estimates and intervals, one per feature.

    Raises
    ------
    ValueError
        Where a feature is never observed in the source, nor any column that it is lost together with: its r is not
        identified.

    Warns
    -----
    UserWarning
        Where a feature is never observed in the target: r = 1, and nothing can be predicted from it there. Where no
        value of either table is zero, so that nothing is missing.

    See Also
    --------
    check_ucar : Test whether the difference may be called loss at random.
    ClosedFormRegressor : Linear models, in closed form.
    TwoWayEstimator : Any model, adapted to this r.

    Notes
    -----
    *Columns lost together.* P(any X̃_j ≠ 0 in the group) is (1 − m) P(any X_j ≠ 0), so 1 − r is the ratio of the shares
    of rows with any nonzero. Given that there is one, which columns are nonzero has one law in both domains and tells
    nothing about r: the likelihood factors, and that ratio is its maximum. Pooled counts, Σ_j q^t_j/Σ_j q^s_j, have the
    same limit, and add the noise of how many columns a row shows.

    *Groups of rows.* "delta" takes the variance of a share from sums over groups, with Student's t; "bootstrap"
    resamples groups; "hoeffding" bounds sums over groups by their sizes. Groups of unequal sizes count as n²/Σ size²,
    the number of groups of one size that would tell as much. `is_proper` scales counts to as many independent rows as
    would know the share as well. A group in both domains counts as two.

    *Simultaneous intervals* are Bonferroni's: each is made at 1 − (1 − confidence)/k for k estimated r. They hold
    however the features depend on each other, for all three methods and from counts alone. The joint law of the
    estimates, which needs the rows, would gain little: for 40 independent features 3.22 standard errors instead of
    3.23. "bootstrap" has too few draws for such tails: its simultaneous limits are those of "delta", or its own where
    these lie further out.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import apply_missingness, estimate_relative_missingness
    >>> X = np.ones((10_000, 2))
    >>> source = apply_missingness(X, [0.2, 0.5], random_state=0)
    >>> target = apply_missingness(X, [0.6, 0.0], random_state=1)
    >>> estimate_relative_missingness(source, target).r.round(1)
    array([ 0.5, -1. ])
    """
    check_confidence(confidence)
    source, target, names = check_pair(X_source, X_target)
    return from_tables(
        source,
        target,
        confidence=confidence,
        method=method,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
        feature_names=names,
        always_recorded=always_recorded,
        column_groups=column_groups,
        anchors=anchors,
        groups=groups,
        groups_target=groups_target,
    )


def from_tables(
    source: Any,
    target: Any,
    *,
    counts: tuple[Array, Array] | None = None,
    feature_names: list[Any] | None = None,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
    **options: Any,
) -> RelativeMissingness:
    """`estimate_relative_missingness` for tables that are checked and matched already: float arrays or CSR matrices.

    `counts` are the nonzeros of their columns, where these are known.
    """
    d = source.shape[1]
    always_recorded = with_anchors(always_recorded, anchors, d, feature_names)
    known, unit = known_columns(always_recorded, column_groups, d, feature_names)
    rows = resolve_both(groups, groups_target, (source.shape[0], target.shape[0]))
    counts = (count_nonzero(source), count_nonzero(target)) if counts is None else counts
    warn_without_zeros(counts[0][~known], counts[1][~known], source.shape[0], target.shape[0])
    tallies = []
    for X, count, together in zip((source, target), counts, rows, strict=True):
        plain = together is None and unit.max() + 1 == d
        tallies.append(Tally(count, X.shape[0]) if plain else tally(X, unit, together))
    relative = from_tallies(counts, (tallies[0], tallies[1]), unit, known, feature_names=feature_names, **options)
    chosen = resolve_columns(anchors, d, feature_names, parameter="anchors")
    if not chosen.any():
        return relative
    anchored = AnchoredRows.of(source, target, chosen, unit, known, groups=rows, names=feature_names).estimate()
    warn_if_worth_little(anchored, source.shape[0], feature_names)
    return replace(relative, anchored=anchored)


def from_counts(
    count_source: Array,
    count_target: Array,
    n_source: int,
    n_target: int,
    *,
    always_recorded: Array | None = None,
    **options: Any,
) -> RelativeMissingness:
    """`estimate_relative_missingness` for numbers of nonzeros that are already counted; `always_recorded` is a mask."""
    d = len(count_source)
    known = np.zeros(d, dtype=bool) if always_recorded is None else np.asarray(always_recorded, dtype=bool)
    tallies = Tally(count_source, n_source), Tally(count_target, n_target)
    return from_tallies((count_source, count_target), tallies, np.arange(d), known, **options)


def from_tallies(
    counts: tuple[Array, Array],
    tallies: tuple[Tally, Tally],
    unit: Array,
    known: Array,
    *,
    confidence: float = 0.95,
    method: Method = "delta",
    n_bootstrap: int = 2000,
    random_state: Any = None,
    feature_names: list[Any] | None = None,
    for_fit: bool = False,
) -> RelativeMissingness:
    """Estimate r of every unit, and give it to its columns; `counts` are those of the columns.

    `for_fit` says that something is fitted to the columns, so that the source must hold values of each.
    """
    source, target = tallies
    never = (source.count[unit] == 0) & ~known
    if never.any():
        raise ValueError(
            f"The source holds only zeros in {describe_columns(np.flatnonzero(never), feature_names)}: "
            "the relative missingness is not identified there. Drop what is never observed from both source and target."
        )
    unseen = (counts[0] == 0) & ~known
    if for_fit and unseen.any():
        raise ValueError(
            f"The source holds only zeros in {describe_columns(np.flatnonzero(unseen), feature_names)}: columns that "
            "are lost together with it give its relative missingness, but nothing can be learned of its values. Drop "
            "it from both source and target."
        )
    gone = (target.count[unit] == 0) & ~known
    if gone.any():
        warn_user(
            f"The target holds only zeros in {describe_columns(np.flatnonzero(gone), feature_names)}: "
            "the relative missingness is 1 there, and adjusted predictors will make no use of it."
        )
    if known.any():
        # Nothing is lost there, and so nothing estimated: as if every row had a value.
        source, target = (_fill(counted, unit[known]) for counted in tallies)
    rng = as_generator(random_state)
    low, high = ratio_interval(source, target, confidence, method, n_bootstrap, rng)
    jointly = 1 - (1 - confidence) / max(1, len(np.unique(unit[~known])))
    if method == "bootstrap":
        wide = delta_interval(source, target, jointly)
        all_low, all_high = np.minimum(low, wide[0]), np.maximum(high, wide[1])
    else:
        all_low, all_high = ratio_interval(source, target, jointly, method, n_bootstrap, rng)

    def spread(limit: Array) -> Array:
        return np.where(known, 0.0, (1 - limit)[unit])

    n_source, n_target = source.n, target.n
    return RelativeMissingness(
        r=spread(target.q / source.q),
        lower=spread(high),
        upper=spread(low),
        simultaneous_lower=spread(all_high),
        simultaneous_upper=spread(all_low),
        q_source=counts[0] / n_source,
        q_target=counts[1] / n_target,
        n_source=n_source,
        n_target=n_target,
        confidence=confidence,
        method=method,
        always_recorded=known | ((counts[0] == n_source) & (counts[1] == n_target)),
        column_groups=unit,
        worth=(source.worth, target.worth),
        feature_names=feature_names,
    )


def _fill(counted: Tally, units: Array) -> Tally:
    """Return the tally with a value in every row of some units."""
    count = counted.count.copy()
    count[units] = counted.n
    return Tally(count, counted.n, counted.grouped)


def warn_without_zeros(count_source: Array, count_target: Array, n_source: int, n_target: int) -> None:
    """Warn where no value of either domain is zero: what was missing may have been centred or imputed away."""
    if len(count_source) and (count_source == n_source).all() and (count_target == n_target).all():
        warn_user(
            "Neither source nor target holds a zero, which marks a missing value here: there is nothing to adjust. If "
            "the columns were centred or imputed before, set what is missing to 0 afterwards."
        )
