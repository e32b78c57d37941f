"""Write the tables, the figure and the findings of what to do when."""

import pandas as pd

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.report.figures import save_figure
from dams.report.outputs.beyond import advice_table, gap_figure, shares_table
from dams.report.outputs.beyond_findings import beyond_findings

with job_log(snakemake.log[0]), recorded(snakemake.output):
    results, output = snakemake.input, snakemake.output
    scores, checks, shares, seen = (
        pd.read_csv(results[name]) for name in ("beyond_scores", "beyond_checks", "beyond_shares", "beyond_seen")
    )
    advice_table(seen).save(output.beyond_advice)
    shares_table(shares, seen).save(output.beyond_closed)
    save_figure(gap_figure(shares, seen), output.beyond_gap)
    write_csv(beyond_findings(scores, checks), output.beyond_findings)
