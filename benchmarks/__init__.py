"""Ratios of the engines against the plain protocol, with what must be equal between the two."""
