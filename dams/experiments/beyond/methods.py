"""Every predictor of the study, all of them linear: from a cell to a fitted model.

To add one: a function, and a line in METHODS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.linear_model import LinearRegression

from dams._extras import how_to_install
from dams.estimators.closed_form import ClosedFormRegressor
from dams.estimators.filtered import FilteredEstimator
from dams.estimators.two_way import TwoWayEstimator
from dams.experiments.beyond.cells import ShiftCell

# Models averaged by the methods that draw.
DRAWS = 3
# By skada's convention source domains are positive and target domains negative.
SOURCE, TARGET = 1, -2
_SEED = 0

Fit = Callable[[ShiftCell], Any]


@dataclass(frozen=True)
class Method:
    """A predictor: its title, how it is fitted, and whether it comes from skada."""

    title: str
    fit: Fit
    skada: bool = False


def _oracle(cell: ShiftCell) -> Any:
    return LinearRegression().fit(cell.target.X, cell.target.y)


def _source(cell: ShiftCell) -> Any:
    return LinearRegression().fit(cell.source.X, cell.source.y)


def _adapted(model: Any, cell: ShiftCell) -> Any:
    return model.fit(cell.source.X, cell.source.y, X_target=cell.target.X)


def _closed_form(cell: ShiftCell) -> Any:
    return _adapted(ClosedFormRegressor(always_recorded=cell.always), cell)


def _anchored(cell: ShiftCell) -> Any:
    return _adapted(ClosedFormRegressor(always_recorded=cell.always, anchors=cell.anchors), cell)


def _filtered(cell: ShiftCell) -> Any:
    model = FilteredEstimator(LinearRegression(), n_draws=DRAWS, always_recorded=cell.always, random_state=_SEED)
    return _adapted(model, cell)


def _two_way(cell: ShiftCell) -> Any:
    model = TwoWayEstimator(LinearRegression(), n_draws=DRAWS, always_recorded=cell.always, random_state=_SEED)
    return _adapted(model, cell)


@dataclass(frozen=True)
class _Pipeline:
    """A fitted pipeline of skada, which needs scikit-learn's metadata routing."""

    steps: Any

    def predict(self, X: np.ndarray) -> np.ndarray:
        with sklearn.config_context(enable_metadata_routing=True):
            return np.asarray(self.steps.predict(X, sample_domain=np.full(len(X), TARGET)))


def _through_skada(adapter: str, *, weights: bool = False) -> Fit:
    """Return the fit of a pipeline of one of skada's adapters and least squares."""

    def fit(cell: ShiftCell) -> Any:
        skada = import_skada()
        with sklearn.config_context(enable_metadata_routing=True):
            model = LinearRegression().set_fit_request(sample_weight=True) if weights else LinearRegression()
            pipeline = skada.make_da_pipeline(getattr(skada, adapter)(), model)
            # Labels of the target are hidden.
            y = np.concatenate([cell.source.y, np.full(len(cell.target.y), np.nan)])
            domain = np.repeat([SOURCE, TARGET], [len(cell.source.y), len(cell.target.y)])
            pipeline.fit(np.concatenate([cell.source.X, cell.target.X]), y, sample_domain=domain)
        return _Pipeline(pipeline)

    return fit


def import_skada() -> Any:
    """Return skada, or say how to get it."""
    try:
        # Importing it turns metadata routing on, which is not for the other methods to meet.
        with sklearn.config_context():
            import skada
    except ModuleNotFoundError as error:
        if error.name != "skada":
            raise
        raise ModuleNotFoundError(
            f"beyond.others: these methods come from skada, which is not installed: {how_to_install('skada')} installs "
            "it; `others: false` goes without.",
            name="skada",
        ) from error
    return skada


METHODS: dict[str, Method] = {
    "oracle": Method("Oracle", _oracle),
    "source": Method("Source", _source),
    "closed_form": Method("Closed form", _closed_form),
    "anchored": Method("Closed form, anchors", _anchored),
    "filter": Method("Filter", _filtered),
    "two_way": Method("Two-way", _two_way),
    "coral": Method("CORAL", _through_skada("CORALAdapter"), skada=True),
    # Between Gaussian laws, in closed form. Transport of samples costs the square of the rows, and that of skada 0.6
    # takes the masked labels of a regression, NaN, for labels.
    "transport": Method("Optimal transport", _through_skada("LinearOTMappingAdapter"), skada=True),
    "reweighting": Method("Reweighting", _through_skada("DiscriminatorReweightAdapter", weights=True), skada=True),
}
