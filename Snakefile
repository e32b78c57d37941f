# The workflow is workflow/Snakefile, where the Snakemake workflow catalog and `module:` look for it.
include: "workflow/Snakefile"


# What is included can't set the default target.
rule default:
    default_target: True
    input:
        rules.all.input,
