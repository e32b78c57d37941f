"""How `dams.risk` goes about it: what is checked, which models meet which rows, which method is taken."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.validation import check_is_fitted

from dams._columns import known_columns
from dams._influence import Domains, Sample
from dams._influence_anchored import AnchoredSamples
from dams._risk_losses import Loss, resolve_loss
from dams._risk_measure import (
    Measured,
    Part,
    Samples,
    Terms,
    combine,
    is_linear,
    stack_terms,
    terms_by_rows,
    terms_of_linear,
)
from dams._risk_rows import StandIns, present_units, signed_stand_ins
from dams._rows import resolve_both
from dams._sklearn import select_rows
from dams._validation import check_confidence, check_pair, warn_user
from dams.anchors import with_anchors
from dams.estimators._base import draw_streams
from dams.estimators.filling import two_way_draws
from dams.relative import RelativeMissingness, from_tables

Array = np.ndarray

# A signed estimate is too noisy where its standard error exceeds this share of the best constant predictor's risk, or
# of the estimate itself if that is larger: a predictor that is clearly worse than a constant need not be known better.
NOISY = 0.1
# Copies of the held-out rows that are filled and filtered.
N_FILLED = 3
# Rows on which a model shows whether it is linear.
FEW = 50


@dataclass(frozen=True)
class Study:
    """Risks of k models in the target, and what they were measured with."""

    measured: Measured
    source_risk: Array
    scale: Array
    loss: str
    is_nonnegative: bool
    method: str
    reason: str
    too_noisy: bool
    n_source: int
    n_target: int
    contradicted: bool = False

    def limits(self, confidence: float) -> tuple[Array, Array]:
        """Limits of each risk on its own; none below zero where no loss is."""
        low, high = self._limits(self.measured.risk, np.eye(len(self.measured.risk)), confidence)
        return (np.maximum(low, 0.0), np.maximum(high, 0.0)) if self.is_nonnegative else (low, high)

    def impossible(self, confidence: float) -> Array:
        """Which risks lie below zero, whole intervals for all models at once, although no loss does."""
        k = len(self.measured.risk)
        _, high = self._limits(self.measured.risk, np.eye(k), 1 - (1 - confidence) / k)
        return (high < 0) & self.is_nonnegative

    def differences(self, reference: int, confidence: float) -> tuple[Array, Array, Array, Array]:
        """Risks minus that of one model, with standard errors and limits that hold for all others at once."""
        risk = self.measured.risk
        contrasts = np.eye(len(risk)) - np.eye(len(risk))[reference]
        level = 1 - (1 - confidence) / max(len(risk) - 1, 1)
        error = np.array([self.measured.influence.standard_error(one) for one in contrasts])
        return risk - risk[reference], error, *self._limits(risk - risk[reference], contrasts, level)

    def _limits(self, estimates: Array, contrasts: Array, confidence: float) -> tuple[Array, Array]:
        limits = [
            self.measured.influence.limits(float(estimate), contrast, confidence)
            for estimate, contrast in zip(estimates, contrasts, strict=True)
        ]
        low, high = np.array(limits).T
        return low, high


@dataclass(frozen=True)
class Tables:
    """The input, checked: dense rows in the source's order of columns, labels, and what is known."""

    source: Array
    y: Array
    target: Array
    names: list[Any] | None
    relative: RelativeMissingness
    unit: Array
    domains: Samples
    # As the user gave them, for models to be fitted on.
    given: tuple[Any, Any, Any]

    def as_table(self, X: Array) -> Any:
        """Rows as the models know them: DataFrames where the source is one."""
        return X if self.names is None else pd.DataFrame(X, columns=self.names)


def name_models(models: Mapping[Any, Any] | Iterable[tuple[Any, Any]], reference: Any) -> tuple[dict[Any, Any], Any]:
    """Return models by name, and the name of the one that others are compared with."""
    named = dict(models)
    if not named:
        raise ValueError("models is empty: give a dict of names and fitted models.")
    first = next(iter(named)) if reference is None else reference
    if first not in named:
        raise ValueError(f"reference must be the name of a model, one of {list(named)}, got {reference!r}.")
    return named, first


def study(
    models: Mapping[str, Any],
    rows: tuple[Any, Any, Any],
    *,
    loss: Any,
    method: str,
    cv: Any,
    n_draws: int,
    confidence: float,
    known: dict[str, Any],
    groups: Any,
    groups_target: Any,
    random_state: Any,
) -> Study:
    """Measure the risks of models in the target; the parameters are those of `dams.risk.target_risk`."""
    if method not in ("auto", "signed", "filled"):
        raise ValueError(f"method must be 'auto', 'signed' or 'filled', got {method!r}.")
    check_confidence(confidence)
    if not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a whole number of at least 1, got {n_draws!r}.")
    learning, (drawing,) = draw_streams(random_state, 1)
    tables = read_tables(*rows, known=known, groups=groups, groups_target=groups_target)
    parts = _deal(models, tables, cv, groups, groups_target, learning)
    judged = [model for part in parts for model in part.models]
    _refuse_without_probabilities(judged, loss, tables.y)
    measure = resolve_loss(loss, tables.y, is_classifier=all(hasattr(model, "predict_proba") for model in judged))
    # Exact by moments are linear models, of the squared loss, in every part.
    linear = np.all([are_linear(part.models, tables) for part in parts], axis=0)
    linear &= measure.name == "squared" and measure.function is None
    source_risk = _source_risk(parts, measure, tables)

    def signed() -> tuple[Measured, Array]:
        made = _signed_terms(parts, linear, measure, tables, int(n_draws), drawing, learning)
        return combine(made, tables.domains), _scale(measure, made)

    def filled() -> tuple[Measured, Array]:
        draws = two_way_draws(
            tables.source,
            tables.y,
            tables.relative,
            together=tables.unit,
            n_draws=N_FILLED,
            random_state=drawing.spawn(1)[0],
        )
        made = _terms(parts, measure, tables, partial(_filled, draws, tables.domains.weights), learning)
        # The target's own rows in place of what the filled ones say of covariates: less bias, whatever the variance.
        return combine(made, tables.domains, theta=1.0), _scale(measure, made)

    result, scale = filled() if method == "filled" else signed()
    relative_error = float((result.standard_error / np.maximum(scale, np.abs(result.risk))).max())
    too_noisy = method != "filled" and not relative_error <= NOISY
    taken = "filled" if method == "filled" or (method == "auto" and too_noisy) else "signed"
    reason = _reason(method, taken, too_noisy, relative_error, exact=bool(linear.all()))
    if too_noisy:
        warn_user(reason)
        if taken == "filled":
            result, scale = filled()
    found = Study(
        measured=result,
        source_risk=source_risk,
        scale=scale,
        loss=measure.name,
        is_nonnegative=measure.is_nonnegative,
        method=taken,
        reason=reason,
        too_noisy=too_noisy,
        n_source=len(tables.source),
        n_target=len(tables.target),
    )
    below = [name for name, is_so in zip(models, found.impossible(confidence), strict=True) if is_so]
    if not below:
        return found
    reason = (
        f"The estimated {measure.name} loss of {', '.join(map(repr, below))} lies below zero, which none can: the "
        "assumptions do not hold. The relation of covariates and label differs between the tables, or labels follow "
        "what was recorded rather than what is true. Do not adapt by these tables without labelled target rows."
    )
    warn_user(reason)
    return replace(found, reason=reason, contradicted=True)


def read_tables(
    X_source: Any, y_source: Any, X_target: Any, *, known: dict[str, Any], groups: Any, groups_target: Any
) -> Tables:
    *tables, names = check_pair(X_source, X_target)
    source, target = (X.toarray() if sparse.issparse(X) else X for X in tables)
    y = y_source.to_numpy() if hasattr(y_source, "to_numpy") else np.asarray(y_source)
    if y.ndim != 1 or len(y) != len(source):
        raise ValueError(f"y_source must hold one label per row, {len(source)}, got an array of shape {y.shape}.")
    if pd.isna(y).any():
        raise ValueError(f"y_source has no label in {int(pd.isna(y).sum())} rows: leave these rows out.")
    relative = from_tables(source, target, feature_names=names, groups=groups, groups_target=groups_target, **known)
    anchors = known.get("anchors")
    always = with_anchors(known["always_recorded"], anchors, source.shape[1], names)
    always, unit = known_columns(always, known["column_groups"], source.shape[1], names)
    _, first = np.unique(unit, return_index=True)
    rows = resolve_both(groups, groups_target, (len(source), len(target)))
    samples = Sample(present_units(source, unit), rows[0]), Sample(present_units(target, unit), rows[1])
    domains: Samples
    if relative.anchored is None:
        domains = Domains(*samples, relative.r[first], ~always[first])
    else:
        domains = AnchoredSamples.of(*samples, ~always[first], relative.anchored, (source, target))
    return Tables(source, y, target, names, relative, unit, domains, (X_source, y_source, X_target))


def _deal(
    models: Mapping[str, Any], tables: Tables, cv: Any, groups: Any, groups_target: Any, rng: np.random.Generator
) -> list[Part]:
    """Return which models are judged on which rows."""
    every = np.arange(len(tables.source))
    if cv is None:
        for name, model in models.items():
            _refuse_unfitted(name, model)
        return [Part(every, list(models.values()))]
    together = tables.domains.source.groups
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        seed = int(rng.integers(2**31))
        shuffled = {"n_splits": int(cv), "shuffle": True, "random_state": seed}
        cv = KFold(**shuffled) if together is None else GroupKFold(**shuffled)
    if isinstance(cv, str) or not hasattr(cv, "split"):
        raise ValueError(f"cv must be a number of folds, a splitter of scikit-learn or None, got {cv!r}.")
    parts, seen = [], np.zeros(len(every), dtype=int)
    with warnings.catch_warnings():
        # Whether a splitter keeps groups whole is seen below, whatever it says.
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        splits = list(cv.split(tables.source, tables.y, together))
    for train, test in splits:
        seen[test] += 1
        if together is not None and np.intersect1d(together[train], together[test]).size:
            raise ValueError(
                "cv puts rows of one group on both sides of a split: use GroupKFold, or a number of folds."
            )
        fitted = [_fit(model, tables, train, groups, groups_target) for model in models.values()]
        parts.append(Part(np.asarray(test), fitted))
    if (seen != 1).any():
        raise ValueError("cv must hold every row out once, as KFold does: a row's loss is counted once.")
    return parts


def _refuse_unfitted(name: str, model: Any) -> None:
    if not isinstance(model, BaseEstimator):
        return
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ValueError(
            f"{name} ({type(model).__name__}) is not fitted: fit it on other rows than X_source, or give cv=5 to have "
            "it fitted and judged by turns."
        ) from error


def _refuse_without_probabilities(models: list[Any], loss: Any, y: Array) -> None:
    """Raise where a classifier has only classes to show and the loss is none of classes."""
    short = [model for model in models if hasattr(model, "classes_") and not hasattr(model, "predict_proba")]
    names_classes = y.dtype.kind not in "biuf" and any(isinstance(label, str) for label in y)
    if short and isinstance(loss, str) and (loss in ("log", "brier") or names_classes):
        raise ValueError(
            f"{type(short[0]).__name__} is a classifier without predict_proba, and loss={loss!r} needs probabilities "
            "of classes: give CalibratedClassifierCV of it, or a loss of labels and predicted classes of your own."
        )


def _fit(model: Any, tables: Tables, train: Array, groups: Any, groups_target: Any) -> Any:
    X, y, X_target = tables.given
    takes = inspect.signature(model.fit).parameters
    extra = {"X_target": X_target, "groups": _some(groups, train), "groups_target": groups_target}
    given = {name: value for name, value in extra.items() if name in takes and value is not None}
    return clone(model).fit(_some(X, train), _some(y, train), **given)


def _some(values: Any, rows: Array) -> Any:
    return None if values is None else select_rows(values, rows)


def are_linear(models: list[Any], tables: Tables) -> Array:
    """Which models predict a + xβ."""
    shown = tables.source[:FEW]
    table = tables.as_table(shown)
    return np.array([is_linear(model, shown, table) for model in models])


def _source_risk(parts: list[Part], loss: Loss, tables: Tables) -> Array:
    total = np.zeros(len(parts[0].models))
    for part in parts:
        rows = tables.as_table(tables.source[part.rows])
        for number, model in enumerate(part.models):
            total[number] += loss.values(tables.y[part.rows], loss.predict(model, rows)).sum()
    return total / len(tables.y)


def _signed_terms(
    parts: list[Part],
    linear: Array,
    loss: Loss,
    tables: Tables,
    n_draws: int,
    drawing: np.random.Generator,
    learning: np.random.Generator,
) -> Terms:
    """Return the terms of all models, those of linear ones exactly."""
    made = []
    for which, exact in ((linear, True), (~linear, False)):
        some = [Part(part.rows, [part.models[j] for j in np.flatnonzero(which).tolist()]) for part in parts]
        if not which.any():
            continue
        if exact:
            rows = tables.source, tables.y, tables.target
            made.append(terms_of_linear(some, *rows, tables.domains, tables.unit, float(loss.labels[0])))
        else:
            made.append(_terms(some, loss, tables, partial(_signed, tables, n_draws, drawing), learning))
    order = np.argsort(np.concatenate([np.flatnonzero(linear), np.flatnonzero(~linear)]))
    return stack_terms(made, order)


def _terms(parts: list[Part], loss: Loss, tables: Tables, stand_ins: Any, rng: np.random.Generator) -> Terms:
    target = tables.as_table(tables.target)
    return terms_by_rows(parts, stand_ins, loss, tables.y, target, tables.domains, tables.unit, tables.as_table, rng)


def _signed(tables: Tables, n_draws: int, rng: np.random.Generator, rows: Array) -> Iterator[StandIns]:
    weights = tables.domains.weights
    for made in signed_stand_ins(tables.source[rows], tables.domains.rates(rows), tables.unit, n_draws, rng):
        of = rows[made.row]
        yield StandIns(made.X, of, made.weight * weights[of])


def _filled(draws: list[Array], weights: Array, rows: Array) -> Iterator[StandIns]:
    for draw in draws:
        yield StandIns(draw[rows], rows, weights[rows] / len(draws))


def _scale(loss: Loss, terms: Terms) -> Array:
    if loss.scale is not None:
        return np.full(terms.moved.shape[1], loss.scale)
    return np.abs(terms.unrelated.mean(axis=0))


def _reason(method: str, taken: str, too_noisy: bool, error: float, *, exact: bool) -> str:
    """Return a sentence: which method was taken, and why."""
    if method == "filled":
        return "Held-out rows were filled and filtered, as asked for; the bias of filled values is not in the interval."
    if not too_noisy:
        return "The signed kernel, exact for linear models." if exact else "The signed kernel on held-out rows."
    found = (
        f"The signed estimate is too noisy: its standard error is {error:.2g} times the risk, or that of a constant "
        f"predictor if it is larger; more than {NOISY:g}."
    )
    if taken == "filled":
        return (
            f"{found} Held-out rows were filled and filtered instead, and the bias of filled values is not in the "
            "interval. More held-out rows, or fewer columns that the target records better, would help."
        )
    return f"{found} Give more held-out rows, or method='filled'."
