"""Covariates to experiment with: synthetic scenarios, data that ship inside scikit-learn, public and clinical data."""
