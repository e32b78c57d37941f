"""Draw the figures of the theory."""

from pathlib import Path

from dams.experiments.outputs import THEORY_FIGURES
from dams.experiments.progress import job_log
from dams.report.figures import save_figure

with job_log(snakemake.log[0]):
    for name, figure in THEORY_FIGURES.items():
        save_figure(figure.make(snakemake.params.seed), Path(snakemake.output[0]).with_name(name))
