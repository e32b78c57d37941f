"""How a predictor is scored."""

import math


def score(mse: float, var_y: float) -> tuple[float, str]:
    """Return MSE/Var(Y), 1 for always guessing the label mean, and the reason where there is no such number."""
    if not var_y > 0:
        return math.nan, "the label is constant in the target test rows, so MSE/Var(Y) is undefined"
    if not math.isfinite(mse):
        return math.nan, f"the mean squared error is {mse}"
    return mse / var_y, ""
