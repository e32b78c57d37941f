"""From the scores of all cells to what a user should do: shares of the gap, what the diagnostics saw, and a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dams.experiments.beyond.methods import METHODS
from dams.experiments.beyond.study import ESTIMATES, JUDGED, JUDGED_GIVEN_AGE, KEYS, LEVEL
from dams.stats import Interval, percentile_interval, small_sample_stretch

Array = np.ndarray

# What is followed, beside the methods themselves.
FOLLOWED = {
    "chosen": "target_risk followed",
    "chosen_given_age": "target_risk with anchors",
    "advised": "Diagnostics followed",
}
# Methods that a user may take without a label of the target.
CANDIDATES = [name for name in METHODS if name not in ("oracle", "source")]
ALL = "all"
SCOPE = ["mechanism", "strength"]

# The rule of `what_to_do`. A gap between source and oracle below this, in Var(Y), is not worth an adjustment.
WORTH_IT = 0.01
# A method that surely closes so much of it is taken; one that surely closes less, and something, closes a part.
MOST = 0.5
# What the diagnostics find in so many draws is seen, and what they find in fewer than this is not.
SEEN, UNSEEN = 0.8, 0.2
# target_risk's choice is right where what it loses on the best of the models it judged is less of the gap than this.
TOLERANCE = 0.1


def with_followed(scores: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Return the scores and, as two methods more, those of target_risk's choice and of what the diagnostics advise."""
    followed = []
    for kind, column in zip(FOLLOWED, ("choice", "choice_given_age", "advised"), strict=True):
        taken = checks[[*KEYS, column]].rename(columns={column: "method"})
        found = taken.merge(scores, on=[*KEYS, "method"], how="left")
        followed.append(found.assign(method=kind, **dict.fromkeys(ESTIMATES, np.nan)))
    return pd.concat([scores, *followed], ignore_index=True)


def gap_closed(
    scores: pd.DataFrame, *, replicates: int = 2000, confidence: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Share of the gap between source and oracle that each method closes, with intervals over draws.

    One row per mechanism, strength, data set and method, and one per method for all data sets. The share of a data set
    is

        (mean score of source − mean score) / (mean score of source − mean score of oracle)

    over its draws, that of all data sets the mean of theirs: with one ratio of all, the data set with the largest gap
    would decide. Data sets whose mean gap is below `WORTH_IT` have none. Draws are resampled within data sets.
    `worst_excess` is the score over that of source, less one, in the worst cell.
    """
    rows = []
    for scope, part in scores.groupby(SCOPE, sort=False):
        table = part.pivot(index=["dataset", "draw"], columns="method", values="score")
        for dataset in (ALL, *dict.fromkeys(part["dataset"])):
            here = table if dataset == ALL else table.loc[[dataset]]
            gap = (here["source"] - here["oracle"]).to_numpy()
            strata = pd.factorize(here.index.get_level_values("dataset"))[0]
            for method in dict.fromkeys(part["method"]):
                gain = (here["source"] - here[method]).to_numpy()
                share = _ratio(gain, gap, strata, replicates=replicates, confidence=confidence, seed=seed)
                rows.append(
                    dict(zip(SCOPE, scope, strict=True))
                    | {"dataset": dataset, "method": method, "cells": int(np.isfinite(gain).sum())}
                    | {"score": here[method].mean(), "gap": gap.mean()}
                    | {"share": share.mean, "lower": share.lower, "upper": share.upper}
                    | {"worst_excess": float(np.nanmax(-gain / here["source"].to_numpy()))}
                )
    return pd.DataFrame(rows)


def _ratio(gain: Array, gap: Array, strata: Array, *, replicates: int, confidence: float, seed: int) -> Interval:
    """Mean over strata of mean gain over mean gap, with a percentile interval over draws resampled within strata."""
    known = np.isfinite(gain) & np.isfinite(gap)
    rng = np.random.default_rng(seed)
    shares, resampled, stretches = [], [], []
    for stratum in np.unique(strata[known]):
        over, under = (values[known & (strata == stratum)] for values in (gain, gap))
        n = len(over)
        weights = rng.multinomial(n, np.full(n, 1 / n), replicates)
        if under.mean() < WORTH_IT:
            continue
        shares.append(over.mean() / under.mean())
        resampled.append((weights @ over) / (weights @ under))
        stretches.append(small_sample_stretch(over[:, None], confidence) if n > 1 else 1.0)
    if not shares:
        return Interval(np.nan, np.nan, np.nan)
    # Too wide for several data sets, whose spread is known better than that of one.
    return percentile_interval(
        float(np.mean(shares)), np.mean(resampled, axis=0), confidence=confidence, stretch=max(stretches)
    )


def summarise_checks(scores: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """One row per mechanism and strength: what the diagnostics saw, and how far target_risk was off.

    `rejected`, `rejected_given_age` and `population_differs` are shares of cells; `risk_error` is the mean distance
    between target_risk's estimate and the truth, in Var(Y), over the models it judged; `risk_right` the share of cells
    in which its choice loses less than `TOLERANCE` of the gap on the best of these; both also with age as the anchor.
    """
    rows = []
    for scope, part in checks.groupby(SCOPE, sort=False):
        own = scores.merge(part[KEYS], on=KEYS)
        table = own.pivot(index=["dataset", "draw"], columns="method", values="score")
        # Where there is hardly a gap, anything near the best is right.
        room = TOLERANCE * (table["source"] - table["oracle"]).clip(lower=WORTH_IT)
        rows.append(
            dict(zip(SCOPE, scope, strict=True))
            | {
                "rejected": (part["p_value"] < LEVEL).mean(),
                "rejected_given_age": (part["p_given_age"] < LEVEL).mean(),
                "population_differs": part["population_differs"].mean(),
            }
            | {
                name: value
                for end, among in (("", JUDGED), ("_given_age", JUDGED_GIVEN_AGE))
                for name, value in (
                    (f"risk_error{end}", (own[f"estimate{end}"] - own["score"]).abs().mean()),
                    (f"risk_right{end}", (table[f"chosen{end}"] <= table[list(among)].min(axis=1) + room).mean()),
                )
            }
        )
    return pd.DataFrame(rows)


def advice(shares: pd.DataFrame, seen: pd.DataFrame) -> pd.DataFrame:
    """One row per mechanism and strength: what the diagnostics saw, and what to do by the rule of `what_to_do`."""
    together = shares[shares["dataset"] == ALL]
    rows = []
    for numbers in seen.to_dict("records"):
        row = {str(name): value for name, value in numbers.items()}
        here = together[(together["mechanism"] == row["mechanism"]) & (together["strength"] == row["strength"])]
        by_method = here.set_index("method")
        scores = {f"{name}_score": by_method["score"][name] for name in ("source", "oracle")}
        rows.append(row | scores | {"gap": by_method["gap"].iloc[0], "to_do": what_to_do(by_method, row)})
    return pd.DataFrame(rows)


def what_to_do(shares: pd.DataFrame, seen: dict[str, Any]) -> str:
    """Derive what to do from numbers alone.

    Parameters
    ----------
    shares : DataFrame
        Rows of `gap_closed` for one mechanism and strength, by method.
    seen : dict
        The row of `summarise_checks`.
    """
    candidates = shares.loc[[name for name in CANDIDATES if name in shares.index]]
    if candidates["share"].isna().all():
        return "Keep the source predictor: there is nothing to gain."
    best = str(candidates["lower"].idxmax())
    surely = candidates["lower"].max()
    title = METHODS[best].title.lower().replace("coral", "CORAL")
    part = "" if surely >= MOST else ", in part"
    warned = max(seen["rejected"], seen["population_differs"])
    explained = surely > 0 and seen["rejected_given_age"] < UNSEEN
    if warned >= SEEN and not explained:
        # Nothing that is seen without labels tells this from a shift under which the same method does harm.
        helps = f"Best here{part}: {title}." if surely > 0 else "Nothing helps here for sure."
        return f"check_ucar warns: label some target rows before adapting. {helps}"
    first = f"Adapt{part}: {title}." if surely > 0 else "Keep the source predictor."
    if warned >= SEEN:
        second = "check_ucar warns, and age explains it."
    elif warned <= UNSEEN:
        second = "No check warns." if surely >= MOST else "No check warns: only labels of the target tell."
    else:
        second = "check_ucar warns at times."
    return f"{first} {second}"
