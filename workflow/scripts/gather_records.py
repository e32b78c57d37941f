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
    records, timings = gather(files.blocks, blocks), gather_timings(files.timings, blocks)
    # Last, for what these say of a damaged file is more precise.
    refuse_altered(Path(files.digests[0]).parents[1], [*files.blocks, *files.timings], read_digests(files.digests))
    write_csv(records[records["failure"].notna()], snakemake.output.failures)
    write_csv(timings, snakemake.output.timings)
    write_compact(records, snakemake.output.records_compact)
    write_csv(records, snakemake.output.records)
