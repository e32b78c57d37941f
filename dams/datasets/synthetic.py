"""The paper's two synthetic scenarios. Each sampler returns covariates (n, 2) and the labels of its own equations."""

import numpy as np
import pandas as pd
from scipy.special import expit


def sample_redundant(rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Scenario 1: Z ~ Bernoulli(½), X_1 = X_2 = Z, Y = Z + N(0, 1)."""
    z = rng.integers(0, 2, rows).astype(float)
    return pd.DataFrame({"x1": z, "x2": z}), z + rng.standard_normal(rows)


def sample_confounded(rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Scenario 2: X_1 ~ Bernoulli(½), X_2 = expit(2 X_1 + N(0, 1)), Y = X_1 − X_2 + N(0, 1)."""
    x1 = rng.integers(0, 2, rows).astype(float)
    x2 = expit(2 * x1 + rng.standard_normal(rows))
    return pd.DataFrame({"x1": x1, "x2": x2}), x1 - x2 + rng.standard_normal(rows)
