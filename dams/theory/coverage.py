"""How often the intervals for the relative missingness r cover it, and how wide they are, by simulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dams.relative import Method, from_counts


def simulate_coverage(
    q_source: float,
    q_target: float,
    sizes: Iterable[int],
    *,
    methods: Iterable[Method] = ("hoeffding", "delta"),
    confidence: float = 0.95,
    n_runs: int = 2000,
    random_state: Any = None,
) -> pd.DataFrame:
    """Draw samples of one feature over and over and see what the intervals for r = 1 − q^t/q^s do.

    That the interval of method "hoeffding" covers r and that the theorem's bound holds are the same event, since the
    interval is the bound solved for r.

    Parameters
    ----------
    q_source, q_target : float
        P(X̃ ≠ 0) in either domain, in (0, 1].
    sizes : iterable of int
        Rows of each domain, n_s = n_t.
    methods, confidence
        As in `dams.estimate_relative_missingness`.
    n_runs : int
        Samples for each size. Those without a single nonzero in source and target are left out: r̂ needs them.
    random_state : int, Generator or None
        Same seed, same table. All methods see the same samples.

    Returns
    -------
    DataFrame
        One row per size and method: n, method, coverage, median_width (infinite where the bound has no upper limit in
        half of the runs or more), rms_error of r̂, runs.
    """
    rng = np.random.default_rng(random_state)
    r, methods = 1 - q_target / q_source, tuple(methods)
    rows = []
    for n in sizes:
        source, target = rng.binomial(n, q_source, n_runs), rng.binomial(n, q_target, n_runs)
        usable = (source > 0) & (target > 0)
        if not usable.any():
            raise ValueError(
                f"No run of {n} rows has a nonzero in both domains at q_source={q_source:g}, q_target={q_target:g}: "
                "ask for more rows or more runs."
            )
        for method in methods:
            # `from_counts` takes one count per feature; here every run is a feature.
            estimate = from_counts(source[usable], target[usable], n, n, confidence=confidence, method=method)
            rows.append(
                {
                    "n": n,
                    "method": method,
                    "coverage": np.mean((estimate.lower <= r) & (r <= estimate.upper)),
                    "median_width": np.median(estimate.upper - estimate.lower),
                    "rms_error": np.sqrt(np.mean(np.square(estimate.r - r))),
                    "runs": int(usable.sum()),
                }
            )
    return pd.DataFrame(rows)
