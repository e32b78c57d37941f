"""
Classification with probabilities that can be trusted
=====================================================

A threshold on a predicted risk is only as good as the probability. Missingness shift spoils probabilities before it
spoils rankings. This example adapts a classifier, calibrates it *inside* the adaptation, and draws its reliability in
the target.
"""

# %%
# Two places
# ----------
# Eight diagnoses, 0 or 1, are more frequent the sicker a patient is. The source records most of the first four and few of
# the others; in the target it is the other way round. The label is an event.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import brier_score_loss, roc_auc_score

from dams import TwoWayEstimator, apply_missingness

rng = np.random.default_rng(0)


def place(n, rates, seed):
    severity = rng.normal(size=n)
    diagnoses = rng.random((n, 8)) < 1 / (1 + np.exp(0.5 - 2 * severity[:, None]))
    event = rng.random(n) < 1 / (1 + np.exp(1 - 3 * severity))
    return apply_missingness(diagnoses.astype(float), rates, random_state=seed), event


SOURCE, TARGET = [0.1] * 4 + [0.7] * 4, [0.7] * 4 + [0.3] * 4
X_source, y_source = place(8_000, SOURCE, seed=1)
X_target, y_target = place(8_000, TARGET, seed=2)
X_test, y_test = place(20_000, TARGET, seed=3)

# %%
# Calibrate inside, not around
# ----------------------------
# ``CalibratedClassifierCV`` around an adapted estimator would calibrate on source rows and undo the adaptation. As the
# base estimator it calibrates on the adjusted rows.
base = CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=40), cv=3)
two_way = TwoWayEstimator(base, n_draws=3, random_state=0)
models = {
    "source": clone(base).fit(X_source, y_source),
    "two-way": two_way.fit(X_source, y_source, X_target=X_target),
    "oracle": clone(base).fit(X_target, y_target),
}
probabilities = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}

# %%
# In the target
# -------------
# On the diagonal, three in ten of the patients with a predicted risk of 30 % have the event. The source predictor was
# calibrated, but in the source: in the target its risks are far too low.
figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
styles = {
    "source": ("#d55e00", "s", ":"),
    "two-way": ("#cc79a7", "o", "-"),
    "oracle": ("0.3", "D", "--"),
}
for name, (color, marker, line) in styles.items():
    p = probabilities[name]
    happened, predicted = calibration_curve(y_test, p, n_bins=10, strategy="quantile")
    brier, auroc = brier_score_loss(y_test, p), roc_auc_score(y_test, p)
    said = f"{name}: Brier {brier:.3f}, AUROC {auroc:.3f}"
    axes.plot(
        predicted, happened, line, color=color, marker=marker, fillstyle="none", label=said
    )
axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
axes.set_xlabel("predicted probability")
axes.set_ylabel("share with the event")
axes.legend(frameon=False, loc="lower right")

# %%
# Without labels of the target you would not see this picture. ``target_risk(..., loss="brier")`` estimates the Brier score
# without them: :doc:`plot_target_risk`.
