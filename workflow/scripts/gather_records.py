"""Put the records of all blocks into one file, and the failures into another."""

from dams.experiments.gather import gather, gather_timings
from dams.experiments.progress import job_log
from dams.experiments.records import write_compact, write_csv

with job_log(snakemake.log[0]):
    records = gather(snakemake.input.blocks, snakemake.params.blocks)
    write_csv(records[records["failure"].notna()], snakemake.output.failures)
    write_csv(gather_timings(snakemake.input.timings), snakemake.output.timings)
    write_compact(records, snakemake.output.records_compact)
    write_csv(records, snakemake.output.records)
