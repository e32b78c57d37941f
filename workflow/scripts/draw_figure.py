"""Draw one figure from the records."""

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.report.figures import save_figure
from dams.report.outputs.make import make_output

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params = snakemake.params
    figure = make_output(snakemake.input.records, params.output, params.bootstrap, params.seed)
    save_figure(figure, snakemake.output.figure)
