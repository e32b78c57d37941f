# Configuration and the functions that all rules share.
import filecmp
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

from snakemake.logging import logger
from snakemake.settings.types import DeploymentMethod

# The project, where these rules lie in a checkout of it; rules that Snakemake fetched from elsewhere go with the dams
# that is installed. Results, data and configurations are looked for in the working directory.
CHECKOUT = os.path.dirname(os.path.dirname(str(workflow.current_basedir)))
if not os.path.isfile(os.path.join(CHECKOUT, "dams", "__init__.py")):
    CHECKOUT = None

# Snakemake takes them for patterns, in names of files and in what it hands to a shell.
for folder in filter(None, (CHECKOUT, os.getcwd())):
    if "{" in folder or "}" in folder:
        raise WorkflowError(
            f"Snakemake can't work in {folder}: the path holds {{ or }}, which it reads as its own. Move or rename the "
            "folder."
        )


def same_code(one, other):
    """Whether two folders hold the same modules."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    names = {
        str(path.relative_to(folder))
        for folder in (one, other)
        for path in Path(folder).rglob("*.py")
    }
    _, differing, absent = filecmp.cmpfiles(one, other, names, shallow=False)
    return not differing and not absent


# Rules import the dams beside them, and scripts must import the same.
if CHECKOUT:
    sys.path.insert(0, CHECKOUT)
if "--lint" in sys.argv:
    # No job is going to import anything.
    pass
elif DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    # The environment holds what dams needs, not dams. Snakemake takes PYTHONPATH away from jobs in conda environments, so
    # it is set within them; the rest is the prefix that this one replaces.
    if CHECKOUT:
        shell.prefix("set -euo pipefail; export PYTHONPATH={CHECKOUT:q}; ")
else:
    # Asked of a Python without this folder on its path, as a script's is.
    installed = subprocess.run(
        [sys.executable, "-P", "-c", "import dams; print(dams.__path__[0])"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    # An image of the same code will do: sources that Snakemake ships to a machine are another copy of them.
    if not installed or (CHECKOUT and not same_code(installed, f"{CHECKOUT}/dams")):
        raise WorkflowError(
            f"The rules are those of {CHECKOUT or str(workflow.current_basedir)}, but jobs would import "
            f"{installed or 'no dams at all'}. "
            + (
                'Install this folder: pip install --editable ".[pipeline]"'
                if CHECKOUT
                else 'Install dams with what its pipeline needs: pip install "dams[pipeline]"'
            )
        )
    # Snakemake hands it to a shell as it is.
    if shlex.quote(sys.executable) != sys.executable:
        raise WorkflowError(
            f"Snakemake can't start {sys.executable}: the path holds a space or another character that a shell reads as "
            "its own. Move the folder, or put the environment elsewhere: make VENV=/another/path demo"
        )

try:
    import dams
    from dams.datasets.registry import is_scenario, raw_name
    from dams.datasets.sepsis.files import SEPSIS_DIR_VARIABLE
    from dams.experiments import config as dams_config
    from dams.experiments.beyond.names import EICU
    from dams.experiments import design
    from dams.experiments import products as dams_products
    from dams.experiments.imports import digest_of_code
    from dams.experiments.inputs import (
        eicu_inputs,
        refuse_absent_tables,
        refuse_taken_name,
        sepsis_folder,
        sepsis_inputs,
        without_absent_hospitals,
    )
    from dams.experiments.products import (
        MANIFEST,
        PARTS,
        RAW,
        digests_of,
        entries_of,
        job_of,
        products_of,
        results_of,
        study_outputs,
    )
    from dams.report.provenance import note_start
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"The rules need {error.name}, which is not installed: "
        + (
            'pip install --editable ".[pipeline]"'
            if CHECKOUT
            else 'pip install "dams[pipeline]"'
        )
    )

# Snakemake merges every file it is given, so the default is read only where none was named. A module is handed its
# configuration and passes over this.
if not workflow.configfiles:
    DEFAULT = "config/paper.yaml"
    if not os.path.exists(DEFAULT):
        DEFAULT = workflow.source_path(f"../../{DEFAULT}")

    configfile: DEFAULT


try:
    # Snakemake has kept the last of two equal keys; only the file still holds both.
    for path in workflow.configfiles:
        dams_config.refuse_repeated_keys(path)
    RUN = without_absent_hospitals(
        dams_config.parse(config),
        tell=logger.warning if workflow.is_main_process else None,
    )
    refuse_taken_name(RUN)
except dams_config.ConfigError as error:
    raise WorkflowError(str(error))

CONFIG = RUN.model_dump(mode="json")
RESULTS = results_of(RUN.name)
# Where files lie, if not in the working directory.
STORAGE = workflow.storage_settings.default_storage_prefix
EICU_FOLDER = RUN.eicu.folder if RUN.eicu else "data/eicu"
# Where the data are, or go, and what says so.
SEPSIS_FOLDER, SEPSIS_NAMED_BY = (
    sepsis_folder(RUN.sepsis) if RUN.sepsis else ("data/sepsis", "")
)
BLOCKS = {block.path: block for block in design.blocks(RUN)}
OUTPUTS = {output.file: output for output in study_outputs(RUN)}
# All that a run leaves to be looked at, but for its provenance and its page.
PRODUCTS = [
    f"{RESULTS}/{file}"
    for made in products_of(RUN)
    if made.product.kind not in ("step", "page")
    for file in made.files
]
# What the jobs behind them vouch for.
DIGESTS = sorted(
    {
        f"{RESULTS}/{digests_of(made.job)}"
        for made in products_of(RUN)
        if made.product.kind != "page"
    }
)
# Before all blocks, whose priority is their seconds: many jobs wait for these, or they are long themselves.
SOON = 10_000
# Real data sets of the studies, prepared, and the raw files that some of them are made from.
TABLES = [case["dataset"] for case in MANIFEST["covariates"].cases(RUN)]
RAW_USED = sorted({raw for raw in map(raw_name, TABLES) if raw})


wildcard_constraints:
    study="[a-z][a-z0-9_]*",
    dataset="[a-z][a-z0-9_]*",
    group="[a-z_]+",
    number="[0-9]+",
    # A figure of every run lies among those that studies ask for.
    output="|".join(OUTPUTS) or "none",


def product(name, **wildcards):
    """First file of a product, of this run."""
    return f"{RESULTS}/{MANIFEST[name].files[0]}".format(**wildcards)


def made_by(rule):
    """Outputs of a rule by product; what Snakemake's report shows is marked."""
    outputs = {}
    for name, entry in entries_of(rule).items():
        files = [f"{RESULTS}/{file}" for file in entry.files]
        if entry.caption or "{output}" in entry.path:
            files[0] = report(
                files[0],
                caption="../report/product.rst",
                category=PARTS[entry.part].name if entry.part else "Results",
                labels={"result": entry.title or "{output}"},
            )
        outputs[name] = files if len(files) > 1 else files[0]
    return outputs | {"digests": digests_made_by(rule)}


def digests_made_by(rule):
    """Where the jobs of a rule write down the digests of their outputs."""
    return f"{RESULTS}/{digests_of(job_of(rule))}"


def products_in(outputs):
    """Outputs of a rule by product, as inputs of another."""
    return {name: files for name, files in outputs.items() if name != "digests"}


def captions_of(wildcards, output):
    """What Snakemake's report says of a job's outputs.

    Snakemake keeps no account of parameters that are made of outputs: another caption runs nothing again.
    """
    if "output" in wildcards.keys():
        return dams_products.OUTPUTS[OUTPUTS[wildcards.output].name].caption
    made = [MANIFEST[name] for name in output.keys() if name in MANIFEST]
    return {entry.title: entry.caption for entry in made if entry.caption}


def log_of(rule):
    """Log of a rule's jobs."""
    return f"{RESULTS}/logs/{job_of(rule)}.log"


def benchmark_of(rule):
    """Where Snakemake keeps time and memory of a rule's jobs."""
    return f"{RESULTS}/benchmarks/{job_of(rule)}.tsv"


def memory(megabytes):
    """What a job gets; a second attempt, where a profile allows one, twice of it."""
    return lambda wildcards, attempt: attempt * megabytes


def code_of(rule, also=None):
    """Digest of the modules behind a rule's script, and of the data that lie beside them; `also` names one more.

    Snakemake does not see that a package was edited; it sees that a parameter is another one. Were the files inputs, they
    would have to be marked as local, and without a shared file system Snakemake sends no job with local inputs anywhere.
    A function, so that no modules are read for rules that a run has no job of.
    """
    if CHECKOUT:
        script = f"{CHECKOUT}/workflow/scripts/{rule}.py"
    else:
        script = workflow.source_path(f"../scripts/{rule}.py")
    return lambda wildcards: digest_once(script, also(wildcards) if also else None)


@cache
def digest_once(script, module):
    """A run may have thousands of jobs with one script."""
    return digest_of_code(
        script, Path(dams.__file__).parents[1], also=[module] if module else []
    )


def module_of(wildcards):
    """Module behind a table or figure."""
    return f"dams.report.outputs.{OUTPUTS[wildcards.output].name}"


def files_of_rule(rule):
    """All files that a rule makes in this run."""
    cases = [made for made in products_of(RUN) if made.product.rule == rule]
    return [f"{RESULTS}/{file}" for made in cases for file in made.files]


def block_of(wildcards):
    """Return the instructions of a run_block job."""
    return BLOCKS[design.BLOCK.format(**wildcards)]


def data_of(wildcards):
    """Prepared covariates; a scenario is sampled inside the job."""
    return (
        []
        if is_scenario(wildcards.dataset)
        else [product("covariates", dataset=wildcards.dataset)]
    )


def raw_of(wildcards):
    """Raw files of a data set: fetched, the user's own, or none."""
    if wildcards.dataset in RUN.datasets:
        return [RUN.datasets[wildcards.dataset].path]
    raw = raw_name(wildcards.dataset)
    return [f"{RAW}/{raw}.json"] if raw else []


def data_dir_of(wildcards, output):
    """Folder that may hold the raw UCI files.

    Their hashes are pinned, so that another folder makes no other results. Snakemake keeps no account of parameters
    that are made of outputs.
    """
    return RUN.data_dir


def table_of(wildcards):
    """How a user's own table is to be read, but for where it lies."""
    own = RUN.datasets.get(wildcards.dataset)
    return own.model_dump(exclude={"path"}) if own else None


def files_of_product(name):
    """First files of a product, one for every time that this run asks for it."""
    return [product(name, **case) for case in MANIFEST[name].cases(RUN)]


def beyond_table(wildcards):
    """Prepared covariates that rows are drawn from; stays in intensive care are simulated inside the job."""
    if wildcards.dataset == EICU:
        return []
    return [product("covariates", dataset=wildcards.dataset)]


def asked_for(part, files):
    """Inputs of an optional part of the run; who asks for the part where the run has none is told so."""

    def inputs(wildcards):
        if not getattr(RUN, part):
            raise WorkflowError(
                f"{part} is no part of the run {RUN.name}: "
                + (
                    "its data are not there (`source: if_there`)"
                    if config.get(part)
                    else f"its configuration has no `{part}`; config/README.md says what to add"
                )
            )
        return files

    return inputs


def eicu_files():
    """What the eICU study waits for: the simulated cohort, the download, or files of the user's.

    Files, not their folder, which does not change when one in it is overwritten.
    """
    if RUN.eicu is None:
        return []
    if RUN.eicu.source == "folder":
        return eicu_inputs(EICU_FOLDER, there=is_there)
    return {
        "simulated": [product("eicu_simulated")],
        "physionet": [f"{EICU_FOLDER}/downloaded.json"],
    }[RUN.eicu.source]


def sepsis_files():
    """What the study of two hospitals waits for: the download, or a copy of the data."""
    if RUN.sepsis is None:
        return []
    # Jobs are told the folder, as they read what is in it; Snakemake would wait for another.
    if in_module(SEPSIS_FOLDER) != SEPSIS_FOLDER:
        raise WorkflowError(
            f"{SEPSIS_NAMED_BY}: {SEPSIS_FOLDER} can't be used in a module with the prefix {in_module('')!r}. Expected "
            f"a whole path, such as {os.path.abspath(SEPSIS_FOLDER)}."
        )
    # A copy that is there already, where the environment names one, spares the download.
    if RUN.sepsis.source == "physionet" and SEPSIS_NAMED_BY != SEPSIS_DIR_VARIABLE:
        return [f"{SEPSIS_FOLDER}/downloaded.json"]
    return sepsis_inputs(SEPSIS_FOLDER, SEPSIS_NAMED_BY)


def in_module(path):
    """Where Snakemake looks for a file: a module may have a prefix."""
    return workflow.modifier.path_modifier.replace_prefix(path)


def is_there(path):
    """Whether a file of the user's own is where Snakemake looks for it, which may be in a storage."""
    return exists(in_module(path))


# Now, and not in functions of rules: Snakemake asks a storage only before it lists the jobs.
try:
    # No job is started without them.
    if workflow.is_main_process:
        top = os.path.join(STORAGE or os.getcwd(), in_module("")).rstrip("/")
        refuse_absent_tables(RUN, there=is_there, below=top)
    EICU_FILES, SEPSIS_FILES = eicu_files(), sepsis_files()
except dams_config.ConfigError as error:
    raise WorkflowError(str(error))
