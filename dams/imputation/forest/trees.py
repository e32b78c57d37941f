"""Trees grown level by level, all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dams.imputation.forest.binning import BinnedColumn, FloatArray, IntArray, Values
from dams.imputation.forest.histograms import TrainingData, row_blocks
from dams.imputation.forest.splits import best_cuts, refine, rows_near_cuts
from dams.imputation.forest.targets import Target

MAX_DEPTH = 8  # the work doubles with every level

# Histograms of so many nodes and channels are held at a time.
_COLUMNS = 128


@dataclass(frozen=True)
class HistogramForest:
    """A fitted forest of complete binary trees.

    Attributes
    ----------
    features : list over levels of arrays of shape (n_estimators, 2 ** level)
        The column that each node looks at.
    thresholds : list over levels of arrays of shape (n_estimators, 2 ** level)
        Values up to and including the threshold go left; infinite where a node is not split.
    leaves : array of shape (n_estimators, 2 ** depth, n_outputs)
        Mean target of each leaf.
    """

    features: list[IntArray]
    thresholds: list[Values]
    leaves: FloatArray

    def predict(self, columns: FloatArray) -> FloatArray:
        """Mean over trees, shape (n_samples, n_outputs), for columns of shape (n_features, n_samples)."""
        prediction = np.zeros((self.leaves.shape[2], columns.shape[1]))
        for rows in row_blocks(columns.shape[1]):
            for leaf_of_row, means in zip(
                self._leaf_numbers(columns[:, rows].astype(np.float32)), self.leaves, strict=True
            ):
                prediction[:, rows] += means.T.take(leaf_of_row, axis=1)
        return prediction.T / len(self.leaves)

    def _leaf_numbers(self, columns: Values) -> npt.NDArray[np.intp]:
        """Number of the leaf, by tree and row: its path from the root, a binary digit a level, 1 for right."""
        digits: list[npt.NDArray[np.bool_]] = []
        for features, thresholds in zip(self.features, self.thresholds, strict=True):
            right = columns[features] > thresholds[..., None]  # in every node of the level
            for digit in digits:
                in_left_half, in_right_half = np.split(right, 2, axis=1)
                right = (in_right_half & digit) | (in_left_half & ~digit)
            digits.append(right)
        leaf = np.zeros(digits[0][:, 0].shape, dtype=np.intp)
        for digit in digits:
            leaf = 2 * leaf + digit[:, 0]
        return leaf


def grow_forest(
    columns: Sequence[BinnedColumn],
    rows: IntArray,
    target: Target,
    *,
    n_estimators: int,
    max_depth: int,
    rng: np.random.Generator,
) -> HistogramForest:
    """Grow a random forest: one bootstrap sample a tree, every feature a candidate at every node.

    Parameters
    ----------
    columns : sequence of BinnedColumn
        The features.
    rows : array of int, shape (n_rows,)
        The rows to train on.
    target : Target
        What to predict in these rows.
    n_estimators, max_depth : int
        Number of trees, and their depth, at most `MAX_DEPTH`.
    rng : Generator
        Draws the bootstrap samples, and chooses among features that split equally well.

    Returns
    -------
    HistogramForest
    """
    data = TrainingData(columns, rows, target)
    # Deep trees and many classes are grown a few trees at a time, to bound the memory that histograms take.
    n_together = max(1, _COLUMNS // (2 ** (max_depth - 1) * target.n_channels))
    groups = [min(n_together, n_estimators - first) for first in range(0, n_estimators, n_together)]
    grown = [_grow_trees(data, n_trees, max_depth, rng) for n_trees in groups]
    return HistogramForest(
        features=[np.concatenate(level) for level in zip(*(trees.features for trees in grown), strict=True)],
        thresholds=[np.concatenate(level) for level in zip(*(trees.thresholds for trees in grown), strict=True)],
        leaves=np.concatenate([trees.leaves for trees in grown]),
    )


def _grow_trees(data: TrainingData, n_trees: int, depth: int, rng: np.random.Generator) -> HistogramForest:
    features: list[IntArray] = []
    thresholds: list[Values] = []
    counts = data.bootstrap(n_trees, rng)
    sums = data.histograms(counts)
    for level in range(depth):
        splits = best_cuts(data, sums, rng)
        nearby = rows_near_cuts(data, counts, splits)
        if nearby is not None:
            refine(data.target, splits, nearby)
        features.append(splits.features.reshape(n_trees, -1))
        thresholds.append(splits.thresholds.reshape(n_trees, -1))
        if level < depth - 1:
            goes_left = data.codes[:, splits.features] <= splits.cuts.astype(np.uint8)
            if nearby is not None:
                goes_left[nearby.rows, nearby.nodes] = nearby.values <= splits.thresholds[nearby.nodes]
            left = counts * goes_left
            left_sums = data.histograms(left)
            # A right child has what its parent has and its sibling has not.
            counts = np.stack([left, counts - left], axis=-1).reshape(len(counts), -1)
            sums = np.stack([left_sums, sums - left_sums], axis=-1).reshape(*sums.shape[:2], -1)
    children = np.stack([splits.left, splits.node - splits.left], axis=-1)
    leaves = data.target.means(children.reshape(len(children), n_trees, -1))
    return HistogramForest(features, thresholds, leaves)
