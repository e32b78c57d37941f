"""Score every eICU predictor, corrected and as published."""

import pandas as pd
from threadpoolctl import threadpool_limits

from dams._files import write_json
from dams.datasets.eicu.fiddle import folder_behind, load_fiddle
from dams.datasets.eicu.fiddle_as_published import load_fiddle_as_published
from dams.experiments.digests import recorded
from dams.experiments.eicu import run as eicu
from dams.experiments.eicu.as_published import run_eicu_as_published
from dams.experiments.eicu.scores import paired_differences, score_predictions
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv

# A fixed order of sums: the digits must not depend on how many cores the job got.
with job_log(snakemake.log[0]), recorded(snakemake.output), threadpool_limits(1):
    params, output = snakemake.params, snakemake.output
    folder = folder_behind(snakemake.input.files)
    table = load_fiddle(folder, hospitals=params.hospitals)
    methods = [*eicu.PAPERS_METHODS, *(["two_way"] if params.two_way else [])]
    predicted = eicu.predict_hospitals(table, methods=methods, random_state=params.seed, n_jobs=snakemake.threads)
    corrected = score_predictions(predicted, **params.bootstrap, random_state=params.seed)
    differences = paired_differences(predicted, **params.bootstrap, random_state=params.seed)
    flawed = load_fiddle_as_published(folder, hospitals=params.hospitals)
    published = run_eicu_as_published(flawed, random_state=params.seed)
    relative = eicu.relative_missingness(table, confidence=params.bootstrap["confidence"])
    write_json({"simulated": table.simulated, "hospitals": eicu.describe_hospitals(table)}, output.eicu_cohort)
    write_csv(differences, output.eicu_differences)
    write_csv(pd.concat([corrected, published]), output.eicu_scores)
    write_csv(eicu.oracle_coefficients(table).reset_index(), output.eicu_coefficients)
    write_csv(relative, output.eicu_relative_missingness)
    write_csv(eicu.summarise_relative_missingness(relative), output.eicu_rates)
