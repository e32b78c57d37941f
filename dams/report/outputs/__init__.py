"""Tables and figures, one module each; what a run asks for is in dams.experiments.products."""
