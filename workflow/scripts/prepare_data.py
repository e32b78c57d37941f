"""Prepare the covariates of one data set."""

from dams.datasets.arrays import save_covariates
from dams.experiments.data import prepare
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]):
    covariates = prepare(
        snakemake.wildcards.dataset,
        folder=snakemake.params.folder,
        data_dir=snakemake.params.data_dir,
        recipe=snakemake.params.recipe,
        table=snakemake.params.table,
    )
    save_covariates(covariates, snakemake.output[0])
