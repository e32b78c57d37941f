# Configuration and the helpers that all rules share.
from pathlib import Path

from dams.experiments import config as dams_config
from dams.experiments import design

# Snakemake merges every file it is given, so the default is read only where none was named.
if "studies" not in config:

    configfile: "config/paper.yaml"


try:
    RUN = dams_config.parse(config)
except dams_config.ConfigError as error:
    raise WorkflowError(str(error))

RESULTS = f"results/{RUN.name}"
BLOCKS = {block.path: block for block in design.blocks(RUN)}
OUTPUTS = design.outputs(RUN)


wildcard_constraints:
    study="[a-z][a-z0-9_]*",
    dataset="[a-z][a-z0-9_]*",
    group="[a-z_]+",
    number="[0-9]+",
    output="[a-z][a-z0-9_]*",


def code(*folders):
    """Modules that a rule depends on: Snakemake does not see that an installed package was edited."""
    return sorted(
        str(path) for folder in folders for path in Path(folder).rglob("*.py")
    )


LIBRARY = code(
    "dams/datasets", "dams/estimators", "dams/experiments", "dams/models"
) + sorted(str(path) for path in Path("dams").glob("*.py"))
