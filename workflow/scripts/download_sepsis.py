"""Download the Challenge 2019 data."""

from pathlib import Path

from dams._files import write_json
from dams.datasets.sepsis.download import download_sepsis
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]):
    folder = Path(snakemake.output[0]).parent
    write_json(download_sepsis(folder).as_record(), snakemake.output[0])
