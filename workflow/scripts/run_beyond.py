"""Score all methods under known mechanisms in one draw of rates and labels, and ask the diagnostics of every cell."""

from dams.datasets.arrays import load_covariates
from dams.experiments.beyond.cells import Population
from dams.experiments.beyond.study import run_draw
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params, output, draw = snakemake.params, snakemake.output, snakemake.wildcards
    if snakemake.input.table:
        population = Population.of_table(load_covariates(snakemake.input.table[0]))
    else:
        population = Population.of_eicu(seed=params.seed)
    scores, checks = run_draw(population, draw.dataset, int(draw.number), **params.settings, seed=params.seed)
    write_csv(scores, output.beyond_draw_scores)
    write_csv(checks, output.beyond_draw_checks)
