"""Shared by the checks: their registration, the random cases they run on, the measures of deviation they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dams.theory.laws import DiscreteLaw

Array = np.ndarray
Deviation = Callable[[np.random.Generator], float]

EXACT = 1e-9
# A difference that is claimed must be at least this large, far above any rounding.
MARGIN = 1e-6
N_CASES = 10


@dataclass(frozen=True)
class Check:
    """A statement of the paper and the function that measures how far off it is."""

    statement: str
    where: str
    how_checked: str
    tolerance: float
    deviation: Deviation


class Section(list[Check]):
    """The checks of one section of the paper, in its order."""

    def add(
        self, statement: str, where: str, how_checked: str, tolerance: float = EXACT
    ) -> Callable[[Deviation], Deviation]:
        """Decorate a function of a random generator that returns the largest deviation it saw."""

        def register(deviation: Deviation) -> Deviation:
            self.append(Check(statement, where, how_checked, tolerance, deviation))
            return deviation

        return register


def cases(rng: np.random.Generator, *, nested: bool = False) -> Iterator[tuple[DiscreteLaw, Array, Array]]:
    """Random laws with random rates of source and target, m^s ≤ m^t if `nested`."""
    for _ in range(N_CASES):
        law = DiscreteLaw.random(rng)
        rates = rng.uniform(0, 0.9, (2, law.n_features))
        m_source, m_target = np.sort(rates, axis=0) if nested else rates
        yield law, m_source, m_target


def largest(deviations: Iterable[Any]) -> float:
    """Largest absolute value in arrays of any shapes. NaN, a probability that is not defined, does not count."""
    return max(float(np.nanmax(np.abs(deviation))) for deviation in deviations)


def shortfall(differences: Iterable[float], margin: float = MARGIN) -> float:
    """By how much the smallest difference falls below the margin."""
    return max(0.0, margin - min(differences))
