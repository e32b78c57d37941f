"""
A sweep by YAML
===============

The paper's experiments are configurations: data sets × regimes × models × methods. A new sweep is a new YAML file. This
one asks how far the methods fall behind the oracle as rates get higher, on the digits that ship inside scikit-learn.
"""

# %%
# The file
# --------
# On the command line ``dams check my_sweep.yaml`` says what it would run, and ``dams run my_sweep.yaml`` runs it on all
# cores and writes tables, figures and a report page to ``results/my_sweep/``.
import yaml

SWEEP = """
name: my_sweep
studies:
  ranges:
    datasets: [digits]
    regimes:
      - {kind: free, name: free_30, high: 0.3}
      - {kind: free, name: free_60, high: 0.6}
      - {kind: free, name: free_90, high: 0.9}
    models:
      linear: {draws: 6, betas: 3}
    methods: [oracle, source, nonparametric, closed_form]
"""

# %%
# The same in Python
# ------------------
# ``parse`` checks the configuration; a misspelt key is answered with the nearest valid one. A block is what one job of
# the pipeline does. The sweep is small, so we run its blocks here, one after another.
import pandas as pd

from dams.datasets.embedded import load_digits
from dams.experiments.config import parse
from dams.experiments.design import blocks
from dams.experiments.run import run_block

config = parse(yaml.safe_load(SWEEP))
digits = load_digits()
records = pd.concat([run_block(block, digits)[0] for block in blocks(config)])
records[["regime", "method", "draw", "beta", "score", "rate_distance"]].head()

# %%
# What came out
# -------------
# Rates, masks and labels of a cell are the same for all methods, so differences from the oracle are taken cell by cell.
cell = ["regime", "draw", "beta"]
scores = records.set_index([*cell, "method"])["score"].unstack()
excess = scores.sub(scores["oracle"], axis=0).drop(columns="oracle").reset_index()
excess.groupby("regime")[["source", "nonparametric", "closed_form"]].mean().round(3)

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
regimes = excess["regime"].unique()
styles = {
    "source": ("s", "#d55e00"),
    "nonparametric": ("v", "#009e73"),
    "closed_form": ("o", "#0072b2"),
}
for shift, (method, (marker, color)) in zip((-0.2, 0, 0.2), styles.items(), strict=True):
    at = excess["regime"].map({regime: number + shift for number, regime in enumerate(regimes)})
    label = method.replace("_", " ")
    axes.plot(at, excess[method], marker, color=color, alpha=0.6, fillstyle="none", label=label)
    means = excess.groupby(at)[method].mean()
    axes.hlines(means, means.index - 0.08, means.index + 0.08, color="black", linewidth=2)
axes.axhline(0, color="0.6", linewidth=1)
axes.set_xticks(range(len(regimes)), [f"rates up to 0.{regime[5]}" for regime in regimes])
axes.set_ylabel("MSE/Var(Y) above the oracle's")
axes.legend(frameon=False, loc="upper left")

# %%
# One marker per cell, black lines are means. :doc:`/generated/pages/configuration` explains every key.
