"""Two small tables of one law whose losses differ in both directions, with labels of either kind."""

import numpy as np
import pandas as pd

COLUMNS = ["a", "b", "c", "d"]
RATES = {"source": [0.1, 0.7, 0.2, 0.3], "target": [0.7, 0.1, 0.5, 0.2]}


def hospitals(n=3000, *, seed=0, label="number", rates=RATES, extra=None):
    """Source with its label as column y, target, and the target's labels.

    Three columns measure the same thing, so that what is lost in one place matters there. `extra(rng, n, place)` gives
    further columns.
    """
    rng = np.random.default_rng(seed)
    made = {}
    for place, rate in rates.items():
        trait = rng.normal(size=(n, 1))
        X = 3 + trait + 0.5 * rng.normal(size=(n, 4))
        score = 2 * trait[:, 0] + 0.5 * X[:, 3] + 0.5 * rng.normal(size=n)
        if label == "words":
            score = np.where(score + rng.normal(size=n) > 1.5, "yes", "no")
        elif label == "flags":
            score = (score + rng.normal(size=n) > 1.5).astype(int)
        X = pd.DataFrame(X * (rng.random(X.shape) >= rate), columns=COLUMNS).round(4)
        for name, values in ({} if extra is None else extra(rng, n, place)).items():
            X[name] = values
        made[place] = X, pd.Series(score, name="y")
    (X, y), (X_target, y_target) = made["source"], made["target"]
    return X.assign(y=y), X_target, y_target
