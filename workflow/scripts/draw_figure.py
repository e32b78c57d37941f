"""Draw one figure from the records."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.figures import save_figure
from dams.report.outputs.make import make_output

with job_log(snakemake.log[0]):
    figure = make_output(snakemake.input.records, snakemake.params)
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))
