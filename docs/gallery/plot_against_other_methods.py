"""
Against other methods of domain adaptation
==========================================

Two places measure the same eight quantities of the same population, and lose values at different rates: a zero may mean
"lost". CORAL, optimal transport and reweighting are methods for shifts of other kinds. Here they run beside the
adjustments of `dams`, all as pipelines of `skada`, and all get the same rows: labelled source, unlabelled target.
"""

# %%
# The data: correlated positive quantities, a linear label with noise. The source loses some columns more often than the
# target, and others less often.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from skada import (
    CORALAdapter,
    DiscriminatorReweightAdapter,
    LinearOTMappingAdapter,
    make_da_pipeline,
)
from sklearn.linear_model import Ridge

from dams import ClosedFormRegressor, MissingnessFilter, TwoWayEstimator, apply_missingness
from dams.skada import DomainAwareEstimator, FilterAdapter

N, D = 1_000, 8


def draw_domains(seed):
    """Rows of source and target in one table, their labels and their domains, as skada has them."""
    rng = np.random.default_rng(seed)
    clean = np.exp(0.4 * rng.normal(size=(3 * N, D)) + 0.4 * rng.normal(size=(3 * N, 1)))
    y = clean @ rng.normal(size=D) + 0.3 * rng.normal(size=3 * N)
    source = apply_missingness(clean[:N], rng.uniform(0, 0.6, size=D), random_state=rng)
    target = apply_missingness(clean[N:], rng.uniform(0, 0.6, size=D), random_state=rng)
    return np.concatenate([source, target]), y, np.repeat([1, -2], [N, 2 * N])


# %%
# Every method is one pipeline. `FilterAdapter` is a step before any estimator; `DomainAwareEstimator` is the last step.
# The oracle is trained on target rows with their labels, which nobody has in earnest.

weighted = Ridge().set_fit_request(sample_weight=True)
pipelines = {
    "source, not adapted": make_da_pipeline(Ridge()),
    "CORAL": make_da_pipeline(CORALAdapter(), Ridge()),
    "optimal transport": make_da_pipeline(LinearOTMappingAdapter(), Ridge()),
    "reweighting": make_da_pipeline(DiscriminatorReweightAdapter(), weighted),
    "dams: filter": make_da_pipeline(FilterAdapter(MissingnessFilter(random_state=0)), Ridge()),
    "dams: two-way": make_da_pipeline(
        DomainAwareEstimator(TwoWayEstimator(Ridge(), random_state=0))
    ),
    "dams: closed form": make_da_pipeline(DomainAwareEstimator(ClosedFormRegressor())),
}

# %%
# Ten draws of rates and labels. Half of the target's rows are kept for testing. The filter would warn that the target
# records some columns better, which deleting cannot imitate.

warnings.filterwarnings("ignore", message="The target records")

scores = {name: [] for name in (*pipelines, "oracle")}
for seed in range(10):
    X, y, domain = draw_domains(seed)
    train = np.arange(3 * N) < 2 * N
    test = ~train
    for name, pipeline in pipelines.items():
        model = pipeline.fit(X[train], y[train], sample_domain=domain[train])
        scores[name].append(model.score(X[test], y[test], sample_domain=domain[test]))
    labelled = train & (domain < 0)
    scores["oracle"].append(Ridge().fit(X[labelled], y[labelled]).score(X[test], y[test]))

# %%
# R² in the target: one dot per draw, a bar at the mean.

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for height, (name, values) in enumerate(scores.items()):
    ours = name.startswith("dams")
    axes.plot(
        values,
        np.full(len(values), height),
        "o",
        color="#0072b2" if ours else "#888888",
        alpha=0.5,
    )
    axes.plot(np.mean(values), height, "|", color="black", markersize=18, markeredgewidth=2)
axes.axvline(0, color="#bbbbbb", linewidth=0.8)
axes.set_yticks(range(len(scores)), list(scores))
axes.invert_yaxis()
axes.set_xlabel("R² in the target")
for side in ("top", "right"):
    axes.spines[side].set_visible(False)

# %%
# Methods that align distributions of covariates take a lost value for a small one. The adjustments of `dams` know
# what a zero may mean, and come close to the oracle. Where the shift is of another kind, they have nothing to offer:
# :func:`dams.check_ucar` and :func:`dams.compare_target_risk` tell before a label of the target is seen.

for name, values in scores.items():
    print(f"{name:20} {np.mean(values):6.2f}")
