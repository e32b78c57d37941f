"""Prepare the covariates of one data set."""

from dams.datasets.arrays import save_covariates
from dams.experiments.data import prepare
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params = snakemake.params
    covariates = prepare(
        snakemake.wildcards.dataset,
        raw=snakemake.input.raw,
        data_dir=params.data_dir,
        table=params.table,
    )
    save_covariates(covariates, snakemake.output.covariates)
