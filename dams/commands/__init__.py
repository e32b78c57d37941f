"""One module per topic of the command `dams`: what it takes, what it does, what it says."""
