"""Imputation of missing values by forests."""

from dams.imputation.missforest import MissForestImputer

__all__ = ["MissForestImputer"]
