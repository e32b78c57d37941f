"""Which of several columns scikit-learn takes where they split a node equally well.

Its search adds up the target in the order of each column's values. Sums of the same rows in another order differ by
rounding, and the column that this favours is taken. Where many rows share a target the errors add up instead of
cancelling: one column is favoured in most trees of a forest, and another if the target is measured in another unit.
"""

import numpy as np

from dams.imputation._forest.binning import SAME, Codes, FloatArray, IntArray
from dams.imputation._forest.histograms import TrainingData


def rounded_scores(
    data: TrainingData, values: FloatArray, counts: Codes, features: IntArray, cuts: IntArray
) -> list[float]:
    """Score splits of one node as scikit-learn does: s² / n of both sides, summed.

    Parameters
    ----------
    data : TrainingData
    values : array of shape (n_rows,)
        The target.
    counts : array of shape (n_rows,)
        How often the node holds each row.
    features, cuts : arrays of the same length
        The columns to compare, and the last bin on the left of each.

    Returns
    -------
    list of float
    """
    is_held = counts != 0
    terms = counts * values
    n, total = int(counts.sum()), _add_up(terms)
    scores = []
    for feature, cut in zip(features, cuts, strict=True):
        rows, ordered = data.sorted_rows(feature)
        held = np.flatnonzero(is_held.take(rows))
        rows, ordered = rows.take(held), ordered.take(held)
        n_left = int(ordered.searchsorted(data.columns[feature].highest[cut], side="right"))
        stops = np.flatnonzero(ordered[1 : n_left + 1] > ordered[:n_left] + SAME) + 1
        left, count = _sum_up_to(stops, terms.take(rows), total), int(counts.take(rows[:n_left]).sum())
        scores.append(left * left / count + (total - left) * (total - left) / (n - count))
    return scores


def _sum_up_to(stops: IntArray, terms: FloatArray, total: float) -> float:
    """Sum up to the last of the places where the search stops, with the rounding errors of its way there.

    From one place to the next it adds what lies between. Where that is more than what lies behind the next place, it
    begins anew with the total, and subtracts.
    """
    lengths = stops.copy()
    lengths[1:] -= stops[:-1]
    anew = np.flatnonzero(lengths > len(terms) - stops)
    if not len(anew):
        return _add_up(terms[: stops[-1]])
    start = stops[anew[-1]]
    return _add_up(np.concatenate([[total], -terms[: start - 1 : -1], terms[start : stops[-1]]]))


def _add_up(terms: FloatArray) -> float:
    """Add one after the other; `sum` groups them, and rounds less."""
    return float(terms.cumsum()[-1])
