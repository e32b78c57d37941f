"""Sensitivity of linear predictors to loss that depends on the outcome, which no look at covariates can find.

Let U = Y − c for a baseline c. Loss that depends on the outcome breaks one thing that the closed form rests on,

    E_t[X̃_j U] = λ_j (1 − r_j) E_s[X̃_j U],   λ_j = 1 under loss at random,

and nothing else that a linear predictor needs: the target's own covariates give E_t[X̃] and E_t[X̃ᵀX̃], and P(Y) is
shared. Suppose 1/Γ ≤ λ_j ≤ Γ. The risk of f(x) = c + a + xβ,

    R(λ) = E[(U − a)²] + E_t[(X̃β)² + 2a X̃β] − 2 Σ_j λ_j s_j,   s_j = β_j (1 − r_j) E_s[X̃_j U],

is linear in λ, so its least and largest values are at corners: λ_j = Γ where s_j > 0 and 1/Γ where s_j < 0 for the
least, the other way round for the largest. So are those of the difference between two predictors, and of each
coefficient and prediction of the best linear predictor in the target, β(λ) = Cov_t(X̃)⁻¹(λ ⊙ (1 − r) ⊙ E_s[X̃U] −
E_t[X̃] E[U]). Columns that are lost together share one λ; of those that are always recorded it is 1.

*What λ means.* Of a 0/1 outcome with c = 0: a value of a row with label 1 is kept λ_j times as often as r_j says.
Values of other rows must then be kept (1 − p_j λ_j)/(1 − p_j) times as often, p_j = P(Y = 1 | X̃_j ≠ 0) in the source,
as r_j is right on average; so λ_j ≤ 1/p_j, and the bounds know it: with X̃_j ≥ 0, E_t[X̃_j Y] is at most E_t[X̃_j].

*Sharpness.* A target that keeps values of rows with label 1 and 0 at these multiples has exactly these λ_j. If they are
the worst corner of a predictor, the bound is its risk there: `Sensitivity.worst_case` gives the multiples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dams._risk_measure import linear_predictor
from dams._risk_study import Tables, are_linear, name_models, read_tables
from dams._sensitivity_result import Line, Sensitivity
from dams._validation import check_confidence, warn_user
from dams.anchors import refuse_anchors

Array = np.ndarray

# Γ of the table and the picture unless others are asked for.
GAMMAS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)


def check_sensitivity(
    models: Mapping[str, Any],
    X_source: Any,
    y_source: Any,
    X_target: Any,
    *,
    reference: str | None = None,
    gammas: Iterable[float] = GAMMAS,
    baseline: float | str = "auto",
    confidence: float = 0.95,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
) -> Sensitivity:
    """Bound the target risk of linear predictors if loss depends on the outcome by a factor of at most Γ.

    Parameters
    ----------
    models : dict of name and fitted linear model
        With `coef_` and `intercept_`: `LinearRegression`, `ClosedFormRegressor`, or `FilteredEstimator` and
        `TwoWayEstimator` of a linear model. Best fitted on other rows than `X_source`, as for `target_risk`.
    X_source, y_source, X_target : tables and labels
        Labelled source rows and target rows, as for `target_risk`; labels are numbers.
    reference : str or None
        The predictor to beat, mostly the one that is not adapted; None: the first.
    gammas : numbers of at least 1
        Γ of the table.
    baseline : float or "auto"
        The number c from which outcomes are measured. "auto" is 0 for labels 0 and 1, and the mean label otherwise:
        bounds then do not depend on where the outcome has its zero.
    confidence : float
        Level of the limits.
    always_recorded, column_groups
        What is known of columns, as in `estimate_relative_missingness`.
    anchors : None
        Refused: bounds rest on one r for all rows. `target_risk` takes anchors, for loss at random given them.
    groups, groups_target
        What is known of rows, as in `estimate_relative_missingness`.

    Returns
    -------
    Sensitivity
        Printed, it says at which Γ each model stops beating the reference.

    Warns
    -----
    UserWarning
        Where a model was fitted with anchors, as bounds take one r for all rows.

    See Also
    --------
    target_risk : The risk in the target if loss is random.
    check_ucar : Tests what covariates can tell.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from dams import ClosedFormRegressor, apply_missingness, check_sensitivity
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((30_000, 1)) < [0.5, 0.5]).astype(float)
    >>> y = (rng.random(30_000) < 0.1 + 0.7 * X[:, 0]).astype(float)
    >>> X[:, 1] = np.where(rng.random(30_000) < 0.9, X[:, 0], X[:, 1])
    >>> source = apply_missingness(X[:20_000], [0.0, 0.6], random_state=1)
    >>> target = apply_missingness(X[20_000:], [0.6, 0.0], random_state=2)
    >>> models = {
    ...     "source": LinearRegression().fit(source[:10_000], y[:10_000]),
    ...     "closed form": ClosedFormRegressor().fit(source[:10_000], y[:10_000], X_target=target),
    ... }
    >>> found = check_sensitivity(models, source[10_000:], y[10_000:20_000], target)
    >>> bool(1.1 < found.stops["closed form"] < 2)
    True
    """
    check_confidence(confidence)
    named, first = name_models(models, reference)
    gammas = list(gammas)
    known = {"always_recorded": always_recorded, "column_groups": column_groups}
    tables = read_tables(X_source, y_source, X_target, known=known, groups=groups, groups_target=groups_target)
    refuse_anchors(
        anchors,
        tables.source.shape[1],
        tables.names,
        purpose="check_sensitivity bounds risks",
        instead="Leave anchors out, or call it for rows of similar anchors one part after another; "
        "target_risk(..., anchors=...) has the risk for loss at random given anchors.",
    )
    _warn_of_anchored(named)
    if tables.y.dtype.kind not in "biuf":
        raise ValueError(f"y_source must hold numbers, got {tables.y.dtype}: give the event as 1 and no event as 0.")
    for (name, model), linear in zip(named.items(), are_linear(list(named.values()), tables), strict=True):
        if not linear:
            raise ValueError(
                f"{name} ({type(model).__name__}) is not linear: it needs coef_ and intercept_ of one label that give "
                "its predictions. target_risk judges any model, for loss at random."
            )
    binary = set(np.unique(tables.y)) <= {0, 1}
    if isinstance(baseline, str) and baseline != "auto":
        raise ValueError(f"baseline must be a number or 'auto', got {baseline!r}.")
    centre = (0.0 if binary else float(tables.y.mean())) if isinstance(baseline, str) else float(baseline)
    lines = {name: _line(model, tables, centre) for name, model in named.items()}
    highest = _highest(tables) if binary and centre == 0 else np.full(len(tables.domains.r), np.inf)
    empty = pd.DataFrame()
    found = Sensitivity(empty, pd.Series(), pd.Series(), first, centre, confidence, tables, lines, highest)
    others = {name: lines[name].minus(lines[first]) for name in lines if name != first}
    rows = []
    for name, line in lines.items():
        for gamma in gammas:
            row = dict(zip(("lower", "upper", "lower_limit", "upper_limit"), found._bounds(line, gamma), strict=True))
            if name in others:
                columns = [f"difference_{column}" for column in row]
                row |= dict(zip(columns, found._bounds(others[name], gamma), strict=True))
            rows.append({"model": name, "gamma": float(gamma), **row})
    stops, surely = (
        {name: found._first_gamma(line, surely=sure) for name, line in others.items()} for sure in (False, True)
    )
    return Sensitivity(
        pd.DataFrame(rows),
        pd.Series(stops, dtype=float),
        pd.Series(surely, dtype=float),
        first,
        centre,
        confidence,
        tables,
        lines,
        highest,
    )


def _warn_of_anchored(models: Mapping[str, Any]) -> None:
    """Warn of models that were adapted by r(s) and w(s), which are judged here by one r."""
    relative = {name: getattr(model, "relative_missingness_", None) for name, model in models.items()}
    anchored = [name for name, found in relative.items() if getattr(found, "anchored", None) is not None]
    if anchored:
        warn_user(
            f"{', '.join(map(repr, anchored))}: fitted with anchors, and bounded here with one r for all rows and the "
            "source's law of the anchors. Bounds are wrong where loss or the population depend on anchors: call "
            "check_sensitivity for rows of similar anchors one part after another, or judge by "
            "target_risk(..., anchors=...)."
        )


def _line(model: Any, tables: Tables, centre: float) -> Line:
    """The risk of a model as a function of λ."""
    coef, intercept = linear_predictor(model)
    outcome, a = tables.y - centre, intercept - centre
    members = (tables.unit[:, None] == np.arange(len(tables.domains.r))).astype(float)
    products = (tables.source * coef) @ members * outcome[:, None]
    of_target = tables.target @ coef
    of_target = np.square(of_target) + 2 * a * of_target
    of_source = np.square(outcome - a)
    by_unit = -2 * products * (1 - tables.domains.r)
    return Line(
        const=float(of_source.mean() + of_target.mean()),
        slope=by_unit.mean(axis=0),
        of_source=of_source,
        of_source_by_unit=by_unit,
        of_target=of_target,
        gradient=2 * products.mean(axis=0),
    )


def _highest(tables: Tables) -> Array:
    """Largest λ of each unit that a 0/1 outcome allows: E_t[X̃_j Y] ≤ E_t[X̃_j] where X̃_j ≥ 0."""
    cross = (1 - tables.relative.r) * (tables.source.T @ tables.y) / len(tables.y)
    positive = (tables.source.min(axis=0) >= 0) & (tables.target.min(axis=0) >= 0) & (cross > 0)
    ratio = np.full(len(cross), np.inf)
    np.divide(tables.target.mean(axis=0), cross, out=ratio, where=positive)
    highest = np.full(len(tables.domains.r), np.inf)
    np.minimum.at(highest, tables.unit, ratio)
    # Sampling error may put the limit below 1, and loss at random is always possible.
    return np.maximum(highest, 1.0)
