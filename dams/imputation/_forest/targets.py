"""Targets of the trees, in a form whose sums are exact.

The split search adds up counts and targets of many sets of rows. Here both are whole numbers below 2⁵³, so doubles add
them without rounding, in any order: equal splits have equal scores, also where one has on the left what the other has
on the right, and a difference of two sums is what a third would be. A numeric target shares one double with the count,
which halves the work.
"""

from typing import Protocol

import numpy as np

from dams.imputation._forest.binning import FloatArray, IntArray

_MANTISSA = 53
_LEAST_BITS = 8


class Target(Protocol):
    """A target as rows of amounts, each in one of some channels.

    Attributes
    ----------
    n_channels, n_outputs : int
    channels : array of int, shape (n_rows,)
        The channel of each row.
    amounts : array of shape (n_rows,)
        What the row adds to its channel.
    values : array of shape (n_rows,) or None
        The numbers that `amounts` stand for; None where they are whole numbers themselves.
    """

    n_channels: int
    n_outputs: int
    channels: IntArray
    amounts: FloatArray
    values: FloatArray | None

    def counts(self, sums: FloatArray) -> FloatArray:
        """Numbers of rows in sums over channels, which are the first axis."""

    def deviations(self, sums: FloatArray, node: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Counts n of parts of nodes, and for each output N s − n S, without rounding.

        Here s is the part's total, and N and S are count and total of its node. The rest of the node deviates by the
        opposite.
        """

    def means(self, sums: FloatArray) -> FloatArray:
        """Mean targets of sets of rows, outputs in the last axis; of no rows, anything."""


class NumericTarget:
    """Numbers on a fine grid from their minimum to their maximum.

    With n rows the count needs b = ⌈log2(n + 1)⌉ bits, and the grid has 53 − 2b: 23 for 30,000 rows.
    """

    n_channels = 1
    n_outputs = 1

    def __init__(self, values: FloatArray) -> None:
        count_bits = len(values).bit_length()
        grid_bits = _MANTISSA - 2 * count_bits
        if grid_bits < _LEAST_BITS:
            limit = 2 ** ((_MANTISSA - _LEAST_BITS) // 2) - 1
            raise ValueError(
                f"A column can be learnt from at most {limit:,} rows that observe it, got {len(values):,}. Fit on a "
                "sample of the rows, with compat='inductive', and transform the rest."
            )
        distinct, repeats = np.unique(values, return_counts=True)
        step = float(distinct[-1] - distinct[0]) / (2**grid_bits - 1) or 1.0
        points = np.rint((values - distinct[0]) / step)
        self._one = 2.0 ** (grid_bits + count_bits)
        self._points, self._values = _mean_by_point(np.rint((distinct - distinct[0]) / step), distinct, repeats)
        self.channels = np.zeros(len(values), dtype=np.intp)
        self.amounts = points + self._one
        self.values: FloatArray | None = values

    def counts(self, sums: FloatArray) -> FloatArray:
        """See `Target`."""
        counts = sums[0] * (1 / self._one)
        return np.floor(counts, out=counts)

    def deviations(self, sums: FloatArray, node: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """See `Target`; in steps of the grid, of which both products have less than 2⁵³."""
        counts = self.counts(sums)
        n_node = self.counts(node)
        totals = counts * -self._one
        totals += sums[0]
        totals *= n_node
        totals -= counts * (node[0] - n_node * self._one)
        return counts, [totals]

    def means(self, sums: FloatArray) -> FloatArray:
        """See `Target`; where all targets are equal their mean is exactly that number."""
        counts = self.counts(sums)
        points = (sums[0] - counts * self._one) / np.maximum(counts, 1)
        return np.interp(points, self._points, self._values)[..., None]


def _mean_by_point(points: FloatArray, values: FloatArray, repeats: IntArray) -> tuple[FloatArray, FloatArray]:
    """Distinct points of the grid in ascending order, and the mean value on each.

    One value per point, as it is, unless an extreme one makes the grid too coarse to tell the others apart.
    """
    starts = np.flatnonzero(np.diff(points, prepend=-1))
    if len(starts) == len(points):
        return points, values
    alone = np.diff(starts, append=len(points)) == 1
    means = np.add.reduceat(values * repeats, starts) / np.add.reduceat(repeats, starts)
    return points[starts], np.where(alone, values[starts], means)


class ClassTarget:
    """Classes, numbered from 0; the means are their shares, and their variance reduction is the Gini criterion."""

    values: FloatArray | None = None

    def __init__(self, classes: IntArray, n_classes: int) -> None:
        self.n_channels = self.n_outputs = n_classes
        self.channels = classes
        self.amounts = np.ones(len(classes))

    def counts(self, sums: FloatArray) -> FloatArray:
        """See `Target`."""
        return sums.sum(axis=0)

    def deviations(self, sums: FloatArray, node: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """See `Target`."""
        counts = self.counts(sums)
        n_node = self.counts(node)
        return counts, [n_node * total - counts * of_node for total, of_node in zip(sums, node, strict=True)]

    def means(self, sums: FloatArray) -> FloatArray:
        """See `Target`."""
        return np.moveaxis(sums / np.maximum(self.counts(sums), 1), 0, -1)
