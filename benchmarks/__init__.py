"""Measurements of the engines against the plain protocol, as ratios within one run."""
