"""Stays of several hospitals with binary features: what the eICU loader and the simulator both return."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

Array = np.ndarray


@dataclass(frozen=True)
class FeatureTable:
    """Stays of some hospitals with binary features, one row per stay.

    Attributes
    ----------
    X : csr_matrix of shape (n, d)
        1 where the feature was recorded at any hour, else 0.
    names : list of str
        Names of the columns, as FIDDLE gave them.
    y : array of shape (n,)
        1 for death in hospital after the first 48 hours, else 0.
    groups : array of shape (n,)
        A number per patient; a patient may have several stays, which belong on one side of a split.
    hospital, stay : array of shape (n,)
        Identifiers of the hospital and of the stay.
    hospitals : tuple of int
        The hospitals asked for, in that order.
    simulated : bool
        Whether the files came from the simulator. Whatever shows them has to say so.
    """

    X: sparse.csr_matrix
    names: list[str]
    y: Array
    groups: Array
    hospital: Array
    stay: Array
    hospitals: tuple[int, ...]
    simulated: bool

    def at(self, hospital: int) -> FeatureTable:
        """Return the rows of one hospital."""
        return self.take(np.flatnonzero(self.hospital == hospital))

    def take(self, rows: Array) -> FeatureTable:
        """Return the rows with these positions."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            groups=self.groups[rows],
            hospital=self.hospital[rows],
            stay=self.stay[rows],
        )

    def select(self, columns: Array) -> FeatureTable:
        """Return the columns with these positions, in this order."""
        return replace(self, X=self.X[:, columns], names=[self.names[j] for j in columns])

    def with_values(self, X: sparse.csr_matrix) -> FeatureTable:
        """Return the same stays with other values of the features."""
        return replace(self, X=X)

    def prevalence(self) -> Array:
        """Share of stays with each feature, one row per hospital in the order of `hospitals`."""
        # Counted, then divided: a mean of scaled values would miss a threshold of exactly 5 % by rounding.
        return np.stack([np.asarray(part.X.sum(axis=0)).ravel() / len(part.y) for part in map(self.at, self.hospitals)])
