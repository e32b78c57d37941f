"""The sums that a split search needs, for all trees in one sparse product.

For every tree t, node v, feature f and bin b the search asks for

    H[f, b, t, v] = Σ_i  [code_if = b] · w_it · [row i is in node v of tree t] · a_i

with w the bootstrap counts and a the target's amounts. With Z the one-hot matrix of the codes, scaled by a, and V a
matrix with a column a tree and node, that is Zᵀ V: each code is read once for all trees. A cut needs the sums over all
bins up to it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from dams.imputation._forest.binning import BinnedColumn, Codes, FloatArray, IntArray, Values
from dams.imputation._forest.targets import Target

# Rows of V in one product: enough to hide the call, few enough to stay in the cache.
_ROWS = 8192


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Cut a range of rows into blocks that fit the cache."""
    return (slice(start, min(start + _ROWS, n_rows)) for start in range(0, n_rows, _ROWS))


class TrainingData:
    """Data that all trees share.

    Parameters
    ----------
    columns : sequence of BinnedColumn
        The features.
    rows : array of int, shape (n_rows,)
        The rows to train on.
    target : Target
        Of these rows.

    Attributes
    ----------
    first_bin : array of int, shape (n_features,)
        Where each feature's bins begin among those of all features.
    bins_of : list of n_features slices
        Where they are.
    is_mixed : array of shape (n_all_bins,)
        Whether a bin has more than one value.
    codes : array of shape (n_rows, n_features)
    position : array of int, shape (n_samples,)
        Where each row of the columns is among those to train on; -1 where it is not.
    """

    def __init__(self, columns: Sequence[BinnedColumn], rows: IntArray, target: Target) -> None:
        self.columns = columns
        self.position = np.full(len(columns[0].codes), -1)
        self.position[rows] = np.arange(len(rows))
        self.target = target
        ends = np.cumsum([column.n_bins for column in columns])
        self.first_bin = np.append(0, ends[:-1])
        self.bins_of = [slice(int(first), int(end)) for first, end in zip(self.first_bin, ends, strict=True)]
        self.is_mixed = np.concatenate([column.lowest < column.highest for column in columns])
        self.codes = np.column_stack([column.codes[rows] for column in columns])
        self._sorted_rows: dict[int, tuple[IntArray, Values]] = {}
        self._one_hot = [self._transposed_one_hot(block) for block in row_blocks(len(rows))]

    def _transposed_one_hot(self, block: slice) -> sparse.csc_array:
        codes = self.codes[block]
        n_rows, n_features = codes.shape
        bins = (codes + self.first_bin.astype(np.int32)) * np.int32(self.target.n_channels)
        bins += self.target.channels[block, None].astype(np.int32)
        amounts = np.repeat(self.target.amounts[block], n_features)
        ends = np.arange(0, n_rows * n_features + 1, n_features, dtype=np.int32)
        shape = (self.bins_of[-1].stop * self.target.n_channels, n_rows)
        return sparse.csc_array((amounts, bins.ravel(), ends), shape=shape)

    def sorted_rows(self, feature: int) -> tuple[IntArray, Values]:
        """Rows in the order of a feature's values, and these; made when first asked for."""
        if feature not in self._sorted_rows:
            column = self.columns[feature]
            rows = self.position[column.order]
            wanted = rows >= 0
            self._sorted_rows[feature] = rows[wanted], column.ordered[wanted]
        return self._sorted_rows[feature]

    def bootstrap(self, n_trees: int, rng: np.random.Generator) -> Codes:
        """How often each row is drawn for each tree, shape (n_rows, n_trees)."""
        n_rows = len(self.codes)
        counts = np.empty((n_rows, n_trees), dtype=np.uint8)
        for tree in range(n_trees):
            counts[:, tree] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows)
        return counts

    def sums_up_to(self, counts: Codes) -> FloatArray:
        """Sums of the amounts in all bins of a feature up to each bin, shape (n_all_bins, n_channels, n_nodes).

        `counts` has shape (n_rows, n_nodes): how often the node holds the row.
        """
        sums = np.zeros((self._one_hot[0].shape[0], counts.shape[1]))
        for block, one_hot in zip(row_blocks(len(counts)), self._one_hot, strict=True):
            sums += one_hot @ counts[block].astype(np.float64)
        sums = sums.reshape(-1, self.target.n_channels, counts.shape[1])
        for bins in self.bins_of:
            sums[bins].cumsum(axis=0, out=sums[bins])
        return sums
