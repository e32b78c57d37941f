"""Make one table from the records."""

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.report.outputs.make import make_output

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params = snakemake.params
    table = make_output(snakemake.input.records, params.output, params.bootstrap, params.seed)
    table.save(snakemake.output.table)
