"""Simulate an eICU cohort."""

from dams.datasets.eicu.simulator import simulate_eicu
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params = snakemake.params
    simulate_eicu(
        snakemake.output[0],
        size=params.size,
        scenario=params.scenario,
        strength=params.strength,
        random_state=params.seed,
    )
