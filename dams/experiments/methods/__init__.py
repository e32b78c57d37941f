"""The predictors that are compared. To add one: a module in this folder with a function, and a line in METHODS.

A method turns a cell into the sample to train on and the sample to test on. What is trained on it, and how the error
is measured, is the model's affair (`dams.experiments.models`). A method that draws at random may return several samples
to train on (`Draws`): the predictions of their models are averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dams._registry import load

if TYPE_CHECKING:
    import numpy as np

    from dams.experiments.cells import Cell
    from dams.experiments.models import Sample, Training

    Prepare = Callable[[Cell, np.random.Generator], tuple[Training, Sample]]


@dataclass(frozen=True)
class Method:
    """A way to prepare training and test data from a cell.

    Attributes
    ----------
    title : str
        As tables and legends show it.
    path : str
        `module:function` of the preparation (cell, generator) -> (train, test).
    models : tuple of str or None
        Model families that it applies to; None means all.
    shared : bool
        Whether the preparation is costly and serves every model family, so that it gets jobs of its own.
    per_label : bool
        Whether the preparation looks at the labels, so that each label vector needs one of its own.
    variant : str
        "as_published" for a method that repeats a documented defect of the paper's protocol.
    """

    title: str
    path: str
    models: tuple[str, ...] | None = None
    shared: bool = False
    per_label: bool = False
    variant: Literal["corrected", "as_published"] = "corrected"

    @property
    def prepare(self) -> Prepare:
        """The preparation."""
        return load(self.path)

    def applies_to(self, model: str) -> bool:
        """Whether the method can be used with this model family."""
        return self.models is None or model in self.models


# In the order in which tables and legends show them.
METHODS: dict[str, Method] = {
    "oracle": Method("Oracle", "dams.experiments.methods.unadjusted:oracle"),
    "source": Method("Source", "dams.experiments.methods.unadjusted:source"),
    "imputed": Method("Imputed", "dams.experiments.methods.imputed:imputed", shared=True),
    "closed_form": Method("Closed-form", "dams.experiments.methods.closed_form:closed_form", ("linear",)),
    "closed_form_as_published": Method(
        "Closed-form (as published)",
        "dams.experiments.methods.closed_form:closed_form_as_published",
        ("linear",),
        variant="as_published",
    ),
    "nonparametric": Method("Non-parametric", "dams.experiments.methods.nonparametric:nonparametric"),
    "two_way": Method("Two-way (ours)", "dams.experiments.methods.two_way:two_way", shared=True, per_label=True),
}
