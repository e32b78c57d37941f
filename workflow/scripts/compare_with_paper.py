"""Put every printed number beside ours."""

from dams.experiments.progress import job_log
from dams.report.comparison import write_comparison

with job_log(snakemake.log[0]):
    write_comparison(snakemake.params.folder)
