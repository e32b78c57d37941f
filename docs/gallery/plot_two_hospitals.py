"""
Two hospitals: from two files to "should I deploy?"
===================================================

Hospital A has labelled patients and a predictor. Hospital B wants to use it. Both write 0 where nothing was recorded,
and they do not record equally often. This example goes from two CSV files to a decision in five steps, without a
single label from B.
"""

# %%
# Two files
# ---------
# In place of your files we make up two. Severity drives six laboratory values and the outcome, a cost of the stay. A
# loses values at other rates than B; age is recorded everywhere.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dams import apply_missingness

rng = np.random.default_rng(0)
LABS = ["lactate", "creatinine", "bilirubin", "troponin", "glucose", "sodium"]


def patients(n):
    age = rng.normal(65, 12, n)
    severity = rng.normal(size=(n, 1)) + 0.02 * (age[:, None] - 65)
    labs = pd.DataFrame(2 + severity + 0.6 * rng.normal(size=(n, 6)), columns=LABS)
    cost = 2 * severity[:, 0] + 0.5 * labs["lactate"] + rng.normal(size=n)
    return labs.assign(age=age), cost.rename("cost")


# What each hospital loses of lactate, …, sodium and age. Nobody knows these rates.
lost_in_a = [0.7, 0.1, 0.5, 0.2, 0.1, 0.3, 0.0]
lost_in_b = [0.1, 0.6, 0.2, 0.7, 0.1, 0.3, 0.0]

folder = Path(tempfile.mkdtemp())
clean_a, cost_a = patients(8_000)
clean_b, cost_b = patients(8_000)
seen_in_a = apply_missingness(clean_a, lost_in_a, random_state=1).assign(cost=cost_a)
seen_in_b = apply_missingness(clean_b, lost_in_b, random_state=2)
seen_in_a.round(3).to_csv(folder / "a.csv", index=False)
seen_in_b.round(3).to_csv(folder / "b.csv", index=False)

# %%
# Step 1: read
# ------------
# A zero means "zero or not recorded". Empty fields, if there are any, become zeros. Nothing is centred and nothing is
# imputed.
source = pd.read_csv(folder / "a.csv").fillna(0.0)
target = pd.read_csv(folder / "b.csv").fillna(0.0)
X_source, y_source = source.drop(columns="cost"), source["cost"]
X_target = target[X_source.columns]
X_source.head()

# %%
# Step 2: who records what?
# -------------------------
# Relative missingness r compares the shares of recorded values: r = 0.5 means that B shows half of what A shows, r = −1
# that it shows twice as much. It needs no labels and no rates.
from dams import estimate_relative_missingness

relative = estimate_relative_missingness(X_source, X_target, always_recorded=["age"])
relative.plot().figure.set_size_inches(7.4, 4)
print(relative)

# %%
# Step 3: may the difference be called loss?
# ------------------------------------------
# ``check_ucar`` tests what can be tested of the assumption that values are lost completely at random, and says whether
# the populations differ in what both always record.
from dams import check_ucar

report = check_ucar(X_source, X_target, always_recorded=["age"], random_state=0)
print(report)

# %%
# Step 4: which predictor would be best in B?
# -------------------------------------------
# Four candidates are fitted on half of A's patients: a linear model and boosted trees, each as it is and adapted to B. The
# other half, moved to B's missingness, says how good each would be in B. The first one, which A uses today, is kept unless
# another is clearly better.
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from dams import ClosedFormRegressor, TwoWayEstimator, compare_target_risk

halves = train_test_split(X_source, y_source, test_size=0.5, random_state=0)
X_train, X_held_out, y_train, y_held_out = halves
known = {"always_recorded": ["age"]}
trees = HistGradientBoostingRegressor(max_iter=60)
two_way = TwoWayEstimator(
    HistGradientBoostingRegressor(max_iter=60), n_draws=3, random_state=0, **known
)
models = {
    "trees, not adapted": trees.fit(X_train, y_train),
    "trees, two-way": two_way.fit(X_train, y_train, X_target=X_target),
    "linear, not adapted": LinearRegression().fit(X_train, y_train),
    "linear, closed form": ClosedFormRegressor(**known).fit(
        X_train, y_train, X_target=X_target
    ),
}
comparison = compare_target_risk(
    models, X_held_out, y_held_out, X_target, random_state=0, **known
)
print(comparison)
comparison.table[["estimate", "lower", "upper", "source_risk"]].round(2)

# %%
# Step 5: should I deploy?
# ------------------------
# Yes, the predictor that was chosen: the assumption was not rejected, the populations agree, and its risk in B is
# clearly below that of the unadapted one. A's own hold-out would have kept the unadapted one.
#
# Here B's costs are known, because we made them up. The crosses are the true errors.

# sphinx_gallery_thumbnail_number = 2
truth = {
    name: np.mean((cost_b - model.predict(X_target)) ** 2) for name, model in models.items()
}

table, height = comparison.table, np.arange(len(models))[::-1]
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
error = [table["estimate"] - table["lower"], table["upper"] - table["estimate"]]
axes.errorbar(
    table["estimate"],
    height,
    xerr=error,
    fmt="o",
    color="#0072b2",
    capsize=4,
    label="estimated for B, 95 % interval",
)
axes.plot(
    list(truth.values()), height, "kx", markersize=9, markeredgewidth=2, label="true error in B"
)
axes.plot(
    table["source_risk"], height, "s", color="#d55e00", fillstyle="none", label="hold-out of A"
)
axes.set_yticks(height, list(models))
axes.set_ylim(-0.5, len(models) - 0.5)
axes.set_xlabel("mean squared error of the predicted cost")
figure.legend(loc="outside lower center", ncols=2, frameon=False)

# %%
# Where it would have been "no": if ``check_ucar`` had rejected (:doc:`plot_rejected`), if age differed between the
# hospitals, or if loss depends on the outcome strongly enough (:doc:`plot_sensitivity`). Label some patients of B
# wherever much depends on the answer.
