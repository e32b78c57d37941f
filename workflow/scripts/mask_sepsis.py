"""Score linear predictors where masks were transplanted from the other hospital, or drawn."""

from dams.datasets.sepsis.patients import load_sepsis
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.experiments.sepsis.masks import gap_closed, run_masks

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params, output = snakemake.params, snakemake.output
    table = load_sepsis(params.folder)
    records = run_masks(table, splits=params.splits, seed=params.seed, n_jobs=snakemake.threads)
    write_csv(records, output.sepsis_masks)
    write_csv(gap_closed(records, **params.bootstrap, seed=params.seed), output.sepsis_shares)
