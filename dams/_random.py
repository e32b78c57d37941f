"""Seeds of every kind that scikit-learn takes."""

from typing import Any

import numpy as np


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from a seed, a generator, None, or a RandomState, from which a seed is drawn.

    `numpy.random.default_rng` takes the last kind from NumPy 2.2 on.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = np.random.SeedSequence(random_state.randint(2**31, size=4).tolist())
    return np.random.default_rng(random_state)
