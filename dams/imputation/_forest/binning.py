"""Columns cut into few bins."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Codes = npt.NDArray[np.uint8]
Values = npt.NDArray[np.float32]

MAX_BINS = 255  # codes are uint8, and the last value is kept for "no bin"

# Features are read in single precision, and values closer than this are one, as in scikit-learn's trees: imputed values
# often differ by rounding alone.
SAME = np.float32(1e-7)


@dataclass(frozen=True)
class BinnedColumn:
    """A column cut into bins, none of them empty.

    Attributes
    ----------
    codes : array of uint8, shape (n_samples,)
        The bin of each value.
    lowest, highest : arrays of shape (n_bins,)
        The smallest and the largest value of each bin.
    order : array of int, shape (n_samples,)
        The rows, sorted by value.
    ordered : array of float32, shape (n_samples,)
        The sorted values.
    starts : array of int, shape (n_bins + 1,)
        Where each bin begins among the sorted values.
    """

    codes: Codes
    lowest: Values
    highest: Values
    order: IntArray
    ordered: Values
    starts: IntArray

    @property
    def n_bins(self) -> int:
        """The number of bins; a constant column has one."""
        return len(self.lowest)

    def members(self, number: int) -> slice:
        """Where the members of a bin are among the sorted values."""
        return slice(self.starts[number], self.starts[number + 1])


def bin_column(column: FloatArray, max_bins: int = MAX_BINS) -> BinnedColumn:
    """Cut a column into at most `max_bins` bins.

    Every distinct value has its own bin where there are no more than `max_bins` of them. Otherwise a frequent value,
    such as the first guess of the missing entries, keeps a bin to itself, and the others are cut into bins of about
    equal counts.

    Parameters
    ----------
    column : array of shape (n_samples,)
        Finite values.
    max_bins : int, default=255
        From 2 to 255.

    Returns
    -------
    BinnedColumn
    """
    values = column.astype(np.float32)
    constant = values.max() <= values.min() + SAME  # as are most columns where a zero is a missing value
    # The stable sort is twice as fast where many values are equal.
    order = np.arange(len(values)) if constant else np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.append(0, np.flatnonzero(ordered[1:] > ordered[:-1] + SAME) + 1)  # where each distinct value begins
    if len(starts) > max_bins:
        starts = starts[_first_of_each_bin(np.diff(starts, append=len(values)), max_bins)]
    starts = np.append(starts, len(values))
    codes = np.empty(len(values), dtype=np.uint8)
    codes[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.uint8), np.diff(starts))
    return BinnedColumn(codes, ordered[starts[:-1]], ordered[starts[1:] - 1], order, ordered, starts)


def _first_of_each_bin(counts: IntArray, max_bins: int) -> IntArray:
    """Choose which of the distinct values, given how often each occurs, begin a bin.

    A bin has a single value, or less than `size` rows and some; the size grows until there are few enough bins.
    """
    size = counts.sum() / max_bins
    for _ in range(3):  # bins that frequent values do not fill are shared among the others
        frequent = counts >= size
        size = max(1.0, counts[~frequent].sum() / max(1, max_bins - frequent.sum()))
    while True:
        first = _bins_of_size(counts, size)
        if len(first) <= max_bins:
            return first
        size *= max(1.02, len(first) / max_bins)


def _bins_of_size(counts: IntArray, size: float) -> IntArray:
    frequent = counts >= size
    rare = np.where(frequent, 0, counts)
    before = rare.cumsum() - rare
    runs = np.append(0, np.flatnonzero(frequent[:-1]) + 1)  # rare values are counted from the last frequent one
    within = before - np.repeat(before[runs], np.diff(runs, append=len(counts)))
    share = (within * (1 / size)).astype(np.intp)
    return np.flatnonzero(np.append(True, frequent[1:] | frequent[:-1] | (share[1:] != share[:-1])))
