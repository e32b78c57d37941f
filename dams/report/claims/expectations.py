"""Measurements of a check and where a claim expects them: the parts that all kinds of check share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from dams.experiments.config.fields import Strict
from dams.report.evidence import Evidence
from dams.report.scope import Scope
from dams.stats import Interval

Scalar = str | float


@dataclass(frozen=True)
class Region:
    """Where a quantity lies if the claim holds."""

    lower: float = -math.inf
    upper: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.lower):
            text = f"≤ {self.upper:,g}"
        elif math.isinf(self.upper):
            text = f"≥ {self.lower:,g}"
        elif self.lower == -self.upper:
            text = f"within ±{self.upper:,g}"
        else:
            text = f"= {self.lower:,g}" if self.lower == self.upper else f"{self.lower:,g} to {self.upper:,g}"
        return text.replace("-", "−")


@dataclass(frozen=True)
class Measurement:
    """A quantity of the records with its interval, and where the claim expects it."""

    quantity: str
    interval: Interval
    region: Region
    # Independent pieces behind the interval; None where it is exact or was made elsewhere.
    draws: int | None = None
    # Whether the claim is that the quantity *is* in the region for all that is known: the interval then need only reach
    # it. Otherwise the whole interval must lie in it.
    agrees: bool = False


class Expected(Strict):
    """One of: `below` a bound, `above` it, `within` a distance from zero, `between` two bounds."""

    below: float | None = None
    above: float | None = None
    within: Annotated[float, Field(ge=0)] | None = None
    between: tuple[float, float] | None = None

    def region(self) -> Region:
        """Return the region; without any bound it is everything."""
        if self.between is not None:
            return Region(*self.between)
        if self.within is not None:
            return Region(-self.within, self.within)
        return Region(-math.inf if self.above is None else self.above, math.inf if self.below is None else self.below)


class Node(Strict):
    """Base of all checks."""

    scope: dict[str, Scalar | list[Scalar]] = Field(default_factory=dict)
    hold: Literal["all", "most", "any"] = "all"


class Leaf(Node):
    """A check that measures."""

    def count(self) -> int:
        """Return how many intervals it makes in one place."""
        return 1

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Yield what was measured in a scope whose values are all single.

        A claim rests on `together` intervals, which hold at once at the run's confidence.
        """
        raise NotImplementedError
