"""Names of the study: mechanisms of loss and shift, and the tables that they are tried on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mechanism:
    """How source and target differ: its title, and a sentence with the strength s that a configuration gives."""

    title: str
    about: str


# Rates of both domains are U(0, 0.6) in every mechanism but the first two: the others come on top of UCAR.
MECHANISMS: dict[str, Mechanism] = {
    "none": Mechanism("No shift", "source and target lose values at the same rates"),
    "ucar": Mechanism(
        "Rates differ (UCAR)", "the target's rates are the share s of the way from the source's to rates drawn anew"
    ),
    "age": Mechanism(
        "Loss by age", "the log odds of loss change by s per standard deviation of age, with opposite signs"
    ),
    "value": Mechanism(
        "Loss by own value",
        "the log odds of loss change by s with the value; of a 0/1 column, with how much the row holds",
    ),
    "outcome": Mechanism("Loss by outcome", "the log odds of loss change by s per standard deviation of the label"),
    "panels": Mechanism("Panels lost together", "five columns share a rate, and with probability s a mask"),
    "population": Mechanism("Other population", "target rows are drawn with weights exp(s · age)"),
    "label": Mechanism("Label shift", "target rows are drawn with weights exp(s · label)"),
    "concept": Mechanism("Concept shift", "the target's β is (1 − s) β + s β′, β′ drawn anew"),
}
# Tables with a column of age, which is never lost and serves as the anchor.
TABLES = ("adult", "bank", "thyroid", "diabetes")
EICU = "eicu"
DATASETS = (*TABLES, EICU)


def strengths_of(mechanism: str, strengths: list[float]) -> list[float]:
    """Return the strengths at which a mechanism is run; without a shift there is but one."""
    return [0.0] if mechanism == "none" else list(strengths)
