"""Names of the eICU experiment that configurations, commands and readers share; imports nothing heavy."""

from typing import Literal

# The paper's H1 and H2.
HOSPITALS = (73, 264)
# How simulated hospitals lose values: see dams.datasets.eicu.scenarios.
Scenario = Literal["ucar", "block_ucar", "hourly", "population", "mar", "mnar"]
# Of a simulated cohort: 8,600 stays, or 1,200.
Size = Literal["default", "test"]
