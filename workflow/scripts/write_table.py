"""Make one table from the records."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.outputs.make import make_output

with job_log(snakemake.log[0]):
    table = make_output(snakemake.input.records, snakemake.params)
    table.save(Path(snakemake.output[0]).with_suffix(""))
