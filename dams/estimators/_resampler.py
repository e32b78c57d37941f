"""Common base of the two filters: parameters, reading of rows, and `fit_resample`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dams._columns import known_columns
from dams._sklearn import fit_context
from dams._validation import column_names
from dams.anchors import with_anchors
from dams.estimators._base import (
    NOT_GIVEN,
    compare_with_target,
    draw_streams,
    names_of,
    read_rows,
    target_or_warn,
)
from dams.missingness import delete_at_random
from dams.relative import RelativeMissingness

Array = np.ndarray


class Resampler(BaseEstimator, ABC):
    """A filter of labelled source rows, after imbalanced-learn's samplers: rows and labels go in, both come out.

    It is for training rows alone and offers no `transform`: what is predicted for must stay as the target recorded it.
    A subclass gives `_draw`.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "always_recorded": ["array-like", None],
        "column_groups": ["array-like", None],
        "anchors": ["array-like", None],
        "random_state": ["random_state", np.random.Generator],
    }

    always_recorded: Any
    column_groups: Any
    anchors: Any
    random_state: Any

    @fit_context(prefer_skip_nested_validation=True)
    def fit_resample(
        self, X: Any, y: Any, X_target: Any = NOT_GIVEN, *, groups: Any = None, groups_target: Any = None
    ) -> tuple[Any, Array]:
        """Return one draw of rows with the target's rates of loss, and their labels.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_s, d)
            Source covariates; zero means zero or missing.
        y : array of shape (n_s,) or (n_s, k)
            Source labels.
        X_target : like X, of shape (n_t, d), or None
            Target covariates, matched to X by column label if both are DataFrames. None means no shift.
        groups, groups_target : array of shape (n_s,) and (n_t,)
            Which rows belong together (a patient's), for the interval of r.

        Returns
        -------
        Rows like X, in its order (a DataFrame stays one, with its types; a sparse matrix comes back as CSR), and y.
        With anchors, `weights_` has the weight of each row: where the populations differ, fit with these.
        """
        if X_target is NOT_GIVEN:
            _refuse_target_as_labels(X, y)
        X_target = target_or_warn(X_target)
        checked, labels = read_rows(self, X, y, multi_output=True, ensure_min_samples=2)
        (rows,) = self._draws(X, checked, labels, X_target, 1, groups=groups, groups_target=groups_target)
        return rows, labels

    def _draws(
        self, X: Any, checked: Any, labels: Array, X_target: Any, n_draws: int, *, groups: Any, groups_target: Any
    ) -> list[Any]:
        """Return `n_draws` draws of the rows, or one where nothing is random; `checked` is X as `read_rows` has it."""
        names, n_features = names_of(self), checked.shape[1]
        recorded = with_anchors(self.always_recorded, self.anchors, n_features, names)
        _, together = known_columns(recorded, self.column_groups, n_features, names)
        self.relative_missingness_: RelativeMissingness | None = None
        self.rates_ = np.zeros(n_features)
        self.filled_ = np.zeros(n_features, dtype=bool)
        self.weights_: Array | None = None
        # A DataFrame stays one, so that a base estimator may select columns by name.
        rows = X if hasattr(X, "columns") else checked
        if X_target is not None:
            _, self.relative_missingness_ = compare_with_target(
                self,
                checked,
                X_target,
                always_recorded=self.always_recorded,
                column_groups=self.column_groups,
                anchors=self.anchors,
                groups=groups,
                groups_target=groups_target,
            )
            self.rates_ = self.relative_missingness_.filter_rates_at(checked)
            if self.relative_missingness_.anchored is not None:
                self.weights_ = self.relative_missingness_.weights(checked)
            self.filled_ = self._to_fill(self.relative_missingness_)
        nothing_to_do = not self.rates_.any() and not self.filled_.any()
        return self._draw(rows, checked, labels, together, 1 if nothing_to_do else n_draws)

    def _to_fill(self, relative: RelativeMissingness) -> Array:
        """Which columns get values filled in."""
        return np.zeros(len(relative.r), dtype=bool)

    def _delete(self, rows: Any, together: Array, n_draws: int) -> list[Any]:
        """Return `n_draws` copies of the rows with values deleted at `rates_`."""
        _, streams = draw_streams(self.random_state, n_draws)
        return [delete_at_random(rows, self.rates_, rng, groups=together) for rng in streams]

    @abstractmethod
    def _draw(self, rows: Any, checked: Any, labels: Array, together: Array, n_draws: int) -> list[Any]:
        """Return `n_draws` copies of the rows, each drawn anew; `together` numbers the groups of columns."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _refuse_target_as_labels(X: Any, y: Any) -> None:
    """Raise where y is a table like X: labels they are not, and the filter would do nothing."""
    widths = [getattr(table, "shape", (0,))[1:] for table in (X, y)]
    if widths[1] == () or widths[0] != widths[1]:
        return
    names = [column_names(table) for table in (X, y)]
    # Names of columns tell, where both tables have them; otherwise a single column may well be labels of rows.
    is_target = widths[1] != (1,) if None in names else names[0] == names[1]
    if is_target:
        raise ValueError(
            "y is a table with as many columns as X, and should hold labels. Give the target's rows by name: "
            "fit_resample(X_source, y_source, X_target=X_target)."
        )
