"""Prepare one data set."""

from dams.datasets.arrays import save_covariates
from dams.datasets.registry import DATASETS
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]):
    save_covariates(DATASETS[snakemake.wildcards.dataset](), snakemake.output[0])
