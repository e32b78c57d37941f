"""Run one block of cells."""

from dams.datasets.arrays import load_covariates
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.experiments.run import run_block

with job_log(snakemake.log[0]), recorded(snakemake.output):
    data = snakemake.input.data  # empty for a scenario
    records, timings = run_block(snakemake.params.block, load_covariates(data[0]) if data else None)
    write_csv(timings, snakemake.output.block_timings)
    write_csv(records, snakemake.output.block_records)
