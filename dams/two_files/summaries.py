"""Rows that may not travel: summaries of two tables as JSON files, and the linear model adapted from them.

A summary holds the counts and moments of ten folds of the rows, a few d × d matrices, and neither a row nor an id. It
is all that `ClosedFormRegressor` needs, the choice of `stabilise` included, so that two of them give the fit on the
rows. `dams.two_files.small_cells` says which counts of few rows are not disclosed, and what that costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dams._columns import resolve_columns, resolve_groups
from dams._files import write_json
from dams._validation import check_covariates, refuse_text_labels
from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.folds import N_FOLDS, Columns, FoldedMoments, assign_folds, split_folds
from dams.estimators.summary import Summary
from dams.two_files.fold_json import from_json, read_numbers, to_json
from dams.two_files.one_hot import complete_one_hot
from dams.two_files.preparing import refuse_no_frame
from dams.two_files.small_cells import Cells, hide_small_cells, hide_small_counts

FORMAT, VERSION = "dams summary", 1
SMALLEST_CELL = 10

Array = np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class TableSummary:
    """Result of `summarise`: a `Summary`, and what goes with it into a file.

    Attributes
    ----------
    summary : Summary
        Counts and moments by fold.
    label : str or None
        Name of the label; None of a table without labels.
    always_recorded : tuple of str
        Columns that are never lost.
    column_groups : tuple of tuples of str
        Columns that are lost together.
    left_out : tuple of str
        Columns with fewer than `smallest_cell` rows that are not zero; of 0/1 columns, or that are.
    pairs_changed : int
        Pairs of columns whose joint cells are small, in all rows or in a fold.
    smallest_cell : int
        Fewest rows that a count may be of.
    encoding : mapping
        Levels of each column of text, as `dams.two_files.reading` makes 0/1 columns of them, `column=level`.
    never_lost : tuple of tuples of str
        Sets of 0/1 columns of which every row has exactly one, such as the levels of a column of text without an empty
        field. What is so in both tables counts as always recorded.
    """

    summary: Summary
    label: str | None
    always_recorded: tuple[str, ...] = ()
    column_groups: tuple[tuple[str, ...], ...] = ()
    left_out: tuple[str, ...] = ()
    pairs_changed: int = 0
    smallest_cell: int = SMALLEST_CELL
    encoding: Mapping[str, Sequence[str]] = field(default_factory=dict)
    never_lost: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self.summary.feature_names or []]

    def __str__(self) -> str:
        labels = f" with label {self.label!r}" if self.label else ""
        text = f"Summary of {self.summary.n:,} rows of {self.summary.n_features} columns{labels}."
        if self.left_out:
            text += f" Left out, as fewer than {self.smallest_cell} rows tell of them: {', '.join(self.left_out)}."
        if self.pairs_changed:
            text += (
                f" {self.pairs_changed:,} pairs of columns with cells of fewer than {self.smallest_cell} rows, in all "
                "or in a fold, are reported without them."
            )
        return text

    __repr__ = __str__

    def write(self, path: str | Path) -> None:
        """Write a JSON file, which `read_summary` reads: a few numbers per pair of columns and fold, and no row."""
        folded = self.summary._folded
        content = {
            "format": FORMAT,
            "version": VERSION,
            "rows": self.summary.n,
            "columns": self.columns,
            "label": self.label,
            "always_recorded": self.always_recorded,
            "column_groups": self.column_groups,
            "encoding": {name: list(levels) for name, levels in self.encoding.items()},
            "never_lost": self.never_lost,
            "smallest_cell": self.smallest_cell,
            "left_out": self.left_out,
            "pairs_changed": self.pairs_changed,
            "nonzeros": self.summary._nonzeros.tolist(),
            "folds": [to_json(part, counts) for part, counts in zip(folded.parts, folded.counts, strict=True)],
        }
        write_json(content, path, indent=None)


def summarise(
    X: pd.DataFrame,
    y: Any = None,
    *,
    label: str = "y",
    always_recorded: Sequence[str] = (),
    column_groups: Iterable[Sequence[str]] = (),
    groups: Any = None,
    smallest_cell: int = SMALLEST_CELL,
    encoding: Mapping[str, Sequence[str]] | None = None,
) -> TableSummary:
    """Summarise a table so that a linear model can be adapted without its rows.

    Parameters
    ----------
    X : DataFrame of shape (n, d)
        Covariates; zero means zero or missing. Both tables need the same columns.
    y : array of shape (n,), or None
        Labels, of the source.
    label : str
        What the label is called.
    always_recorded : names of columns
        Columns that neither place ever loses.
    column_groups : lists of names of columns
        Columns that are lost together.
    groups : array of shape (n,), or None
        Ids of rows that belong together, such as those of one patient: they are held out together when a choice is
        made. Ids are not kept.
    smallest_cell : int
        Counts of 1 to smallest_cell − 1 rows are not disclosed (`dams.two_files.small_cells`); 1 discloses all.
    encoding : mapping of column and levels
        Columns of text, which are 0/1 columns `column=level` in X (`dams.two_files.reading.read_one`). Levels are lost
        together, or never where neither table has an empty field.

    Returns
    -------
    TableSummary
        Prints what was left out; `write` makes a file of it.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dams import ClosedFormRegressor, apply_missingness
    >>> from dams.two_files import fit_from_summaries, summarise
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(2, 1, (8_000, 2)), columns=["a", "b"])
    >>> y = X.to_numpy() @ [1.0, 2.0]
    >>> source = apply_missingness(X[:4_000], [0.1, 0.5], random_state=1)
    >>> target = apply_missingness(X[4_000:], [0.5, 0.1], random_state=2)
    >>> by_summaries = fit_from_summaries(summarise(source, y[:4_000]), summarise(target))
    >>> by_rows = ClosedFormRegressor().fit(source, y[:4_000], X_target=target)
    >>> bool(np.allclose(by_summaries.coef_, by_rows.coef_, rtol=1e-8))
    True
    """
    if not isinstance(smallest_cell, int) or smallest_cell < 1:
        raise ValueError(f"smallest_cell must be a whole number of at least 1, got {smallest_cell!r}.")
    refuse_no_frame(X, name="X")
    names = list(X.columns)
    rows = check_covariates(X, name="X")
    refuse_text_labels(y)
    labels = None if y is None else np.asarray(y, dtype=float)
    if labels is not None and np.isnan(labels).any():
        raise ValueError(f"Label {label!r} is NaN in {np.isnan(labels).sum():,} rows: leave these rows out of X and y.")
    resolve_groups(column_groups, len(names), names)
    always = resolve_columns(always_recorded, len(names), names, parameter="always_recorded")
    folds = split_folds(np.zeros(len(rows), dtype=np.intp), 1)
    few = Cells.of(rows, labels, folds, always).few_rows(smallest_cell)
    if few[-1]:
        raise ValueError(
            f"label {label!r} has one of its two values in fewer than {smallest_cell} rows, too few to disclose: give "
            "more rows, or lower --smallest-cell (smallest_cell)."
        )
    encoding = {} if encoding is None else encoding
    levels = {name: [f"{name}={level}" for level in encoding[name]] for name in encoding}
    kept = np.flatnonzero(~few[:-1])
    if not kept.size:
        raise ValueError(
            f"Every column has a cell of fewer than {smallest_cell} rows: give more rows, or lower --smallest-cell."
        )
    columns = [names[j] for j in kept]
    lost = {name for group in column_groups for name in group}
    of_text = [group for group in levels.values() if not {*lost, *always_recorded} & {*group}]
    together = [[name for name in group if name in columns] for group in [*column_groups, *of_text]]
    together = [group for group in together if len(group) > 1]
    table = pd.DataFrame(rows[:, kept], columns=columns)
    whole = Summary.of(table, labels, groups=groups, column_groups=together)
    of_folds = split_folds(
        assign_folds(rows[:, kept], None if labels is None else labels[:, None], groups=groups), N_FOLDS
    )
    if smallest_cell > 1 and min(map(len, of_folds)) < smallest_cell:
        raise ValueError(
            f"{len(rows)} rows leave folds of fewer than {smallest_cell}, whose moments must not be disclosed: give at "
            f"least {20 * smallest_cell} rows, or lower --smallest-cell (smallest_cell)."
        )
    cells = Cells.of(rows[:, kept], labels, of_folds, always[kept])
    lowest = 0.0 if labels is None else float(labels.min())
    folded, pairs = hide_small_cells(whole._folded, cells, smallest_cell, lowest=lowest)
    (nonzeros,) = hide_small_counts(whole._nonzeros[None], np.array([len(rows)]), smallest_cell)
    return TableSummary(
        # Counts by id would tell of single patients.
        replace(whole, _folded=folded, _nonzeros=nonzeros, _groups=None),
        None if labels is None else label,
        tuple(columns[j] for j in np.flatnonzero(always[kept])),
        tuple(map(tuple, together)),
        tuple(names[j] for j in np.flatnonzero(few[:-1])),
        pairs,
        smallest_cell,
        encoding,
        tuple(tuple(made) for made in _complete_sets(table, list(levels.values()), lost)),
    )


def fit_from_summaries(source: TableSummary, target: TableSummary) -> ClosedFormRegressor:
    """Fit the adapted linear model that `ClosedFormRegressor().fit` gives on the rows of both tables.

    It is the same to 1e-8, except for what small cells hide. Columns that one summary leaves out are left out.

    Parameters
    ----------
    source, target : TableSummary
        Of the same columns, in any order, that of the source with labels.
    """
    if source.label is None:
        raise ValueError("The first summary has no labels: summarise the source with its label (y).")
    shared = _shared_columns(source, target)
    if source.pairs_changed or target.pairs_changed:
        # One level of a set follows from the others, and moments without small cells no longer say so: a matrix that is
        # singular for that reason would not even be that.
        shared = [name for name in shared if name not in {names[-1] for names in _never_lost(source, target)}]
    always, together = _agree(source, target, shared)
    here, there = (_select(one, shared, together) for one in (source, target))
    model = ClosedFormRegressor(always_recorded=always, column_groups=together)
    return model.fit_summaries(here, there)


def _complete_sets(X: pd.DataFrame, levels: list[list[str]], lost: set[str]) -> list[list[str]]:
    """Return the sets of 0/1 columns of which every row has one, those of columns of text first."""
    columns = {*X.columns}
    found = [made for made in levels if {*made} <= columns and not lost & {*made} and (X[made].sum(axis=1) == 1).all()]
    known = {*lost, *(name for made in levels for name in made)}
    return found + complete_one_hot(X, X, [name for name in X.columns if name not in known])


def _never_lost(source: TableSummary, target: TableSummary) -> list[tuple[str, ...]]:
    return [names for names in source.never_lost if {*names} in [{*others} for others in target.never_lost]]


def _shared_columns(source: TableSummary, target: TableSummary) -> list[str]:
    """Columns of both, in the source's order; raise where one has a column that the other never had."""
    for one, other, place in ((source, target, "target"), (target, source, "source")):
        # A level of a category that one table never shows is no column there.
        levels = {f"{name}={level}" for name in other.encoding for level in one.encoding.get(name, ())}
        unknown = set(one.columns) - set(other.columns) - set(other.left_out) - levels
        if unknown:
            raise ValueError(
                f"The {place}'s summary has no column {', '.join(map(repr, sorted(unknown)[:5]))}, which the other "
                "has: summarise the same columns of both tables, with the same names."
            )
    shared = [name for name in source.columns if name in set(target.columns)]
    if not shared:
        raise ValueError(
            "The summaries share no column whose counts are disclosed: lower --smallest-cell, or give more rows."
        )
    return shared


def _agree(source: TableSummary, target: TableSummary, shared: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return what is known of the shared columns; raise where the summaries were made with different knowledge."""
    registered = {name for names in _never_lost(source, target) for name in names} & {*shared}
    always = [[name for name in shared if name in one.always_recorded] for one in (source, target)]
    groups = [
        sorted(sorted(kept) for group in one.column_groups if len(kept := [n for n in group if n in shared]) > 1)
        for one in (source, target)
    ]
    for what, (here, there) in (("always_recorded", always), ("column_groups", groups)):
        if here != there:
            raise ValueError(
                f"The summaries were made with different {what}: {here} and {there}. Summarise both tables with the "
                f"same --{what.replace('_', '-').removesuffix('s')}."
            )
    return [*always[0], *sorted(registered - {*always[0]})], [group for group in groups[0] if not registered & {*group}]


def _select(one: TableSummary, names: list[str], groups: list[list[str]]) -> Summary:
    """Return the summary of some columns, in the order given, of which `groups` are lost together."""
    summary = one.summary
    chosen = np.array([one.columns.index(name) for name in names])
    block = np.ix_(chosen, chosen)
    parts = tuple(
        replace(
            part,
            mean=part.mean[chosen],
            covariance=part.covariance[block],
            label_covariance=None if part.label_covariance is None else part.label_covariance[chosen],
        )
        for part in summary._folded.parts
    )
    unit = resolve_groups(groups, len(names), names)
    known = Columns(groups=None if unit.max() + 1 == len(unit) else unit)
    folded = replace(summary._folded, parts=parts, counts=summary._folded.counts[:, chosen], columns=known)
    return replace(summary, _folded=folded, _nonzeros=summary._nonzeros[chosen], _unit=unit, feature_names=names)


def read_summary(path: str | Path) -> TableSummary:
    """Read a file that `TableSummary.write` wrote; raise a ValueError that names the file where it is another."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no summary: it is not JSON ({error}). Make it with `dams summarise`.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is no summary: make it with `dams summarise`.")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path} is a summary of version {content.get('version')!r}, and this dams reads version {VERSION}: make "
            "it anew with the same dams on both sides."
        )
    try:
        return _from_json(content)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is damaged: {what}. Make it anew with `dams summarise`.") from None


def _from_json(content: dict[str, Any]) -> TableSummary:
    names = [str(name) for name in content["columns"]]
    d, label = len(names), content["label"]
    if len(set(names)) < d or not d:
        raise ValueError("columns must be different names, at least one")
    folds = content["folds"]
    if len(folds) != N_FOLDS:
        raise ValueError(f"folds must be {N_FOLDS}, got {len(folds)}")
    groups = tuple(tuple(map(str, group)) for group in content["column_groups"])
    unit = resolve_groups(groups, d, names)
    parts = tuple(from_json(fold, d, labelled=label is not None) for fold in folds)
    counts = np.stack([read_numbers(fold, "counts", (d,)) for fold in folds])
    nonzeros = read_numbers(content, "nonzeros", (d,))
    n = sum(part.n for part in parts)
    if n != content["rows"]:
        raise ValueError(f"rows is {content['rows']}, but the folds have {n}")
    every = np.vstack([counts, counts.sum(axis=0), nonzeros])
    if (every < 0).any() or (every > n * (1 + 1e-9)).any():
        raise ValueError("counts must lie between 0 and the rows")
    known = Columns(groups=None if unit.max() + 1 == d else unit)
    summary = Summary(FoldedMoments(parts, counts, known), nonzeros, unit, None, label is not None, names)
    lists = {name: tuple(map(str, content[name])) for name in ("always_recorded", "left_out")}
    if unknown := set(lists["always_recorded"]) - set(names):
        raise ValueError(f"always_recorded names {sorted(unknown)[0]!r}, which is no column")
    return TableSummary(
        summary,
        None if label is None else str(label),
        column_groups=groups,
        never_lost=tuple(tuple(map(str, made)) for made in content["never_lost"]),
        pairs_changed=int(content["pairs_changed"]),
        smallest_cell=int(content["smallest_cell"]),
        encoding={str(name): tuple(map(str, levels)) for name, levels in dict(content["encoding"]).items()},
        **lists,
    )
