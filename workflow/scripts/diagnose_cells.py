"""Look at one cell of every regime before anything is fitted."""

from pathlib import Path

from dams.datasets.arrays import load_covariates
from dams.experiments.diagnose import diagnose_cells
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.report.figures import save_figure
from dams.report.outputs.diagnostics import relative_missingness_figure

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params, output = snakemake.params, snakemake.output
    tables = {Path(path).stem: load_covariates(path) for path in snakemake.input.data}
    found = diagnose_cells(params.cells, tables, confidence=params.confidence, seed=params.seed)
    verdicts, summary, relative = found
    write_csv(verdicts, output.verdicts)
    write_csv(summary, output.missingness_by_cell)
    save_figure(relative_missingness_figure(relative), output.relative_missingness, data=relative)
