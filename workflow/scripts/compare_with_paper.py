"""Put every printed number beside ours."""

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.report.claims.comparison import compare
from dams.report.claims.figures import design_scatter, published_against_measured
from dams.report.evidence import evidence_of_job
from dams.report.figures import save_figure

with job_log(snakemake.log[0]), recorded(snakemake.output):
    table = compare(evidence_of_job(snakemake.input, snakemake.params.config))
    write_csv(table, snakemake.output.comparison)
    save_figure(published_against_measured(table), snakemake.output.published_against_measured)
    save_figure(design_scatter(table), snakemake.output.design_scatter)
