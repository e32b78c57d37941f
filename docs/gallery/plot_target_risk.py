"""
Choosing a model for a target without labels
============================================

A hold-out of source rows says how good a predictor is in the source. The better a predictor is adapted to the target, the
worse it looks there. ``target_risk`` estimates the risk in the target from the same rows.
"""

# %%
# Twelve predictors
# -----------------
# Three tests measure nearly the same thing. The source loses mostly the first, the target mostly the second. The
# candidates lie between the source predictor and the closed form, so their true errors are spread out.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, apply_missingness, target_risk

rng = np.random.default_rng(0)
severity = rng.normal(size=(24_000, 1))
clean = 2 + severity + 0.5 * rng.normal(size=(24_000, 3))
y = 3 * severity[:, 0] + rng.normal(size=24_000)

source = apply_missingness(clean[:16_000], [0.7, 0.1, 0.4], random_state=1)
target = apply_missingness(clean[16_000:], [0.1, 0.7, 0.3], random_state=2)
X_train, X_held_out = source[:8_000], source[8_000:]
y_train, y_held_out, y_target = y[:8_000], y[8_000:16_000], y[16_000:]

plain = LinearRegression().fit(X_train, y_train)
adapted = ClosedFormRegressor().fit(X_train, y_train, X_target=target)


def between(share):
    """Return a predictor part of the way from the source predictor to the closed form."""
    model = LinearRegression().fit(X_train, y_train)
    model.coef_ = (1 - share) * plain.coef_ + share * adapted.coef_
    model.intercept_ = (1 - share) * plain.intercept_ + share * adapted.intercept_
    return model


shares = np.linspace(0, 1.1, 12)
models = [between(share) for share in shares]

# %%
# Judge them twice
# ----------------
# Both judgements use held-out source rows. The first takes them as they are, the second moves them to the target's
# missingness. The truth needs labels of the target.
by_source = [np.mean((y_held_out - model.predict(X_held_out)) ** 2) for model in models]
found = [target_risk(model, X_held_out, y_held_out, target, random_state=0) for model in models]
truth = [np.mean((y_target - model.predict(target)) ** 2) for model in models]
print(found[0])

# %%
figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
estimate = np.array([risk.estimate for risk in found])
interval = np.array([risk.interval for risk in found])
axes.plot(shares, truth, "k-", linewidth=2, label="true risk in the target")
error = np.abs(interval.T - estimate)
axes.errorbar(
    shares,
    estimate,
    error,
    fmt="o",
    color="#0072b2",
    capsize=3,
    label="target_risk, 95 % interval",
)
axes.plot(
    shares, by_source, "s:", color="#d55e00", fillstyle="none", label="hold-out of the source"
)
axes.set_xlabel("share of the way from the source predictor (0) to the closed form (1)")
axes.set_ylabel("mean squared error")
figure.legend(loc="outside lower center", ncols=2, frameon=False)

# %%
# The source's hold-out prefers the predictor that is worst in the target. ``compare_target_risk`` answers the question
# for several models at once, with intervals of the differences, and ``target_risk_scorer`` lets ``GridSearchCV`` choose
# for the target.
print(f"hold-out of the source: {shares[np.argmin(by_source)]:.1f}")
print(f"target_risk:            {shares[np.argmin(estimate)]:.1f}")
print(f"truth:                  {shares[np.argmin(truth)]:.1f}")
