"""Write report.html."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.page.render import write_page

with job_log(snakemake.log[0]):
    write_page(Path(snakemake.output[0]).parent, raw=snakemake.params.raw)
