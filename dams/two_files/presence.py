"""How much of each column source and target show by the values of the anchors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dams.relative import RelativeMissingness
from dams.two_files.reading import Pair

Array = np.ndarray
# An anchor of more values is cut into bins with as many rows each.
MOST_VALUES, BINS = 10, 5
# Rows, evenly spread, at which r(s) is looked at.
ROWS = 20_000


def presence_by_anchor(
    pair: Pair, relative: RelativeMissingness, parts: Mapping[str, Sequence[int]], anchors: Sequence[str]
) -> pd.DataFrame:
    """Return one row per anchor, level of it and column that may be lost.

    Parameters
    ----------
    relative : RelativeMissingness
        An estimate given the anchors.
    parts : dict
        Positions in the tables of each column that may be lost.
    anchors : names of columns before encoding

    Returns
    -------
    DataFrame with columns anchor, level, column, rows_source, rows_target, source_has, target_has (shares of rows), and
    r with an interval at the estimate's level: the smooth r(s), averaged over the source rows of the level.
    """
    X = pair.X_source.to_numpy(), pair.X_target.to_numpy()
    step = -(-len(X[0]) // ROWS)
    some = pair.X_source.iloc[::step]
    r, errors = relative.at(some), relative.standard_errors_at(some)
    width = float(ndtri((1 + relative.confidence) / 2))
    shown = [np.column_stack([(x[:, places] != 0).any(axis=1) for places in parts.values()]) for x in X]
    firsts = [places[0] for places in parts.values()]
    rows = []
    for anchor in anchors:
        for level, masks in _levels(pair, anchor):
            near = masks[0][::step]
            if not near.any() or not masks[1].any():
                continue
            shares = [part[mask].mean(axis=0) for part, mask in zip(shown, masks, strict=True)]
            mean, error = (table[near][:, firsts].mean(axis=0) for table in (r, errors))
            for k, column in enumerate(parts):
                rows.append(
                    {
                        "anchor": anchor,
                        "level": level,
                        "column": column,
                        "rows_source": int(masks[0].sum()),
                        "rows_target": int(masks[1].sum()),
                        "source_has": shares[0][k],
                        "target_has": shares[1][k],
                        "r": mean[k],
                        "lower": mean[k] - width * error[k],
                        "upper": mean[k] + width * error[k],
                    }
                )
    return pd.DataFrame(rows)


def most_varying(presence: pd.DataFrame, most: int) -> list[str]:
    """Return the columns whose r varies most over the levels of any anchor, the first `most` of them."""
    by_anchor = presence.groupby(["anchor", "column"], sort=False)["r"].agg(lambda r: r.max() - r.min())
    return list(by_anchor.groupby("column").max().sort_values(ascending=False, kind="stable").index[:most])


def _levels(pair: Pair, anchor: str) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Levels of an anchor in words, with the rows of both tables that have them."""
    if anchor in pair.encoding:
        for level in pair.encoding[anchor]:
            name = f"{anchor}={level}"
            yield level, (pair.X_source[name].to_numpy() == 1, pair.X_target[name].to_numpy() == 1)
        return
    values = pair.X_source[anchor].to_numpy(), pair.X_target[anchor].to_numpy()
    both = np.concatenate(values)
    distinct = np.unique(both)
    if len(distinct) <= MOST_VALUES:
        for value in distinct:
            yield f"{value:g}", (values[0] == value, values[1] == value)
        return
    edges = np.unique(np.quantile(both, np.linspace(0, 1, BINS + 1)))
    for low, high in pairwise(edges):
        last = high == edges[-1]
        rows = [(v >= low) & ((v <= high) if last else (v < high)) for v in values]
        yield f"{low:.4g} to {high:.4g}", (rows[0], rows[1])
