"""Write the two eICU tables and the figure."""

import pandas as pd

from dams.experiments.digests import recorded
from dams.experiments.eicu.run import top_features
from dams.experiments.progress import job_log
from dams.report.figures import save_figure
from dams.report.outputs.eicu import feature_table, performance_table, prevalence_figure
from dams.report.paper import read_published
from dams.report.run_files import read_json

with job_log(snakemake.log[0]), recorded(snakemake.output):
    results, output = snakemake.input, snakemake.output
    simulated = read_json(results.eicu_cohort)["simulated"]
    paper = read_published("eicu").assign(variant="published", failure="")
    scores = pd.concat([pd.read_csv(results.eicu_scores), paper])
    coefficients = pd.read_csv(results.eicu_coefficients, index_col="feature")
    performance_table(scores, simulated=simulated).save(output.eicu_performance)
    feature_table(top_features(coefficients), simulated=simulated).save(output.eicu_features)
    relative = pd.read_csv(results.eicu_relative_missingness)
    save_figure(prevalence_figure(relative, simulated=simulated), output.eicu_prevalence)
