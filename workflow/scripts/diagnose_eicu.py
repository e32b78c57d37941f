"""Check the two hospitals, and simulated ones whose mechanism is known."""

from dams.datasets.eicu.fiddle import folder_behind, load_fiddle
from dams.experiments.diagnose import diagnose_hospitals
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.report.figures import save_figure
from dams.report.outputs.diagnostics import hospital_checks_figure

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params, output = snakemake.params, snakemake.output
    table = load_fiddle(folder_behind(snakemake.input.files), hospitals=params.hospitals)
    verdicts, spread = diagnose_hospitals(table, seed=params.seed)
    write_csv(verdicts, output.hospital_verdicts)
    save_figure(hospital_checks_figure(spread), output.hospital_checks, data=spread)
