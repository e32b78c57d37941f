"""Every claim and printed number of the paper, held against a run."""
