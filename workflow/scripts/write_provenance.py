"""Write down what made the results."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.provenance import write_provenance

with job_log(snakemake.log[0]):
    path = Path(snakemake.output.provenance)
    write_provenance(path, snakemake.params.config, path.parent, snakemake.input.products)
