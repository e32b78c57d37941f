"""Regimes: how the rates of source and target are drawn, as a configuration names them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from dams.experiments.config.fields import Name, OneOrMore, Rate, Strict
from dams.rates import FreeRates, NestedRates, OpposingRates

# By these names tables know the symbols of regimes.
KINDS = ("nested", "free", "opposing")
# Of ε, in one regime.
MOST_VALUES = 1_000


class _Named(Strict):
    """A regime is called after its kind or by a name of its own, never after another kind."""

    @field_validator("name", check_fields=False)
    @classmethod
    def _not_of_another_kind(cls, name: str, info: ValidationInfo) -> str:
        kind = info.data.get("kind")
        if name in KINDS and name != kind:
            raise ValueError(
                f"'{name}' is another kind of regime than '{kind}', and tables would show it as such; choose another "
                f"name, or `kind: {name}`"
            )
        return name


class NestedRegime(_Named):
    """The target loses no less than the source: m^s ~ U(0, source_high), m^t = m^s + (1 − m^s) U(0, extra_high)."""

    kind: Literal["nested"]
    name: Name = "nested"
    source_high: Rate = 0.5
    extra_high: Rate = 0.5

    def samplers(self) -> list[tuple[float | None, NestedRates]]:
        """Return the one sampler."""
        return [(None, NestedRates(self.source_high, self.extra_high))]


class FreeRegime(_Named):
    """Rates of either order: m^s and m^t ~ U(0, high)."""

    kind: Literal["free"]
    name: Name = "free"
    high: Rate = 0.9

    def samplers(self) -> list[tuple[float | None, FreeRates]]:
        """Return the one sampler."""
        return [(None, FreeRates(self.high))]


class Grid(Strict):
    """Evenly spaced values from `start`, none beyond `stop`."""

    start: float
    stop: float
    step: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _has_values(self) -> Grid:
        if self.stop < self.start:
            raise ValueError(f"stop must not be below start, got {self.stop:g} < {self.start:g}")
        # A quotient that overflows is too large as well.
        if (self.stop - self.start) / self.step >= MOST_VALUES:
            raise ValueError(
                f"expected at most {MOST_VALUES:,} values from start to stop, got a step of {self.step:g}; take a "
                "larger one"
            )
        return self

    def values(self) -> list[float]:
        """List the values, free of accumulated rounding."""
        steps = math.floor((self.stop - self.start) / self.step + 1e-9)
        return [round(self.start + i * self.step, 10) for i in range(steps + 1)]


def _kind_of_epsilon(epsilon: Any) -> str:
    return "grid" if isinstance(epsilon, dict | Grid) else "list" if isinstance(epsilon, list) else "value"


# One kind is meant, and only its mistakes are worth telling.
Epsilon = Annotated[
    Annotated[float, Tag("value")]
    | Annotated[OneOrMore[float], Field(max_length=MOST_VALUES), Tag("list")]
    | Annotated[Grid, Tag("grid")],
    Discriminator(_kind_of_epsilon),
]


class OpposingRegime(_Named):
    """m^s alternates 1 − ε and ε over the columns, m^t is the reverse; one or many ε."""

    kind: Literal["opposing"]
    name: Name = "opposing"
    epsilon: Epsilon = 0.1

    @field_validator("epsilon")
    @classmethod
    def _in_open_interval(cls, epsilon: Any) -> Any:
        for value in _epsilons(epsilon):
            if not 0 < value < 1:
                raise ValueError(f"epsilon must lie between 0 and 1, both excluded, got {value:g}")
        return epsilon

    def samplers(self) -> list[tuple[float | None, OpposingRates]]:
        """Return one sampler per ε."""
        return [(value, OpposingRates(value)) for value in _epsilons(self.epsilon)]


def _epsilons(epsilon: float | list[float] | Grid) -> list[float]:
    if isinstance(epsilon, Grid):
        return epsilon.values()
    return epsilon if isinstance(epsilon, list) else [epsilon]


Regime = Annotated[NestedRegime | FreeRegime | OpposingRegime, Field(discriminator="kind")]
