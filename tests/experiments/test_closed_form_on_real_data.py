"""What the stable closed form promises, on all Thyroid cells of the paper's design, where the plain one explodes."""

import os

import numpy as np
import pytest

from dams.datasets import load_uci
from dams.experiments.cells import build_cell, clean_table
from dams.experiments.design import CellKey, Label
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.experiments.seeding import generator
from dams.rates import FreeRates, NestedRates

pytestmark = pytest.mark.skipif(
    "DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files"
)


@pytest.mark.filterwarnings("ignore:The target holds only zeros")
@pytest.mark.parametrize("regime", ["nested", "free"])
def test_no_fit_explodes(regime):
    labels = tuple(Label("random_linear", beta) for beta in range(10))
    clean = clean_table(load_uci("thyroid"), "thyroid", labels, seed=2023)
    scores = {method: [] for method in ("oracle", "source", "nonparametric", "closed_form")}
    for draw in range(50):
        key = CellKey("thyroid", regime, None, {"nested": NestedRates(), "free": FreeRates()}[regime], draw)
        cell = build_cell(key, labels, clean, seed=2023)
        for method, found in scores.items():
            rng = generator(2023, "method", *key.parts, method)
            found.append(MODELS["linear"].errors(*METHODS[method].prepare(cell, rng), rng) / cell.var_y)
    stable, means = np.array(scores["closed_form"]), {method: np.mean(found) for method, found in scores.items()}
    assert stable.max() < 1.1
    assert (stable / scores["source"]).max() < 1.5
    if regime == "nested":
        assert means["closed_form"] - means["oracle"] < 0.005
    else:
        assert means["closed_form"] < means["nonparametric"] < means["source"]
