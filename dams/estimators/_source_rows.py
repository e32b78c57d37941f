"""Source rows of the two-way adjustment, dense or sparse: their columns on one scale, and copies of them with fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from dams.missingness import canonical_csr, delete_at_random, draw_kept

Array = np.ndarray
# The number of a copy, the columns of a feature, the rows that are filled, and the rows that they get the values of.
Filled = tuple[int, Array, Array, Array]
# Columns made dense, or scaled, at a time.
COLUMNS_AT_ONCE = 16


class SourceRows:
    """Rows X of an array, or of a sparse matrix, which is read by column and never made dense as a whole."""

    def __init__(self, X: Any):
        self.is_sparse = sparse.issparse(X)
        self.shape: tuple[int, int] = X.shape
        self._X = sparse.csc_array(canonical_csr(X)) if self.is_sparse else X

    def columns(self, which: Array | slice) -> Array:
        """Values of some columns, (n, columns)."""
        return self._X[:, which].toarray() if self.is_sparse else self._X[:, which]

    def standardised(self) -> Array:
        """Columns on one scale, shape (d, n): 8 n d bytes, the one dense copy of all columns that trees need."""
        n, d = self.shape
        table = np.empty((d, n))
        for start in range(0, d, COLUMNS_AT_ONCE):
            # No column stands alone, unless it is the only one: its sum would be taken in another order.
            stop = d if start + COLUMNS_AT_ONCE >= d - 1 else start + COLUMNS_AT_ONCE
            values = self.columns(slice(start, stop))
            spread = values.std(axis=0)
            table[start:stop] = ((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).T
            if stop == d:
                break
        return table

    def copies(
        self, fills: Iterable[Filled], rates: Array, together: Array, streams: list[np.random.Generator]
    ) -> Iterator[Any]:
        """Yield a copy per stream, filled and then deleted from at some rates; of sparse rows a CSR array."""
        of_copy: list[list[Filled]] = [[] for _ in streams]
        for fill in fills:
            of_copy[fill[0]].append(fill)
        for own, rng in zip(of_copy, streams, strict=True):
            if self.is_sparse:
                yield self._sparse_copy(own, draw_kept(self.shape, rates, rng, together))
                continue
            copy = self._X.copy()
            for _, columns, rows, donors in own:
                copy[np.ix_(rows, columns)] = self._X[np.ix_(donors, columns)]
            yield delete_at_random(copy, rates, rng, groups=together, overwrite=True)

    def _sparse_copy(self, fills: list[Filled], kept: Array) -> Any:
        """Return rows with the fills added, which were zero. The mask is that of dense rows: a byte per entry."""
        old = self._X.tocoo()
        parts = [(old.data, *old.coords)]
        for _, columns, rows, donors in fills:
            for j in columns:
                values = self.columns(np.array([j]))[donors, 0]
                parts.append((values, rows, np.full(len(rows), j)))
        data, row, column = (np.concatenate(part) for part in zip(*parts, strict=True))
        use = kept[row, column] & (data != 0)
        return sparse.csr_array((data[use], (row[use], column[use])), shape=self.shape)
