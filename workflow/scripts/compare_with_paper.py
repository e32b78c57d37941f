"""Put every printed number beside ours."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.claims.comparison import write_comparison

with job_log(snakemake.log[0]):
    write_comparison(Path(snakemake.output[0]).parent)
