"""
What if loss depends on the outcome?
====================================

Tests are repeated where a patient is dying. Such loss leaves hardly a trace in covariates, so no test finds it.
``check_sensitivity`` says how strong it must be before adapting stops paying.
"""

# %%
# Two flags for one event
# -----------------------
# The source loses mostly the second flag, the target mostly the first.
import numpy as np
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, apply_missingness, check_sensitivity

rng = np.random.default_rng(0)
ill = rng.random(30_000) < 0.4
seen = [np.where(rng.random(30_000) < 0.9, ill, rng.random(30_000) < 0.4) for _ in range(2)]
flags = np.column_stack(seen).astype(float)
died = (rng.random(30_000) < 0.05 + 0.4 * ill).astype(float)

source = apply_missingness(flags[:20_000], [0.1, 0.6], random_state=1)
target = apply_missingness(flags[20_000:], [0.6, 0.1], random_state=2)
X_train, X_held_out = source[:10_000], source[10_000:]
y_train, y_held_out = died[:10_000], died[10_000:20_000]

models = {
    "source": LinearRegression().fit(X_train, y_train),
    "closed form": ClosedFormRegressor().fit(X_train, y_train, X_target=target),
}

# %%
# The answer in a sentence
# ------------------------
# Γ is the factor by which the outcome may change what the target keeps, beyond r. At Γ = 1 loss does not depend on the
# outcome.
found = check_sensitivity(models, X_held_out, y_held_out, target)
print(found)

# %%
# The answer as a picture
# -----------------------
# Between the lines lies every risk difference that some loss with this Γ can cause. Where the area reaches zero, a loss
# exists for which the source predictor is as good.
found.plot().figure.set_size_inches(7.4, 4)

# %%
# The worst case is a loss that one can judge: what the target would keep of patients who die and of those who do not.
gamma = found.stops["closed form"]
found.worst_case("closed form", gamma).round(2)
