"""Write down what made the results."""

from pathlib import Path

from dams.experiments.progress import job_log
from dams.report.provenance import write_provenance

with job_log(snakemake.log[0]):
    results = Path(snakemake.output[0]).parent
    write_provenance(snakemake.output[0], snakemake.params.config, results, snakemake.input.products)
