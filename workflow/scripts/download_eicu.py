"""Download eICU with the user's own account."""

from pathlib import Path

from dams._files import write_json
from dams.datasets.eicu.physionet import download_eicu
from dams.experiments.progress import job_log

with job_log(snakemake.log[0]):
    folder = Path(snakemake.output[0]).parent
    files = download_eicu(folder)
    write_json([{"file": str(f.path), "sha256": f.sha256, "verified": f.verified} for f in files], snakemake.output[0])
