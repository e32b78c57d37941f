"""Put the records of all blocks into one file, and the failures into another."""

import pandas as pd

from dams.experiments.gather import gather
from dams.experiments.progress import job_log
from dams.experiments.records import TIMINGS, write_csv

with job_log(snakemake.log[0]):
    records = gather(snakemake.input.blocks, snakemake.params.blocks)
    timings = pd.concat([pd.read_csv(path) for path in snakemake.input.timings])
    write_csv(records[records["failure"].notna()], snakemake.output.failures)
    write_csv(timings.sort_values(TIMINGS[:-1], kind="stable"), snakemake.output.timings)
    write_csv(records, snakemake.output.records)
