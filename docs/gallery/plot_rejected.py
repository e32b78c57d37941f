"""
``check_ucar`` rejects: what to do
==================================

Every adjustment rests on an assumption: a value is lost with a probability that depends on nothing else (UCAR). In many
places loss depends on age. This example shows how ``check_ucar`` finds that, and how anchors mend it.
"""

# %%
# Loss that depends on age
# ------------------------
# Age is always recorded. The source loses laboratory values at random; the target records less of the old than of the
# young, and its patients are older.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, check_ucar

rng = np.random.default_rng(1)
LABS = ["lactate", "creatinine", "bilirubin", "glucose"]


def hospital(n, mean_age, slope):
    age = rng.normal(mean_age, 12, n)
    clean = 1 + rng.normal(size=(n, 4)) + 0.05 * (age[:, None] - 60)
    kept = rng.random((n, 4)) < 1 / (1 + np.exp(-1 - slope * (age[:, None] - 60) / 12))
    y = clean @ [1.0, 1.0, 0.5, 0.5] + rng.normal(size=n)
    return pd.DataFrame(clean * kept, columns=LABS).assign(age=age), y


X_source, y_source = hospital(5_000, mean_age=60, slope=0.0)
X_target, y_target = hospital(5_000, mean_age=65, slope=-1.0)

# %%
# The test
# --------
# Told only that age is always recorded, it rejects, and names suspects. The picture shows the largest checks: every
# laboratory value is recorded together with a high age less often than random loss allows.
plain = check_ucar(X_source, X_target, always_recorded=["age"], random_state=0)
plain.plot(most=8).figure.set_size_inches(7, 4)
print(plain)

# %%
# What can be done
# ----------------
# Look at the suspects first: do both places use the same units, the same codes, the same definition? If so, think of what
# the loss may depend on. Columns that both places always record, and on which loss may depend, are *anchors*. Given the
# anchors, the same test asks whether loss is random at every age.
# It does not reject. That the target is older remains true, and is no loss: weights account for it.
given = check_ucar(X_source, X_target, anchors=["age"], random_state=0)
given.plot(most=8).figure.set_size_inches(7, 4)
print(given)

# %%
# Does it help?
# -------------
# The estimators take the same parameter. The oracle, trained on labelled target rows, is the best that any linear
# predictor can be.
X_test, y_test = hospital(20_000, mean_age=65, slope=-1.0)
plain_form = ClosedFormRegressor(always_recorded=["age"])
anchored_form = ClosedFormRegressor(anchors=["age"])
models = {
    "source": LinearRegression().fit(X_source, y_source),
    "closed form": plain_form.fit(X_source, y_source, X_target=X_target),
    "closed form, anchors": anchored_form.fit(X_source, y_source, X_target=X_target),
    "oracle": LinearRegression().fit(X_target, y_target),
}
errors = {name: 1 - model.score(X_test, y_test) for name, model in models.items()}

figure, axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
colours = ["#d55e00", "#56b4e9", "#0072b2", "0.6"]
bars = axes.barh(list(errors), list(errors.values()), height=0.6, color=colours)
axes.bar_label(bars, fmt="%.3f", padding=4)
axes.margins(x=0.12)
axes.invert_yaxis()
axes.set_xlabel("error in the target, MSE/Var(Y)")

# %%
# If a rejection stays whatever you try, do not adapt: keep the source predictor, and label some target rows
# (:doc:`/which_estimator`).
