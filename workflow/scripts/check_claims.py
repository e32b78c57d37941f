"""Check the paper's claims on the records."""

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.report.claims.verdicts import check_claims, read_claims
from dams.report.evidence import evidence_of_job

with job_log(snakemake.log[0]), recorded(snakemake.output):
    claims, findings = check_claims(evidence_of_job(snakemake.input, snakemake.params.config), read_claims())
    write_csv(claims, snakemake.output.claims)
    write_csv(findings, snakemake.output.findings)
