"""Trees grown level by level, all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dams.imputation._forest.binning import BinnedColumn, Codes, FloatArray, IntArray, Values
from dams.imputation._forest.histograms import TrainingData, row_blocks
from dams.imputation._forest.splits import best_cuts, refine, rows_near_cuts
from dams.imputation._forest.targets import Target

MAX_DEPTH = 8  # the work doubles with every level

# Histograms of so many nodes and channels are held at a time.
_COLUMNS = 128


@dataclass(frozen=True)
class HistogramForest:
    """A fitted forest of complete binary trees.

    A node is numbered by the turns that lead to it, 1 for right: the first turn is the lowest binary digit.

    Attributes
    ----------
    features : list over levels of arrays of shape (2 ** level, n_estimators)
        The column that each node looks at.
    thresholds : list over levels of arrays of shape (2 ** level, n_estimators)
        Values up to and including the threshold go left; infinite where a node is not split.
    leaves : array of shape (2 ** depth, n_estimators, n_outputs)
        Mean target of each leaf.
    """

    features: list[IntArray]
    thresholds: list[Values]
    leaves: FloatArray

    def predict(self, columns: FloatArray) -> FloatArray:
        """Mean over trees, shape (n_samples, n_outputs), for columns of shape (n_features, n_samples)."""
        n_estimators, n_outputs = self.leaves.shape[1:]
        prediction = np.zeros((n_outputs, columns.shape[1]))
        leaves = self.leaves.transpose(1, 2, 0)
        for rows in row_blocks(columns.shape[1]):
            numbers = self._leaf_numbers(columns[:, rows].astype(np.float32))
            for means, leaf in zip(leaves, numbers, strict=True):
                prediction[:, rows] += means.take(leaf, axis=1)
        return prediction.T / n_estimators

    def _leaf_numbers(self, columns: Values) -> Codes:
        """Number of the leaf that each tree leads each row to, shape (n_estimators, n_samples)."""
        turns: list[npt.NDArray[np.bool_]] = []
        for features, thresholds in zip(self.features, self.thresholds, strict=True):
            right = columns[features] > thresholds[..., None]  # in every node of the level
            for turn in reversed(turns):
                came_left, came_right = np.split(right, 2)
                right = (came_right & turn) | (came_left & ~turn)
            turns.append(right)
        numbers = np.zeros(turns[0].shape[1:], dtype=np.uint8)
        for level, turn in enumerate(turns):
            numbers |= turn[0].view(np.uint8) << np.uint8(level)
        return numbers


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
        Draws the bootstrap samples, and chooses among features that split equally well, rounding included.

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
        features=[np.concatenate(level, axis=1) for level in zip(*(trees.features for trees in grown), strict=True)],
        thresholds=[
            np.concatenate(level, axis=1) for level in zip(*(trees.thresholds for trees in grown), strict=True)
        ],
        leaves=np.concatenate([trees.leaves for trees in grown], axis=1),
    )


def _grow_trees(data: TrainingData, n_trees: int, depth: int, rng: np.random.Generator) -> HistogramForest:
    features: list[IntArray] = []
    thresholds: list[Values] = []
    counts = data.bootstrap(n_trees, rng)
    sums = data.sums_up_to(counts)
    for level in range(depth):
        splits = best_cuts(data, sums, counts, rng)
        nearby = rows_near_cuts(data, counts, splits)
        if nearby is not None:
            refine(data.target, splits, nearby)
        features.append(splits.features.reshape(-1, n_trees))
        thresholds.append(splits.thresholds.reshape(-1, n_trees))
        if level < depth - 1:
            goes_left = data.codes[:, splits.features] <= splits.cuts.astype(np.uint8)
            if nearby is not None:
                goes_left[nearby.rows, nearby.nodes] = nearby.values <= splits.thresholds[nearby.nodes]
            left = counts * goes_left
            left_sums = data.sums_up_to(left)
            # A right child has what its parent has and its sibling has not.
            counts = np.hstack([left, counts - left])
            sums = np.concatenate([left_sums, sums - left_sums], axis=-1)
    children = np.concatenate([splits.left, splits.node - splits.left], axis=-1)
    leaves = data.target.means(children.reshape(len(children), -1, n_trees))
    return HistogramForest(features, thresholds, leaves)
