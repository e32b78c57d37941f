"""Names of the eICU experiment that configurations, commands and readers share; imports nothing heavy."""

import math
from typing import Literal, get_args

# The paper's H1 and H2.
HOSPITALS = (73, 264)
# How simulated hospitals lose values: see dams.datasets.eicu.scenarios.
Scenario = Literal["ucar", "block_ucar", "hourly", "population", "mar", "mnar"]
# Of a simulated cohort: 8,600 stays, or 1,200.
Size = Literal["default", "test"]
# The first mechanism of a scenario is its default.
MECHANISMS: dict[str, tuple[str, ...]] = {
    "ucar": ("mixed", "nested"),
    "block_ucar": ("mixed", "nested"),
    "hourly": ("mixed", "nested"),
    "population": ("coefficients", "severity"),
    "mar": ("age_and_unit",),
    "mnar": ("severity", "outcome"),
}


def choose_mechanism(name: str, mechanism: str | None, strength: float) -> str:
    """Check the choices and return the mechanism, of None the scenario's default."""
    if name not in get_args(Scenario):
        raise ValueError(f"scenario must be one of {', '.join(get_args(Scenario))}, got {name!r}.")
    mechanism = MECHANISMS[name][0] if mechanism is None else mechanism
    if mechanism not in MECHANISMS[name]:
        raise ValueError(f"mechanism of {name!r} must be one of {', '.join(MECHANISMS[name])}, got {mechanism!r}.")
    limited = sets_rates(name)
    # NaN is in no range.
    if not 0 <= strength <= (1 if limited else math.inf):
        raise ValueError(
            f"strength of {name!r} must lie {'in [0, 1]' if limited else 'at or above 0'}, got {strength:g}."
        )
    return mechanism


def sets_rates(name: str) -> bool:
    """Whether the strength of a scenario sets its rates, rather than how far it violates an assumption."""
    return "mixed" in MECHANISMS[name]
