# The paper's experiments, from data to a report. `snakemake --cores 28` runs config/paper.yaml;
# `--configfile config/quickstart.yaml` runs another configuration. See config/README.md for every key.
from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/experiments.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/eicu.smk"
include: "workflow/rules/diagnostics.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        # Each by its name: Snakemake does not miss a deleted file that only stands between others. The paper's tables
        # and figures are in git, its records are not: without them nothing counts as done.
        PRODUCTS,
        rules.write_provenance.output,
        rules.write_report.output,
