"""The risk of a predictor in the target, without target labels, and which of several predictors to take there.

Let ℓ(y, f(x)) be a loss. Labelled target rows have the law of labelled source rows, moved by one kernel per feature
(`dams._risk_rows`), so that with the relative missingness r of either sign

    R_t(f) = E_t[ℓ(Y, f(X̃))] = E_s[(T_1 … T_d ℓ)(X̃, Y)],
    T_j g(x) = (1 − r_j) g(x) + r_j g(x with x_j := 0) if x_j ≠ 0, else g(x).

*Signed*: this mean over held-out source rows. Where r_j ≥ 0, T_j deletes at random; where r_j < 0 it has a negative
weight, and the variance grows with the product of 1 − 2 r_j over what a row holds. Three things keep it down: rows with
few values to delete are expanded exactly; linear models with the squared loss are exact by the moments table; and what
the loss says without labels is taken from the target's own rows (`dams._risk_measure`).

*Filled*: the mean loss over held-out source rows that `TwoWayFilter` brought to the target's rates. Its noise is
that of any hold-out; its bias, that of the values filled in, is unknown and in no interval.

*Anchors*: where loss and population depend on always-recorded columns S, R_t(f) = E_s[w(S) (T_1 … T_d ℓ)(X̃, Y)], the
kernels with r_j(S) of the row (`dams.anchors`).

Standard errors are those of influence functions (`dams._influence`, `dams._influence_anchored`): both samples and the
errors of r̂ and ŵ are in them, rows that belong together too. All models are judged on the same stand-ins, so that
differences between them are far better known than risks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from dams._risk_results import TargetRisk, TargetRiskComparison
from dams._risk_study import Study, name_models, study

__all__ = ["TargetRisk", "TargetRiskComparison", "compare_target_risk", "target_risk", "target_risk_scorer"]

Method = Literal["auto", "signed", "filled"]


def target_risk(
    model: Any,
    X_source: Any,
    y_source: Any,
    X_target: Any,
    *,
    loss: str | Callable[[Any, Any], Any] = "auto",
    method: Method = "auto",
    cv: Any = None,
    n_draws: int = 32,
    confidence: float = 0.95,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
    random_state: Any = None,
) -> TargetRisk:
    """Estimate the risk of a predictor in the target from labelled source rows and unlabelled target rows.

    Parameters
    ----------
    model : fitted predictor, or an estimator to fit with `cv`
        Anything with `predict`, and with `predict_proba` and `classes_` for "log" and "brier".
    X_source, y_source : array, DataFrame or sparse matrix, and labels of shape (n_s,)
        Labelled source rows **that the model was not fitted on**: on its own rows it looks better than it is, in any
        domain. Without rows to hold out, give an unfitted estimator and `cv`. Sparse tables are made dense.
    X_target : like X_source
        Target rows, matched by column name if both are DataFrames. The model may have seen them.
    loss : "squared", "log", "brier", "auto" or a function
        A function takes labels and predictions of `predict`, and returns one loss per row. "auto" is "brier" where all
        models give probabilities, "squared" otherwise. "brier" is (p − y)² for two classes.
    method : "auto", "signed" or "filled"
        "auto" takes "signed", and "filled" where the signed estimate is too noisy: where its standard error exceeds a
        tenth of the risk of the best constant predictor, and of the estimate. Of several models the noisiest decides.
        The two methods are described at the top of this module.
    cv : int, splitter or None
        Cross-fit: the model is cloned and fitted on each training part, with `X_target` where its `fit` takes it, and
        judged on the other part. An integer deals rows at random, groups of rows as a whole. None: it is fitted.
    n_draws : int
        Rows that one source row becomes in "signed", on average and at most. Rows with few values to delete are exact.
    confidence : float
        Level of the interval.
    always_recorded, column_groups
        What is known of columns, as in `estimate_relative_missingness`.
    anchors : list of columns, mask or None
        Always-recorded columns on which loss, and the population, may depend: r is then a function of them, and source
        rows have weights (`dams.anchors`).
    groups, groups_target
        Rows that belong together, as in `estimate_relative_missingness`.
    random_state : int, Generator, RandomState or None
        Seed of draws and folds.

    Returns
    -------
    TargetRisk
        The estimate with its interval; printed, a sentence.

    Warns
    -----
    UserWarning
        Where the signed estimate is too noisy, and where it lies below zero although no loss does.

    See Also
    --------
    compare_target_risk : Several models, with intervals of their differences.
    target_risk_scorer : For searches of scikit-learn.
    check_sensitivity : Bounds for loss that depends on the outcome.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from dams import apply_missingness, target_risk
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30_000, 2)) + 1
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:20_000], [0.0, 0.5], random_state=1)
    >>> target = apply_missingness(X[20_000:], [0.5, 0.0], random_state=2)
    >>> model = LinearRegression().fit(source[:10_000], y[:10_000])
    >>> risk = target_risk(model, source[10_000:], y[10_000:20_000], target)
    >>> truth = np.mean((y[20_000:] - model.predict(target)) ** 2)
    >>> bool(risk.interval[0] < truth < risk.interval[1])
    True
    """
    found = study(
        {"model": model},
        (X_source, y_source, X_target),
        loss=loss,
        method=method,
        cv=cv,
        n_draws=n_draws,
        confidence=confidence,
        known={"always_recorded": always_recorded, "column_groups": column_groups, "anchors": anchors},
        groups=groups,
        groups_target=groups_target,
        random_state=random_state,
    )
    low, high = found.limits(confidence)
    return TargetRisk(
        estimate=float(found.measured.risk[0]),
        standard_error=float(found.measured.standard_error[0]),
        interval=(float(low[0]), float(high[0])),
        scale=float(found.scale[0]),
        source_risk=float(found.source_risk[0]),
        **_shared(found, confidence),
    )


def _shared(found: Study, confidence: float) -> dict[str, Any]:
    return {
        "method": found.method,
        "reason": found.reason,
        "too_noisy": found.too_noisy,
        "contradicted": found.contradicted,
        "loss": found.loss,
        "confidence": confidence,
        "n_source": found.n_source,
        "n_target": found.n_target,
    }


def compare_target_risk(
    models: Mapping[str, Any] | Iterable[tuple[str, Any]],
    X_source: Any,
    y_source: Any,
    X_target: Any,
    *,
    reference: str | None = None,
    loss: str | Callable[[Any, Any], Any] = "auto",
    method: Method = "auto",
    cv: Any = None,
    n_draws: int = 32,
    confidence: float = 0.95,
    always_recorded: Any = None,
    column_groups: Any = None,
    anchors: Any = None,
    groups: Any = None,
    groups_target: Any = None,
    random_state: Any = None,
) -> TargetRiskComparison:
    """Compare predictors in the target without target labels, and choose one.

    Answers whether to adapt at all, and with which model.
    All models are judged on the same stand-ins for target rows with the same r̂, so that what is random is mostly the
    same for all, and their differences have shorter intervals than the risks.

    Parameters
    ----------
    models : dict of name and model
        Fitted, or to be fitted with `cv`.
    X_source, y_source, X_target
        As in `target_risk`; no model may have been fitted on `X_source`.
    reference : str or None
        The model that is kept unless another is clearly better: mostly the one that is not adapted. None: the first.
    loss, method, cv, n_draws, confidence
        As in `target_risk`. The intervals of differences hold for all models at once (Bonferroni).
    always_recorded, column_groups, anchors, groups, groups_target, random_state
        As in `target_risk`.

    Returns
    -------
    TargetRiskComparison
        Printed, it is the answer in a sentence.

    See Also
    --------
    target_risk : One model.
    target_risk_scorer : For searches of scikit-learn.
    check_sensitivity : How strongly loss may depend on the outcome before the answer changes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from dams import ClosedFormRegressor, apply_missingness, compare_target_risk
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30_000, 2)) + 1
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:20_000], [0.0, 0.5], random_state=1)
    >>> target = apply_missingness(X[20_000:], [0.5, 0.0], random_state=2)
    >>> models = {"source": LinearRegression(), "closed form": ClosedFormRegressor()}
    >>> compare_target_risk(models, source, y[:20_000], target, cv=5, random_state=0).choice
    'closed form'
    """
    named, first = name_models(models, reference)
    found = study(
        named,
        (X_source, y_source, X_target),
        loss=loss,
        method=method,
        cv=cv,
        n_draws=n_draws,
        confidence=confidence,
        known={"always_recorded": always_recorded, "column_groups": column_groups, "anchors": anchors},
        groups=groups,
        groups_target=groups_target,
        random_state=random_state,
    )
    names = list(named)
    low, high = found.limits(confidence)
    table = pd.DataFrame(
        {
            "estimate": found.measured.risk,
            "standard_error": found.measured.standard_error,
            "lower": low,
            "upper": high,
            "source_risk": found.source_risk,
        },
        index=pd.Index(names, name="model"),
    )
    against = found.differences(names.index(first), confidence)
    for name, values in zip(("", "_standard_error", "_lower", "_upper"), against, strict=True):
        table[f"difference{name}"] = values
    winner = int(found.measured.risk.argmin())
    clearly = found.differences(winner, confidence)[2] > 0
    better = against[3][winner] < 0
    return TargetRiskComparison(
        table=table,
        best=names[winner],
        reference=first,
        choice=names[winner] if better and not found.contradicted else first,
        rivals=[name for j, name in enumerate(names) if j != winner and not clearly[j]],
        differences=pd.DataFrame(
            np.subtract.outer(found.measured.risk, found.measured.risk), index=names, columns=names
        ),
        **_shared(found, confidence),
    )


def target_risk_scorer(X_target: Any, **options: Any) -> Callable[[Any, Any, Any], float]:
    """Return a scorer that selects models for the target: minus the risk there, of the fold that is held out.

    For `scoring=` of `GridSearchCV`, `cross_val_score` and the like, whose folds of the source otherwise choose what is
    best in the source. A fold must hold a value of every column.

    Parameters
    ----------
    X_target : array, DataFrame or sparse matrix
        The target's rows.
    **options
        Those of `target_risk`, except `cv`, `groups` and `confidence`; give `random_state` for scores that repeat.

    Returns
    -------
    callable
        Takes a fitted model, rows and labels, and returns a number; higher is better.

    See Also
    --------
    compare_target_risk : Compare a few models, with intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from dams import apply_missingness, target_risk_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4_000, 2)) + 1
    >>> source = apply_missingness(X[:2_000], [0.0, 0.5], random_state=1)
    >>> target = apply_missingness(X[2_000:], [0.5, 0.0], random_state=2)
    >>> search = GridSearchCV(Ridge(), {"alpha": [1.0, 1e4]}, scoring=target_risk_scorer(target, random_state=0))
    >>> search.fit(source, X[:2_000] @ [1.0, 2.0]).best_params_
    {'alpha': 1.0}
    """
    unknown = set(options) & {"cv", "groups", "confidence"}
    if unknown:
        raise ValueError(f"target_risk_scorer takes no {sorted(unknown)[0]!r}: the search around it deals the folds.")
    return partial(_score, X_target=X_target, options=options)


def _score(model: Any, X: Any, y: Any, *, X_target: Any, options: dict[str, Any]) -> float:
    return -target_risk(model, X, y, X_target, **options).estimate
