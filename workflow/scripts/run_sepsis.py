"""Score every predictor from either hospital to the other, and compare r with the known losses."""

from dams.datasets.sepsis.patients import load_sepsis
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.experiments.sepsis.natural import check_hospitals, run_natural
from dams.experiments.sepsis.rates import recording_ratios, summarise_recording
from dams.experiments.sepsis.risks import estimate_risks

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params, output = snakemake.params, snakemake.output
    table = load_sepsis(params.folder)
    scores = run_natural(table, **params.bootstrap, seed=params.seed, n_jobs=snakemake.threads)
    ratios = recording_ratios(table, confidence=params.bootstrap["confidence"])
    write_csv(table.counts, output.sepsis_cohort)
    write_csv(scores, output.sepsis_scores)
    write_csv(ratios, output.sepsis_recording)
    write_csv(summarise_recording(ratios), output.sepsis_recording_summary)
    write_csv(estimate_risks(table, scores, seed=params.seed, n_jobs=snakemake.threads), output.sepsis_risks)
    write_csv(check_hospitals(table, seed=params.seed), output.sepsis_checks)
