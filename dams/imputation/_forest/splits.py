"""The search for each node's best split: first among the bins, then among the values in the two bins that meet there.

The criterion is the variance reduction of the target, summed over its outputs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dams.imputation._forest.binning import MAX_BINS, Codes, FloatArray, IntArray, Values
from dams.imputation._forest.histograms import TrainingData
from dams.imputation._forest.rounding import rounded_scores
from dams.imputation._forest.targets import Target

# The score of a cut that leaves one side empty; a real one is never negative.
_INVALID = -1.0

# Rounding errors of fewer terms are taken for random.
_MANY = 100


@dataclass
class Splits:
    """Splits of all nodes of a level; arrays end in an axis over nodes.

    Attributes
    ----------
    scores : array
        Negative where a node is not split: all its rows go left.
    features : array of int
    cuts, next_bins : arrays of int
        The last bin on the left, and the first on the right, that hold rows of the node.
    thresholds : array
        Values up to and including the threshold go left.
    node, left : arrays of shape (n_channels, n_nodes)
        Sums of the target in the node and in its left child.
    """

    scores: FloatArray
    features: IntArray
    cuts: IntArray
    next_bins: IntArray
    thresholds: Values
    node: FloatArray
    left: FloatArray


def best_cuts(data: TrainingData, sums_up_to: FloatArray, counts: Codes, rng: np.random.Generator) -> Splits:
    """Find the best cut between bins for each node, given its histograms.

    `counts` has shape (n_rows, n_nodes): how often the node holds the row.
    """
    node = sums_up_to[data.bins_of[0].stop - 1]  # the same for every feature
    below = [sums_up_to[bins][:-1].swapaxes(0, 1) for bins in data.bins_of]
    n_nodes = node.shape[1]
    places = np.zeros((len(below), n_nodes), dtype=np.intp)
    scores = np.full((len(below), n_nodes), _INVALID)
    for feature, left in enumerate(below):
        if left.shape[1]:
            candidates = _between_squares(data.target, left, node)
            places[feature] = candidates.argmax(axis=0)
            scores[feature] = candidates[places[feature], np.arange(n_nodes)]
    best = scores.max(axis=0)
    # Columns that split off the same rows tie, often where one value is extreme. Which of them is taken matters: they
    # lead other rows to different sides. scikit-learn's rounding decides, and where that ties too, chance.
    ties = scores == best
    if data.target.values is not None:
        in_doubt = (ties.sum(axis=0) > 1) & (best > 0) & (data.target.counts(node) >= _MANY)
        for number in np.flatnonzero(in_doubt):
            tied = np.flatnonzero(ties[:, number])
            held = np.ascontiguousarray(counts[:, number])
            rounded = rounded_scores(data, data.target.values, held, tied, places[tied, number])
            if np.isfinite(rounded).all():
                ties[tied, number] = np.equal(rounded, max(rounded))
    features = np.where(ties, rng.random(ties.shape), -1).argmax(axis=0)
    splits = Splits(
        scores=best,
        features=features,
        cuts=np.full(n_nodes, MAX_BINS),
        next_bins=np.full(n_nodes, MAX_BINS),
        thresholds=np.full(n_nodes, np.inf, dtype=np.float32),
        node=node,
        left=node.copy(),
    )
    for feature, column in enumerate(data.columns):
        nodes = np.flatnonzero((features == feature) & (best >= 0))
        cuts = places[feature, nodes]
        n_below = data.target.counts(below[feature][:, :, nodes])
        # Between the last bin on the left and the first on the right may lie bins that hold none of the node's rows.
        next_bins = (n_below <= n_below[cuts, np.arange(len(nodes))]).sum(axis=0)
        splits.cuts[nodes] = cuts
        splits.next_bins[nodes] = next_bins
        splits.thresholds[nodes] = _middle(column.highest[cuts], column.lowest[next_bins])
        splits.left[:, nodes] = below[feature][:, cuts, nodes]
    return splits


def _between_squares(target: Target, left: FloatArray, node: FloatArray) -> FloatArray:
    """Squares between the two sides of cuts, up to a factor of the node; `_INVALID` where one side is empty.

    With N and S the node's count and total, n and s those on the left: Σ_outputs (N s − n S)² / (n (N − n)).
    Both arrays have the channels first.
    """
    counts, deviations = target.deviations(left, node)
    for deviation in deviations:
        deviation *= deviation
    scores = sum(deviations[1:], start=deviations[0])
    weights = target.counts(node) - counts
    weights *= counts
    one_sided = weights == 0
    weights[one_sided] = 1
    scores /= weights
    scores[one_sided] = _INVALID
    return scores


def _middle(low: Values, high: Values) -> Values:
    """Halfway from low to high; low where the two are neighbouring floats."""
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


@dataclass(frozen=True)
class Nearby:
    """Rows of nodes in the bins on both sides of their cuts; sorted by node, then by value.

    A bin with a single value is there with one of its rows, held zero times.
    """

    rows: IntArray
    nodes: IntArray
    values: Values
    counts: FloatArray
    goes_left: npt.NDArray[np.bool_]


def rows_near_cuts(data: TrainingData, counts: Codes, splits: Splits) -> Nearby | None:
    """Find the rows that a split inside a bin could move; None if no cut is next to a bin with several values.

    `counts` has shape (n_rows, n_nodes): how often the node holds the row.
    """
    bins = np.stack([splits.cuts, splits.next_bins], axis=1)
    mixed = np.zeros(bins.shape, dtype=bool)
    split = splits.scores >= 0
    mixed[split] = data.is_mixed[data.first_bin[splits.features[split], None] + bins[split]]
    node = np.flatnonzero(mixed.any(axis=1)).repeat(2)
    if not len(node):
        return None
    side = np.tile([0, 1], len(node) // 2)
    columns = [data.columns[feature] for feature in splits.features[node]]
    members = [
        column.members(number) if several else slice(column.starts[number], column.starts[number] + 1)
        for column, number, several in zip(columns, bins[node, side], mixed[node, side], strict=True)
    ]
    rows = np.concatenate([column.order[member] for column, member in zip(columns, members, strict=True)])
    values = np.concatenate([column.ordered[member] for column, member in zip(columns, members, strict=True)])
    lengths = [member.stop - member.start for member in members]
    nodes, sides, several = (np.repeat(of_bin, lengths) for of_bin in (node, side, mixed[node, side]))
    rows = data.position[rows]
    held = np.where(several & (rows >= 0), counts[rows, nodes], 0.0)
    keep = (held > 0) | ~several
    return Nearby(rows[keep], nodes[keep], values[keep], held[keep], sides[keep] == 0)


def refine(target: Target, splits: Splits, nearby: Nearby) -> None:
    """Move each split to the best place inside the two bins that meet at it, in place.

    Bins hide what is in them: the few largest values of a long tail, or a recorded value among imputed ones. Only the
    rows in these two bins are looked at, a small part of all.
    """
    nodes, values = nearby.nodes, nearby.values
    starts = np.flatnonzero(np.diff(nodes, prepend=-1))
    lengths = np.diff(starts, append=len(nodes))
    sums = np.zeros((target.n_channels, len(nodes)))
    sums[target.channels[nearby.rows], np.arange(len(nodes))] = nearby.counts * target.amounts[nearby.rows]
    # Further left lies all that goes left already, less what does so in the two bins.
    further_left = splits.left[:, nodes[starts]] - np.add.reduceat(sums * nearby.goes_left, starts, axis=1)
    running = sums.cumsum(axis=1)
    left = running + np.repeat(further_left - running[:, starts] + sums[:, starts], lengths, axis=1)

    scores = _between_squares(target, left, splits.node[:, nodes])
    scores[:-1][(nodes[1:] != nodes[:-1]) | (values[1:] == values[:-1])] = _INVALID
    scores[-1] = _INVALID
    best = np.repeat(np.maximum.reduceat(scores, starts), lengths)
    places = np.flatnonzero((scores == best) & (scores >= 0))
    places = places[np.diff(nodes[places], prepend=-1) > 0]  # the first of equals
    improved = nodes[places]
    splits.scores[improved] = scores[places]
    splits.thresholds[improved] = _middle(values[places], values[places + 1])
    splits.left[:, improved] = left[:, places]
