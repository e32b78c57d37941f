"""Designs, runs and records of the experiments."""
