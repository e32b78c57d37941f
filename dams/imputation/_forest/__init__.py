"""Random forests of shallow trees on binned columns, all trees grown at once.

Read in this order: `binning`, `targets`, `histograms` (the sums that a split search needs), `splits` (the search),
`rounding` (which of equal splits it takes), `trees`.
"""

from dams.imputation._forest.binning import MAX_BINS, BinnedColumn, bin_column
from dams.imputation._forest.targets import ClassTarget, NumericTarget
from dams.imputation._forest.trees import MAX_DEPTH, HistogramForest, grow_forest

__all__ = [
    "MAX_BINS",
    "MAX_DEPTH",
    "BinnedColumn",
    "ClassTarget",
    "HistogramForest",
    "NumericTarget",
    "bin_column",
    "grow_forest",
]
