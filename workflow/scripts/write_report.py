"""Write report.html."""

from dams.experiments.progress import job_log
from dams.report.page import write_page

with job_log(snakemake.log[0]):
    write_page(snakemake.params.folder, raw=snakemake.params.raw)
