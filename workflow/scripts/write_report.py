"""Write report.html."""

from pathlib import Path

from dams._files import whole_file
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.report.page.render import page_of
from dams.report.run_folder import RunFolder

with job_log(snakemake.log[0]), recorded(snakemake.output):
    files, page = snakemake.input, Path(snakemake.output.report)
    run = RunFolder.of_files(page.parent, [files.provenance, *files.products, *files.covariates])
    with whole_file(page) as partial:
        partial.write_text(page_of(run, files.raw), encoding="utf-8")
