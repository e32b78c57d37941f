"""Put the records of all blocks into one file, and the failures into another."""

from pathlib import Path

from dams.experiments.compact_records import write_compact
from dams.experiments.digests import read_digests, recorded, refuse_altered
from dams.experiments.gather import gather, gather_timings
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv

with job_log(snakemake.log[0]), recorded(snakemake.output):
    files = snakemake.input
    blocks = snakemake.params.blocks
    records = gather(files.blocks, blocks)
    # After the records, for what is said there of a damaged file is more precise; before the timings, for an edited
    # file is of no other configuration.
    refuse_altered(Path(files.digests[0]).parents[1], [*files.blocks, *files.timings], read_digests(files.digests))
    timings = gather_timings(files.timings, blocks)
    write_csv(records[records["failure"].notna()], snakemake.output.failures)
    write_csv(timings, snakemake.output.timings)
    write_compact(records, snakemake.output.records_compact)
    write_csv(records, snakemake.output.records)
