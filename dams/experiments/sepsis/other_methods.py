"""Other adaptation methods, through skada: they align or weigh rows, and know nothing of what a zero means."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import config_context, set_config

from dams._extras import how_to_install
from dams.experiments.sepsis.cells import HospitalCell, Prediction, Predictor

# Each by its title and the name of skada's adapter, which is used with its defaults. None is quadratic in rows.
ADAPTERS = {
    "coral": ("CORAL", "CORALAdapter"),
    "optimal_transport": ("Linear optimal transport", "LinearOTMappingAdapter"),
    "gaussian_weights": ("Gaussian reweighting", "GaussianReweightAdapter"),
    "discriminator_weights": ("Discriminator reweighting", "DiscriminatorReweightAdapter"),
}


def through_skada(adapter: str) -> Predictor:
    """Return the predictor of one of skada's adapters in front of a linear model."""

    def predict(cell: HospitalCell, model: Any) -> Prediction:
        if find_spec("skada") is None:
            raise ValueError(f"skada is not installed: {how_to_install('skada')}.")
        X = np.vstack([cell.source.X, cell.target.X])
        # Labels of the target are hidden; domains are 1 and −2, by skada's convention.
        y = np.concatenate([cell.source.y, np.full(len(cell.target.y), np.nan)])
        domain = np.repeat([1, -2], [len(cell.source.y), len(cell.target.y)])
        test = cell.test.X.to_numpy()
        # Importing skada turns on metadata routing for good, which other methods should not notice.
        with config_context():
            skada = import_module("skada")
            set_config(enable_metadata_routing=True)
            base = model.set_fit_request(sample_weight=True) if "Reweight" in adapter else model
            pipeline = skada.make_da_pipeline(getattr(skada, adapter)(), base)
            pipeline.fit(X, y, sample_domain=domain)
            return Prediction(pipeline.predict(test, sample_domain=np.full(len(test), -2)))

    return predict
