"""Domain adaptation under missingness shift."""
