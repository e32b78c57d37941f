"""eICU: FIDDLE's files read, downloaded with the user's own account, or simulated in the same format."""
