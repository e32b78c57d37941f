"""`dams run`: Snakemake with one line of progress, its whole log in a file, and its errors in full.

Snakemake runs in a process of its own (`launch`) with a logger plugin (`plugin`), which sends what happens as events
(`events`). `process` starts it; `follow` turns its events into what is shown (`progress`) and its text into the log.
"""

from dams.runner.process import NotStartedError, Outcome, run

__all__ = ["NotStartedError", "Outcome", "run"]
