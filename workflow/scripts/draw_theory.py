"""Draw the figures of the theory, each by the function of its name."""

from dams.experiments.progress import job_log
from dams.report.figures import save_figure
from dams.report.outputs import theory

with job_log(snakemake.log[0]):
    for name, files in snakemake.output.items():
        save_figure(getattr(theory, name)(snakemake.params.seed), files)
