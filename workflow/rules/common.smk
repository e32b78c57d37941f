# Configuration and the functions that all rules share.
import shlex
import subprocess
import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

# Rules name the files of the project, and those that they make, from its folder.
CHECKOUT = str(Path(workflow.basedir).resolve())
if Path.cwd().resolve() != Path(CHECKOUT):
    raise WorkflowError(
        f"The rules are those of {CHECKOUT}, but Snakemake works in {Path.cwd()}. "
        f"Run it in {CHECKOUT}, without -d or -s."
    )

# Snakemake takes them for patterns, in names of files and in what it hands to a shell.
if "{" in CHECKOUT or "}" in CHECKOUT:
    raise WorkflowError(
        f"Snakemake can't work in {CHECKOUT}: the path holds {{ or }}, which it reads as its own. Move or rename the "
        "folder."
    )

# Rules import the dams beside the Snakefile, and scripts must import the same.
if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    # The environment holds what dams needs, not dams. Snakemake takes PYTHONPATH away from jobs in conda environments, so
    # it is set within them; the rest is the prefix that this one replaces.
    shell.prefix("set -euo pipefail; export PYTHONPATH={CHECKOUT:q}; ")
else:
    # Asked of a Python without this folder on its path, as a script's is.
    installed = subprocess.run(
        [sys.executable, "-P", "-c", "import dams; print(dams.__path__[0])"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    if not installed or Path(installed).resolve() != Path(CHECKOUT, "dams"):
        raise WorkflowError(
            f"The rules are those of {CHECKOUT}, but jobs would import {installed or 'no dams at all'}. "
            'Install this folder: pip install --editable ".[pipeline]"'
        )
    # Snakemake hands it to a shell as it is.
    if shlex.quote(sys.executable) != sys.executable:
        raise WorkflowError(
            f"Snakemake can't start {sys.executable}: the path holds a space or another character that a shell reads as "
            "its own. Move the folder, or put the environment elsewhere: make VENV=/another/path demo"
        )

from dams.datasets.registry import DATASETS, is_scenario
from dams.experiments import config as dams_config
from dams.experiments import design
from dams.experiments.diagnose import cells_to_diagnose
from dams.experiments.imports import files_behind
from dams.experiments.inputs import eicu_inputs, refuse_taken_name
from dams.experiments.outputs import THEORY_FIGURES, wanted_outputs
from dams.report.provenance import note_start

# Snakemake merges every file it is given, so the default is read only where none was named.
if not workflow.configfiles:

    configfile: "config/paper.yaml"


try:
    # Snakemake has kept the last of two equal keys; only the file still holds both.
    for path in workflow.configfiles:
        dams_config.refuse_repeated_keys(path)
    RUN = dams_config.parse(config)
    refuse_taken_name(RUN)
except dams_config.ConfigError as error:
    raise WorkflowError(str(error))

RESULTS = f"results/{RUN.name}"
# Raw files serve every run.
RAW = "data/raw"
EICU_FOLDER = RUN.eicu.folder if RUN.eicu else "data/eicu"
BLOCKS = {block.path: block for block in design.blocks(RUN)}
OUTPUTS = wanted_outputs(RUN)
# Before all blocks, whose priority is their seconds: many jobs wait for these, or they are long themselves.
SOON = 10_000
FIGURE_FORMATS = ["svg", "pdf", "png"]
TABLE_FORMATS = ["csv", "tex", "md", "html"]
UCI_USED = sorted(
    {
        name
        for study in RUN.studies.values()
        for name in study.datasets
        if name in DATASETS and DATASETS[name].kind == "uci"
    }
)


wildcard_constraints:
    study="[a-z][a-z0-9_]*",
    dataset="[a-z][a-z0-9_]*",
    group="[a-z_]+",
    number="[0-9]+",
    output="[a-z][a-z0-9_]*",


def code_of(rule):
    """Modules behind a rule's script. Snakemake does not see that a package was edited, so they count as input."""
    return files_behind(f"workflow/scripts/{rule}.py")


def block_of(wildcards):
    """What run_block is to do."""
    return BLOCKS[
        f"{wildcards.study}/{wildcards.dataset}-{wildcards.group}-{wildcards.number}"
    ]


def data_of(wildcards):
    """Prepared covariates; a scenario is sampled inside the job."""
    return (
        []
        if is_scenario(wildcards.dataset)
        else [f"{RESULTS}/data/{wildcards.dataset}.npz"]
    )


def raw_of(wildcards):
    """Raw files of a data set: fetched, the user's own, or none."""
    if wildcards.dataset in RUN.datasets:
        return [RUN.datasets[wildcards.dataset].path]
    return [f"{RAW}/{wildcards.dataset}.json"] if wildcards.dataset in UCI_USED else []


def uci_only(wildcards, setting):
    """A setting of the UCI data sets; None for the others."""
    return setting if wildcards.dataset in UCI_USED else None


def table_of(wildcards):
    """How a user's own table is to be read."""
    own = RUN.datasets.get(wildcards.dataset)
    return own.model_dump() if own else None


def eicu_files(wildcards):
    """What run_eicu waits for: the simulated cohort, the download, or files of the user's.

    Files, not their folder, which does not change when one in it is overwritten.
    """
    if RUN.eicu.source == "folder":
        try:
            return eicu_inputs(EICU_FOLDER)
        except dams_config.ConfigError as error:
            raise WorkflowError(str(error))
    return {
        "simulated": f"{RESULTS}/eicu/simulated",
        "physionet": f"{EICU_FOLDER}/downloaded.json",
    }[RUN.eicu.source]


def eicu_folder(wildcards):
    """Where the FIDDLE files are."""
    return (
        f"{RESULTS}/eicu/simulated" if RUN.eicu.source == "simulated" else EICU_FOLDER
    )
