"""Standard errors and intervals of the closed form's coefficients and predictions.

The coefficients β solve M β = c, in which a column of ones with r = 0 stands for the intercept:

    c = ρ ⊙ E_s[X̃ Y],    M = a · moved(E_s[X̃ X̃ᵀ]) + (1 − a) E_t[X̃ X̃ᵀ],    ρ = 1 − r = q^t/q^s,

moved(·) the map of `dams.moments.move_gram` and a the weight of the moved source ("pooled": n_s/(n_s + n_t)). It is a
smooth function of means over source rows (X̃Y, X̃X̃ᵀ and presences) and of means over target rows (X̃X̃ᵀ and presences). So
β̂ − β is to first order a mean of influences over the rows of each domain, φ = M⁻¹(ψ − E[ψ]) with b_j = [X̃_j ≠ 0] and

    ψ_s(x, y) = ρ ⊙ x y − a · moved(x xᵀ) β − Σ_j g_j ρ_j b_j/q^s_j,    ψ_t(x) = −(1 − a) x xᵀβ + Σ_j g_j ρ_j b_j/q^t_j,

g_j = ∂(c − Mβ)/∂ρ_j, a vector: its entry j is E_s[X̃_j Y] − a Σ_k ρ_k E_s[X̃_j X̃_k] β_k, with 1 in place of ρ_j for
k = j, and its entry i ≠ j is −a ρ_i E_s[X̃_i X̃_j] β_j. Then Cov(β̂) = Cov(φ_s)/n_s + Cov(φ_t)/n_t: White's sandwich of
least squares, with the errors of r̂ and of the target's matrix added. Rows that belong together enter by the sums of
their group; columns that are lost together share b, q and ρ. A row x has the expected label xᵀβ, with variance
xᵀCov(β̂)x.

This is for the formula as it is (`ClosedFormRegressor(stabilise=False)`). What `stabilise` chooses is shrunken where M
is nearly singular, and chosen by looking at the data: no interval around it has a known level. Where `choice_` is
"adjusted" with `ridge_` 0, both estimate the same coefficients. docs/uncertainty.md has what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import stdtrit
from sklearn.utils import check_array, check_consistent_length

from dams._columns import known_columns
from dams._results import Result, as_html
from dams._rows import correct_for_mean, effective_number, resolve_both
from dams._validation import check_confidence, check_matched, check_pair, refuse_text_labels
from dams.anchors import refuse_anchors
from dams.least_squares import solve_symmetric, spectrum
from dams.moments import move_gram
from dams.relative import from_tables

Array = np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class ClosedFormInference(Result):
    """Coefficients of the closed form with their covariance; `infer_closed_form` makes it.

    Attributes
    ----------
    coef : array of shape (d,)
        Coefficients.
    intercept : float
        Intercept, 0 if none is fitted.
    covariance : array of shape (d + 1, d + 1)
        Of the coefficients and, last, the intercept; zero for an intercept that is not fitted.
    degrees : float
        Degrees of freedom of Student's t: independent rows of the smaller domain, or groups of rows of one size that
        would tell as much, minus one.
    feature_names : list or None
        Names of the source's columns, if it is a DataFrame.

    See Also
    --------
    infer_closed_form : Makes it.
    """

    coef: Array
    intercept: float
    covariance: Array
    degrees: float
    n_source: int
    n_target: int
    feature_names: list[Any] | None = None

    @property
    def standard_errors(self) -> Array:
        """Of the coefficients and, last, the intercept, (d + 1,)."""
        return np.sqrt(np.diagonal(self.covariance))

    def intervals(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return one row per coefficient, the intercept last: estimate, standard_error, lower, upper."""
        names = self.feature_names if self.feature_names is not None else list(range(len(self.coef)))
        estimate = np.append(self.coef, self.intercept)
        index = pd.Index([*names, "intercept"], name="feature", tupleize_cols=False)
        return self._table(estimate, self.standard_errors, confidence).set_index(index)

    def mean_predictions(self, X: Any, confidence: float = 0.95) -> pd.DataFrame:
        """Return the expected label of every target row, xᵀβ, with its interval: that of the mean, not of a label."""
        rows = check_matched(X, self.feature_names, len(self.coef), name="X")
        rows = rows.toarray() if sparse.issparse(rows) else rows
        design = np.column_stack([rows, np.ones(len(rows))])
        error = np.sqrt(np.maximum(np.einsum("nd,nd->n", design @ self.covariance, design), 0))
        return self._table(design @ np.append(self.coef, self.intercept), error, confidence)

    def _table(self, estimate: Array, error: Array, confidence: float) -> pd.DataFrame:
        check_confidence(confidence)
        spread = stdtrit(self.degrees, (1 + confidence) / 2) * error
        return pd.DataFrame(
            {"estimate": estimate, "standard_error": error, "lower": estimate - spread, "upper": estimate + spread}
        )

    def to_frame(self) -> pd.DataFrame:
        """Return `intervals` at level .95."""
        return self.intervals()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentence and the intervals."""
        return as_html(str(self), self.to_frame())

    def __str__(self) -> str:
        table = self.intervals()
        clear = table[(table["lower"] > 0) | (table["upper"] < 0)].drop(index="intercept", errors="ignore")
        return (
            f"Closed form of {len(self.coef)} columns from {self.n_source:,} source and {self.n_target:,} target rows; "
            f"{len(clear)} coefficients differ from zero at the 95 % level, each on its own."
        )

    __repr__ = __str__


def infer_closed_form(
    X_source: Any,
    y_source: Any,
    X_target: Any,
    *,
    gram: str = "pooled",
    fit_intercept: bool = True,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
) -> ClosedFormInference:
    """Estimate the closed form and the covariance of its coefficients, both domains' sampling and r̂ included.

    A function beside `ClosedFormRegressor`, not a method of it: the theory is of the formula as printed, and needs the
    rows, which the estimator does not keep.

    Parameters
    ----------
    X_source : array, DataFrame or sparse matrix of shape (n_s, d)
        Source covariates, zero meaning missing or zero.
    y_source : array of shape (n_s,)
        Source labels.
    X_target : like X_source, of shape (n_t, d)
        Target covariates, matched by column name if both are DataFrames.
    gram, fit_intercept, always_recorded, column_groups
        As in `ClosedFormRegressor`, except that "pooled" stays so where what is always recorded differs.
    anchors : None
        Refused: there are no intervals yet for coefficients where loss depends on anchors. `target_risk` has some for
        the risk.
    groups, groups_target : one id per row, or None
        Rows that belong together, such as several of one patient. None: every row stands alone.

    Returns
    -------
    ClosedFormInference
        Coefficients, their covariance, and intervals.

    Raises
    ------
    ValueError
        Where M is singular, so that coefficients are not determined.

    See Also
    --------
    ClosedFormRegressor : The estimator, kept stable.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import apply_missingness, infer_closed_form
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4_000, 2)) + 1
    >>> y = X @ [1.0, 0.0]
    >>> source = apply_missingness(X[:2_000], [0.1, 0.5], random_state=1)
    >>> target = apply_missingness(X[2_000:], [0.5, 0.1], random_state=2)
    >>> found = infer_closed_form(source, y[:2_000], target)
    >>> found.intervals()[["lower", "upper"]].round(2).to_numpy().tolist()
    [[0.59, 0.69], [-0.08, 0.06], [0.59, 0.74]]
    """
    if gram not in ("pooled", "target", "source"):
        raise ValueError(f"gram must be 'pooled', 'target' or 'source', got {gram!r}.")
    refuse_text_labels(y_source)
    source, target, names = check_pair(X_source, X_target)
    refuse_anchors(
        anchors,
        source.shape[1],
        names,
        purpose="infer_closed_form knows errors of coefficients",
        instead="Leave anchors out where loss depends on none; otherwise fit ClosedFormRegressor(anchors=...), and "
        "target_risk(..., anchors=...) gives an interval of its risk.",
    )
    y = check_array(y_source, ensure_2d=False, dtype=np.float64, input_name="y_source")
    if y.ndim != 1:
        raise ValueError(f"y_source must hold one label per row, got an array of shape {y.shape}: infer one at a time.")
    check_consistent_length(source, y)
    relative = from_tables(
        source,
        target,
        feature_names=names,
        always_recorded=always_recorded,
        column_groups=column_groups,
        groups=groups,
        groups_target=groups_target,
        for_fit=True,
    )
    known, unit = known_columns(always_recorded, column_groups, source.shape[1], names)
    rows = resolve_both(groups, groups_target, (source.shape[0], target.shape[0]))
    tables = [with_ones(X) if fit_intercept else with_ones(X)[:, :-1] for X in (source, target)]
    score = Scores(tables[0], tables[1], y, relative.r, _units(unit, known, fit_intercept), gram)
    matrix = score.matrix
    if len(spectrum(matrix)) < len(matrix):
        raise ValueError(
            "The covariates are linearly dependent, as far as both domains tell, so that coefficients are not "
            "determined: drop columns that others explain, or columns that the target never has."
        )
    inverse = solve_symmetric(matrix, np.eye(len(matrix)))
    covariance = inverse @ score.covariance(rows) @ inverse
    beta = inverse @ score.cross
    if not fit_intercept:
        beta, covariance = np.append(beta, 0.0), np.pad(covariance, (0, 1))
    sizes = [len(X) if ids is None else effective_number(np.bincount(ids)) for X, ids in zip(tables, rows, strict=True)]
    return ClosedFormInference(
        beta[:-1], float(beta[-1]), covariance, float(max(min(sizes) - 1, 1)), len(tables[0]), len(tables[1]), names
    )


def with_ones(X: Any) -> Array:
    """Return X, dense, with a column of ones last."""
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X)
    return np.column_stack([dense, np.ones(len(dense))])


def _units(unit: Array, known: Array, fit_intercept: bool) -> Array:
    """Number of each column's group of columns lost together, −1 for what is always recorded, the ones among it."""
    units = np.where(known, -1, unit)
    return np.append(units, -1) if fit_intercept else units


class Scores:
    """c, M and what each row adds to c − M β, for β = M⁻¹c or any other.

    Parameters
    ----------
    source, target : arrays of shape (n, p)
        Covariates, with the column of ones if there is an intercept.
    y : array of shape (n_s,)
    r : array of shape (d,)
    unit : array of shape (p,)
        Number of each column's group of columns that are lost together; −1 where nothing is lost.
    gram : str
        Which data make M.
    """

    def __init__(self, source: Array, target: Array, y: Array, r: Array, unit: Array, gram: str):
        self.source, self.target, self.y, self.unit = source, target, y, unit
        n_s, n_t = len(source), len(target)
        self.weight = {"pooled": n_s / (n_s + n_t), "source": 1.0, "target": 0.0}[gram]
        self.rho = 1 - np.append(r, np.zeros(len(unit) - len(r)))
        self.gram = source.T @ source / n_s
        # Columns of no unit are each on their own; they are never lost, so that it makes no difference.
        self.groups = np.where(unit >= 0, unit, unit.max(initial=-1) + 1 + np.arange(len(unit)))
        self.moved = move_gram(self.gram, 1 - self.rho, groups=self.groups)
        self.plain_cross = source.T @ y / n_s
        self.cross = self.rho * self.plain_cross
        self.there = target.T @ target / n_t
        self.matrix = self.weight * self.moved + (1 - self.weight) * self.there

    def at(self, beta: Array | None = None) -> tuple[Array, Array]:
        """Contributions of source rows, (n_s, p), and target rows, (n_t, p), to c − M β; mean zero in each domain."""
        beta = solve_symmetric(self.matrix, self.cross[:, None])[:, 0] if beta is None else beta
        a, rho = self.weight, self.rho
        same = np.equal.outer(self.groups, self.groups)
        # moved(x xᵀ) β = ρ ⊙ x (xᵀ(ρ ⊙ β)) but for what shares a mask, where 1 − r counts once.
        predicted = self.source @ (rho * beta)
        moved = rho * self.source * predicted[:, None]
        moved += self.source * (self.source @ (same * (rho * (1 - rho) * beta)[:, None]))
        here = rho * self.source * self.y[:, None] - a * moved
        there = -(1 - a) * self.target * (self.target @ beta)[:, None]
        for unit in np.unique(self.unit[self.unit >= 0]):
            own = self.unit == unit
            slope = self._slope(own, beta)
            for rows, out, sign in ((self.source, here, -1), (self.target, there, 1)):
                shown = (rows[:, own] != 0).any(axis=1)
                if shown.any():
                    out += sign * rho[own][0] * np.outer(shown / shown.mean(), slope)
        return here - here.mean(axis=0), there - there.mean(axis=0)

    def _slope(self, own: Array, beta: Array) -> Array:
        """∂(c − M β)/∂ρ of the columns that are lost together."""
        slope = np.zeros(len(beta))
        others = ~own
        within = self.gram[np.ix_(own, own)] @ beta[own]
        across = self.gram[np.ix_(own, others)] @ (self.rho * beta)[others]
        slope[own] = self.plain_cross[own] - self.weight * (within + across)
        slope[others] = -self.weight * self.rho[others] * (self.gram[np.ix_(others, own)] @ beta[own])
        return slope

    def covariance(self, groups: tuple[Array | None, Array | None], beta: Array | None = None) -> Array:
        """Covariance of c − M β, (p, p)."""
        return sum(
            (covariance_of_mean(part, ids) for part, ids in zip(self.at(beta), groups, strict=True)), np.zeros(())
        )


def covariance_of_mean(parts: Array, groups: Array | None) -> Array:
    """Covariance of a mean over rows, from sums over groups of rows."""
    n = len(parts)
    if groups is None:
        return parts.T @ parts / n**2 * n / (n - 1)
    belongs = sparse.csr_array((np.ones(n), (groups, np.arange(n))))
    parts = np.asarray(belongs @ parts)
    return parts.T @ parts / n**2 * correct_for_mean(np.bincount(groups))
