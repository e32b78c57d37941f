"""Fetch the raw files of one data set and note what served them."""

from dams._files import write_json
from dams.experiments.data import download, raw_folder
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]):
    folder = raw_folder(snakemake.output[0])
    served = download(snakemake.wildcards.dataset, folder, data_dir=snakemake.params.data_dir)
    write_json(served, snakemake.output[0])
