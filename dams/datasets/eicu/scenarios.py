"""How hospitals differ in the eICU simulator: who loses which values, and whether patients differ too.

========== ==================================================================== =======================================
scenario   what happens                                                         what it violates
========== ==================================================================== =======================================
ucar       one Bernoulli per stay and feature                                   nothing: the paper's assumption
block_ucar one Bernoulli per stay and variable, whose bins vanish together      independence between features
hourly     one Bernoulli per measurement, before the maximum over time          the loss depends on the clean value
population ucar, and severity or the coefficients differ                        one law P(X, Y)
mar        ucar, and the log odds of loss depend on age and unit type           independence of the loss from X
mnar       ucar, and the log odds of loss depend on severity or outcome         independence of the loss from X and Y
========== ==================================================================== =======================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from dams.datasets.eicu.catalogue import Catalogue
from dams.datasets.eicu.names import Scenario as ScenarioName
from dams.datasets.eicu.names import choose_mechanism, sets_rates
from dams.rates import FreeRates, NestedRates

Array = np.ndarray


# Rates of plain UCAR loss below the violations of `population`, `mar` and `mnar`: U(0, 0.45).
_BASE_STRENGTH = 0.5


@dataclass(frozen=True)
class Scenario:
    """One scenario at one strength, with its rates drawn.

    Attributes
    ----------
    rates : array of shape (hospitals, columns of X)
        m of every feature; the two hospitals that are compared come first. In `hourly` a measurement's chance to be
        lost, in `mar` and `mnar` that of a stay at the mean of what the rates depend on.
    """

    name: ScenarioName
    mechanism: str
    strength: float
    variable: Array
    rates: Array

    def draw_losses(self, rng: np.random.Generator, hospital: Array, depends_on: Array) -> Array:
        """Draw which features of which stays are lost after the maximum over time, shape (n, columns).

        Parameters
        ----------
        hospital : array of shape (n,)
            Position of the stay's hospital.
        depends_on : array of shape (n,)
            Standardised property of the stay that `mar` and `mnar` rates depend on.
        """
        shape = (len(hospital), len(self.variable))
        if self.name == "hourly":
            return np.zeros(shape, dtype=bool)
        rates = self.rates[hospital]
        if self.name in ("mar", "mnar"):
            # Opposite signs: were the hospitals to agree, much of the damage would cancel in the ratio q^t/q^s.
            sign = np.where(hospital == 0, -1.0, 1.0)
            rates = expit(logit(rates) + (self.strength * sign * depends_on)[:, None])
        if self.name == "block_ucar":
            draws = rng.random((len(hospital), self.variable.max() + 2))[:, self.variable]
        else:
            draws = rng.random(shape)
        return draws < rates

    def depends_on(self, age: Array, unit: Array, severity: Array, y: Array) -> Array:
        """Return what the rates of `mar` and `mnar` depend on, with mean 0 and variance 1."""
        if self.name == "mar":
            return (age + unit) / np.sqrt(2)
        if self.mechanism == "outcome":
            return (y - y.mean()) / y.std()
        return severity

    def severity_shift(self, hospital: Array) -> Array:
        """Shift of mean severity: `strength` standard deviations outside the first hospital."""
        shifts = self.name == "population" and self.mechanism == "severity"
        return np.where(hospital == 0, 0.0, self.strength * shifts)

    def effect_scale(self, hospital: Array) -> tuple[Array, Array]:
        """Factors of the label's severity and feature coefficients; at strength 1 severity is mute, features flip."""
        changes = self.strength * (self.name == "population" and self.mechanism == "coefficients") * (hospital > 0)
        return 1 - changes, 1 - 2 * changes

    def statement(self) -> dict[str, bool]:
        """Which of the paper's assumptions hold."""
        return {
            "loss_independent_of_values": self.name in ("ucar", "block_ucar", "population"),
            "loss_independent_between_features": self.name in ("ucar", "population"),
            "same_population": self.name != "population",
            "nested_rates": self.mechanism == "nested",
        }


def make_scenario(
    name: ScenarioName,
    mechanism: str | None,
    strength: float,
    cat: Catalogue,
    n_hospitals: int,
    rng: np.random.Generator,
) -> Scenario:
    """Check the choices and draw the rates."""
    mechanism = choose_mechanism(name, mechanism, strength)
    scale = strength if sets_rates(name) else _BASE_STRENGTH
    by_variable = name in ("block_ucar", "hourly")
    variable = cat.timed_variable
    width = int(variable.max()) + 1 if by_variable else len(variable)
    rates = _draw_rates(mechanism, scale, width, n_hospitals, rng)
    rates = np.where(variable >= 0, rates[:, variable] if by_variable else rates, 0.0)
    return Scenario(name, mechanism, strength, variable, rates)


def _draw_rates(mechanism: str, scale: float, width: int, n_hospitals: int, rng: np.random.Generator) -> Array:
    sampler = NestedRates(0.5 * scale, 0.5 * scale) if mechanism == "nested" else FreeRates(0.9 * scale)
    first, second = sampler.sample(width, rng)
    others = [sampler.sample(width, rng)[1] for _ in range(n_hospitals - 2)]
    return np.stack([first, second, *others])
