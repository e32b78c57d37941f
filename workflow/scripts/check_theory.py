"""Check every statement of the paper and write down how far each is from holding."""

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.theory import check_all

with job_log(snakemake.log[0]), recorded(snakemake.output):
    write_csv(check_all(snakemake.params.seed), snakemake.output[0])
