"""Gather the draws, and derive shares of the gap and what to do."""

import pandas as pd

from dams.experiments.beyond.summary import advice, gap_closed, summarise_checks, with_followed
from dams.experiments.digests import recorded
from dams.experiments.progress import job_log
from dams.experiments.records import write_csv

with job_log(snakemake.log[0]), recorded(snakemake.output):
    params, output = snakemake.params, snakemake.output
    scores, checks = (
        pd.concat([pd.read_csv(file) for file in files], ignore_index=True)
        for files in (snakemake.input.scores, snakemake.input.checks)
    )
    scores = with_followed(scores, checks)
    shares = gap_closed(scores, **params.bootstrap, seed=params.seed)
    write_csv(scores, output.beyond_scores)
    write_csv(checks, output.beyond_checks)
    write_csv(shares, output.beyond_shares)
    write_csv(advice(shares, summarise_checks(scores, checks)), output.beyond_seen)
