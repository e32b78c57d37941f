"""Disclosure control of summaries: counts of few rows are not disclosed.

A *cell* is a number of rows: those in which a column is not zero (or is zero), in which two columns are both not zero,
and, where the label has two values, those of its larger one, alone and with a column. A cell of 1 to t − 1 rows is
small. Summaries hold cells of all rows and of every fold of them; so

- a column with a small cell of its own, over all rows, is left out; one of more than two values, of whose zeros moments
  tell nothing, only has few zeros told as none;
- where two columns, or a column and the label, have a small cell over all rows, it is reported as 0;
- where only some fold has a small cell, what it belongs to is spread over all folds in proportion to their rows: the
  moments of all rows stay exact, and only the choice that is made over folds sees less.

Of a column that is always recorded and has more than two values, zeros are values: its cells are those of all rows.
This is a rule of thumb for tables that leave a house. Differences between cells are not looked at (no secondary
suppression), and it is no differential privacy: two summaries of tables that differ in one row tell that row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dams.estimators.folds import FoldedMoments
from dams.moments import Moments

Array = np.ndarray


@dataclass(frozen=True)
class Cells:
    """Rows in which columns, and the label, are present together: over all rows and by fold.

    The last row and column are the label's, present where it has the larger of two values; without a label of two
    values it is present in every row, and has no cell.
    """

    total: Array  # (d + 1, d + 1)
    by_fold: Array  # (folds, d + 1, d + 1)
    counted: Array  # (d + 1,): columns whose presence is disclosed
    flags: Array  # (d + 1,): columns of two values, whose moments are counts

    @classmethod
    def of(cls, X: Array, y: Array | None, folds: list[Array], always: Array) -> Cells:
        """Count the rows of X (n, d) and y (n,) by fold."""
        flags = np.append(_has_two_values(X), y is not None and len(np.unique(y)) == 2)
        counted = np.append(~always, False) | flags
        present = np.ones((len(X), X.shape[1] + 1))
        present[:, :-1][:, counted[:-1]] = X[:, counted[:-1]] != 0
        if y is not None and counted[-1]:
            present[:, -1] = y == y.max()
        by_fold = np.stack([present[rows].T @ present[rows] for rows in folds])
        return cls(by_fold.sum(axis=0), by_fold, counted, flags)

    def few_rows(self, smallest: int) -> Array:
        """Columns, the label last, with a small cell of their own over all rows, (d + 1,)."""
        n = self.total.max()
        own = np.diagonal(self.total)
        return self.counted & (_small(own, smallest) | (self.flags & _small(n - own, smallest)))

    def hidden(self, smallest: int) -> Array:
        """Pairs with a small cell over all rows, (d + 1, d + 1)."""
        return _small(self.total, smallest) & ~np.eye(len(self.total), dtype=bool)

    def spread(self, smallest: int) -> Array:
        """Pairs, and on the diagonal columns, with a small cell in some fold, (d + 1, d + 1)."""
        small = _small(self.by_fold, smallest).any(axis=0)
        sizes = self.by_fold.max(axis=(1, 2))
        own = np.diagonal(self.by_fold, axis1=1, axis2=2)
        alone = np.diagonal(small) | (self.flags & _small(sizes[:, None] - own, smallest).any(axis=0))
        # Counts of a column with others would disclose what is withheld of it alone.
        return small | alone[:, None] | alone


def _small(count: Array, smallest: int) -> Array:
    return (count > 0) & (count < smallest)


def _has_two_values(X: Array) -> Array:
    return np.array([len(np.unique(column)) <= 2 for column in X.T], dtype=bool)


def hide_small_cells(
    folded: FoldedMoments, cells: Cells, smallest: int, *, lowest: float = 0.0
) -> tuple[FoldedMoments, int]:
    """Return the moments without small cells, and the number of pairs that changed.

    `lowest` is the lower of a label's two values.
    """
    n = np.array([part.n for part in folded.parts])
    folded = replace(folded, counts=hide_small_counts(folded.counts, n, smallest))
    hidden, spread = cells.hidden(smallest), cells.spread(smallest)
    if not (hidden | spread).any():
        return folded, 0
    whole = folded.merged()
    gram = np.where(hidden[:-1, :-1], 0.0, whole.gram)
    alone = np.diagonal(spread)
    changed = (hidden | spread)[:-1, :-1]
    parts = []
    for part in folded.parts:
        mean = np.where(alone[:-1], whole.mean, part.mean)
        covariance = np.where(changed, gram - np.outer(mean, mean), part.covariance)
        changed_part = replace(part, mean=mean, covariance=covariance)
        if part.label_mean is not None:
            changed_part = _hide_labels(changed_part, whole, hidden[:-1, -1], spread[:-1, -1], bool(alone[-1]), lowest)
        parts.append(changed_part)
    pairs = np.triu(hidden | spread, 1).sum()
    return replace(folded, parts=tuple(parts)), int(pairs)


def hide_small_counts(counts: Array, n: Array, smallest: int) -> Array:
    """Return counts (folds, d) of rows that show a column, out of n (folds,): few zeros are reported as none.

    Where only folds have few rows with or without a value, all rows' count is spread over them.
    """
    n = n[:, None]
    total = counts.sum(axis=0)
    some = (_small(counts, smallest) | _small(n - counts, smallest)).any(axis=0)
    told = np.where(some, total * n / n.sum(), counts)
    return np.where(_small(n.sum() - total, smallest), n, told)


def _hide_labels(part: Moments, whole: Moments, hidden: Array, spread: Array, alone: bool, lowest: float) -> Moments:
    """Return a fold's moments with the label's replaced where they are of few rows."""
    assert part.label_mean is not None and part.label_covariance is not None
    label_mean = whole.label_mean if alone else part.label_mean
    assert label_mean is not None
    cross = np.where(hidden[:, None], lowest * whole.mean[:, None], whole.cross)
    of_fold = cross - np.outer(part.mean, label_mean)
    return replace(
        part,
        label_mean=label_mean,
        label_covariance=np.where((hidden | spread)[:, None], of_fold, part.label_covariance),
        label_variance=whole.label_variance if alone else part.label_variance,
    )
