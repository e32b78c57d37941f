"""What is said of the relative missingness of many features; without scikit-learn, which diagnoses do not need."""

from __future__ import annotations

import pandas as pd


def describe_relative_missingness(features: pd.DataFrame) -> dict[str, float]:
    """Count the features, one a row, and give quartiles of r and shares of features.

    `negative` is the share with r < 0, where the filter can't follow; `clearly_negative` and `clearly_positive` are
    those whose whole interval lies on that side.
    """
    low, middle, high = features["r"].quantile([0.25, 0.5, 0.75])
    return {
        "features": len(features),
        "r_lower_quartile": low,
        "r_median": middle,
        "r_upper_quartile": high,
        "negative": (features["r"] < 0).mean(),
        "clearly_negative": (features["upper"] < 0).mean(),
        "clearly_positive": (features["lower"] > 0).mean(),
    }
