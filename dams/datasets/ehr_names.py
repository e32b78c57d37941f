"""Names of the simulated hospitals that the command line offers; imports nothing heavy."""

from typing import Literal

Outcome = Literal["days", "died"]
EHRScenario = Literal["ucar", "outcome", "mix"]
