"""Write the two eICU tables and the figure."""

import json
from pathlib import Path

import pandas as pd

from dams.experiments.eicu.run import top_features
from dams.experiments.progress import job_log
from dams.report.figures import save_figure
from dams.report.outputs.eicu import feature_table, performance_table, prevalence_figure

with job_log(snakemake.log[0]):
    folder = Path(snakemake.output.figure[0]).parent
    simulated = json.loads(Path(snakemake.input.cohort).read_text(encoding="utf-8"))["simulated"]
    paper = pd.read_csv(snakemake.input.published).assign(variant="published", failure="")
    scores = pd.concat([pd.read_csv(snakemake.input.scores), paper])
    coefficients = pd.read_csv(snakemake.input.coefficients, index_col="feature")
    performance_table(scores, simulated=simulated).save(folder / "performance")
    feature_table(top_features(coefficients), simulated=simulated).save(folder / "features")
    relative = pd.read_csv(snakemake.input.relative)
    save_figure(prevalence_figure(relative, simulated=simulated), folder / "prevalence")
