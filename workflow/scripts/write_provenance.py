"""Write down what made the results."""

from pathlib import Path

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.report.provenance import write_provenance

with job_log(snakemake.log[0]), recorded(snakemake.output):
    path, files = Path(snakemake.output.provenance), snakemake.input
    made = [*files.products, *files.covariates]
    write_provenance(path, snakemake.params.config, path.parent, made, digests=files.digests)
