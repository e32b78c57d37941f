"""Check the paper's claims on the records."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.claims.verdicts import write_claims

with job_log(snakemake.log[0]):
    write_claims(Path(snakemake.output[0]).parent)
