"""Whether columns that are said to be lost together are, as far as the two unlabelled tables tell.

A group S with one mask and relative missingness r has P^t(pattern) = (1 − r) P^s(pattern) for every pattern of nonzeros
in S but the empty one. So among rows that show any of S, each of its columns, and each pair, is nonzero as often in the
target as in the source. If the group is wrong, its one r moves the means of its columns wrongly, and with them the
intercept of a linear predictor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dams._validation import describe_columns, warn_user

Array = np.ndarray

# Standard errors by which a share must differ between the tables to contradict a group.
CLEARLY = 4.0


def groups_to_trust(source: Any, target: Any, unit: Array, names: list[Any] | None) -> list[list[int]]:
    """Return the groups of two columns and more that the tables do not contradict; warn of the others.

    A group is left out if a share differs clearly *and* independent loss, each column with an r of its own, is nearer
    to what the target shows: of many rows no group is right to the last digit, and one that is nearly right is worth
    more than none.

    Parameters
    ----------
    source, target : array or CSR matrix of shape (n, d)
    unit : array of shape (d,)
        The number of each column's group.
    """
    panels = [np.flatnonzero(unit == group) for group in np.flatnonzero(np.bincount(unit) > 1)]
    trusted: list[list[int]] = []
    wrong: list[list[int]] = []
    for members in panels:
        (trusted if _goes_together(source, target, members) else wrong).append(members.tolist())
    if wrong:
        others = f" and {len(wrong) - 1} more groups" if len(wrong) > 1 else ""
        warn_user(
            f"column_groups names {describe_columns(np.array(wrong[0]), names)}{others}: the two tables show that "
            "these columns are not lost together, and each is given an r of its own. Name columns that share one "
            "record, such as the flags of one measurement."
        )
    return trusted


def _goes_together(source: Any, target: Any, members: Array) -> bool:
    """Whether a group agrees with the tables, or at least better than independent loss does."""
    here, there = (_shown_together(X, members) for X in (source, target))
    shown = here[0, 0], there[0, 0]
    if not all(shown):
        return True
    pooled = (here + there) / sum(shown)
    error = np.sqrt(pooled * (1 - pooled) * (1 / shown[0] + 1 / shown[1]))
    if not (np.abs(there / shown[1] - here / shown[0]) > CLEARLY * error).any():
        return True
    here, there = here / source.shape[0], there / target.shape[0]
    single = np.diagonal(here)
    keep = np.divide(np.diagonal(there), single, out=np.ones_like(single), where=single > 0)
    # A pair is never shown more often than either of its columns.
    apart = np.minimum(np.outer(keep, keep) * here, np.minimum.outer(np.diagonal(there), np.diagonal(there)))
    np.fill_diagonal(apart, np.diagonal(there))
    lower = np.tril_indices(len(members) + 1)
    errors = [np.square(guess - there)[lower].sum() for guess in (keep[0] * here, apart)]
    return bool(errors[0] <= errors[1])


def _shown_together(X: Any, members: Array) -> Array:
    """Rows in which any member, a member, and a pair of members is not zero: a symmetric matrix, "any" first."""
    own = X[:, members]
    shown = (own.toarray() if sparse.issparse(own) else own) != 0
    shown = np.column_stack([shown.any(axis=1), shown]).astype(float)
    return shown.T @ shown
