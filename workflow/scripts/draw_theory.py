"""Draw the figures of the theory, each by the function of its name."""

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.report.figures import save_figure
from dams.report.outputs import theory

with job_log(snakemake.log[0]), recorded(snakemake.output):
    for name, files in snakemake.output.items():
        if name == "digests":
            continue
        save_figure(getattr(theory, name)(snakemake.params.seed), files)
