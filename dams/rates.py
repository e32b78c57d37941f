"""Samplers of the rates at which values are lost in source and target.

Without pandas: whoever reads a configuration, as Snakemake does each time that it starts, needs these and no tables.
"""

from dataclasses import dataclass

import numpy as np

Rates = np.ndarray


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}.")


@dataclass(frozen=True)
class NestedRates:
    """Rates of which the target's are at least as high: m^s ~ U(0, a), m^t = m^s + (1 − m^s) · U(0, b).

    Parameters
    ----------
    source_high : float
        The highest rate of the source, a.
    extra_high : float
        The highest share of what the source keeps that the target loses, b.

    See Also
    --------
    FreeRates : Rates of either order.
    apply_missingness : Lose values at given rates.
    """

    source_high: float = 0.5
    extra_high: float = 0.5

    def __post_init__(self) -> None:
        _check_share("source_high", self.source_high)
        _check_share("extra_high", self.extra_high)

    def sample(self, n_features: int, rng: np.random.Generator) -> tuple[Rates, Rates]:
        """Draw (m^s, m^t)."""
        source = rng.uniform(0, self.source_high, n_features)
        return source, source + (1 - source) * rng.uniform(0, self.extra_high, n_features)


@dataclass(frozen=True)
class FreeRates:
    """Rates of either order, the paper's "m^s ? m^t": both U(0, high), independently.

    Parameters
    ----------
    high : float
        The highest rate.

    See Also
    --------
    NestedRates : The target loses at least as much as the source.
    apply_missingness : Lose values at given rates.
    """

    high: float = 0.9

    def __post_init__(self) -> None:
        _check_share("high", self.high)

    def sample(self, n_features: int, rng: np.random.Generator) -> tuple[Rates, Rates]:
        """Draw (m^s, m^t)."""
        return rng.uniform(0, self.high, n_features), rng.uniform(0, self.high, n_features)


@dataclass(frozen=True)
class OpposingRates:
    """Rates of the synthetic design: m^s alternates 1 − ε, ε over the columns, m^t is the reverse; nothing is random.

    Parameters
    ----------
    epsilon : float
        The rate ε; the other one is 1 − ε.

    See Also
    --------
    FreeRates : Rates of either order, drawn at random.
    dams.theory.Redundant : The example with these rates.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < 1:
            raise ValueError(f"epsilon must lie between 0 and 1, got {self.epsilon!r}.")

    def sample(self, n_features: int, rng: np.random.Generator) -> tuple[Rates, Rates]:
        """Return (m^s, m^t); `rng` is unused and there so that all samplers are called alike."""
        even = np.arange(n_features) % 2 == 0
        return np.where(even, 1 - self.epsilon, self.epsilon), np.where(even, self.epsilon, 1 - self.epsilon)
