"""Write tables, figures and findings of the two hospitals."""

import pandas as pd

from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv
from dams.report.figures import save_figure
from dams.report.outputs.sepsis import excess_figure, gap_figure, mask_table, performance_table, recording_figure
from dams.report.outputs.sepsis_findings import sepsis_findings

with job_log(snakemake.log[0]), recorded(snakemake.output):
    results, output = snakemake.input, snakemake.output
    scores, masks, shares, ratios = (
        pd.read_csv(results[name]) for name in ("sepsis_scores", "sepsis_masks", "sepsis_shares", "sepsis_recording")
    )
    write_csv(sepsis_findings(scores, shares, ratios), output.sepsis_findings)
    mask_table(shares).save(output.sepsis_mask_scores)
    performance_table(scores).save(output.sepsis_performance)
    save_figure(gap_figure(masks, shares), output.sepsis_gap)
    save_figure(excess_figure(scores), output.sepsis_excess)
    save_figure(recording_figure(ratios), output.sepsis_recording_figure)
