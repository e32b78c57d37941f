"""
Where the target records less, and where it records more
========================================================

Relative missingness r has a sign. Where r > 0 the target loses more than the source, and deleting source values imitates
it. Where r < 0 the target records *better*, and nothing that deletes can follow. The closed form and the two-way
adjustment can.
"""

# %%
# One source, many targets
# ------------------------
# Two columns measure nearly the same thing. The source loses half of the first one. The targets lose between nothing and
# nine tenths of it, so that r runs from −1 to 0.8.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, FilteredEstimator, TwoWayEstimator, apply_missingness

rng = np.random.default_rng(0)
N, SOURCE_RATES = 5_000, [0.5, 0.4]


def draw(rates, seed):
    shared = rng.normal(size=(N, 1))
    clean = 1 + shared + 0.3 * rng.normal(size=(N, 2))
    y = 2 * shared[:, 0] + 0.3 * rng.normal(size=N)
    return apply_missingness(clean, rates, random_state=seed), y


X_source, y_source = draw(SOURCE_RATES, seed=0)

# %%
# Five predictors per target
# --------------------------
# The oracle is trained on labelled target rows, which one does not have. The others see source labels only. The filter
# warns where it cannot follow; here that is the point, so the warning is silenced.
import warnings


def predictors(X_target, y_target):
    yield "source, not adapted", LinearRegression().fit(X_source, y_source)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The target records", category=UserWarning)
        filtered = FilteredEstimator(LinearRegression(), safeguard=False, random_state=0)
        yield "filter", filtered.fit(X_source, y_source, X_target=X_target)
    two_way = TwoWayEstimator(LinearRegression(), n_draws=3, random_state=0)
    yield "two-way", two_way.fit(X_source, y_source, X_target=X_target)
    yield "closed form", ClosedFormRegressor().fit(X_source, y_source, X_target=X_target)
    yield "oracle", LinearRegression().fit(X_target, y_target)


target_rates = np.linspace(0, 0.9, 10)
r = 1 - (1 - target_rates) / (1 - SOURCE_RATES[0])
errors = {}
for number, rate in enumerate(target_rates):
    X_target, y_target = draw([rate, 0.4], seed=100 + number)
    X_test, y_test = draw([rate, 0.4], seed=200 + number)
    for name, model in predictors(X_target, y_target):
        errors.setdefault(name, []).append(1 - model.score(X_test, y_test))

# %%
# To the right of zero everything that adapts reaches the oracle. To the left the filter has nothing to delete and equals
# the source predictor.
figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
styles = {
    "oracle": {"color": "0.75", "linewidth": 7},
    "source, not adapted": {"color": "#d55e00", "marker": "s", "linestyle": ":"},
    "filter": {"color": "#009e73", "marker": "v", "linestyle": "--"},
    "two-way": {"color": "#cc79a7", "marker": "o", "markersize": 9},
    "closed form": {"color": "#0072b2", "marker": "D", "markersize": 4},
}
for name, style in styles.items():
    axes.plot(r, errors[name], label=name, fillstyle="none", **style)
axes.axvline(0, color="0.5", linewidth=1)
axes.annotate("the target records more", (-0.05, 0.15), ha="right")
axes.annotate("the target loses more", (0.05, 0.15))
axes.set_xlabel("relative missingness r of the first column")
axes.set_ylabel("error in the target, MSE/Var(Y)")
figure.legend(loc="outside lower center", ncols=3, frameon=False)

# %%
# ``RelativeMissingness.is_proper`` says on which side you are; :doc:`/which_estimator` says what to take there.
