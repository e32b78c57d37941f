"""The parts of scikit-learn that it calls private, in one place: what a release moves is mended here.

`fit_context` validates parameters before `fit`; `select_rows` takes rows of tables and lists of any kind; the others
describe which values a parameter may take. Present, under these names, from scikit-learn 1.6 to 1.9;
`tests/estimators/test_sklearn_conventions.py` looks at the package for others.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as select_rows
from sklearn.utils._param_validation import HasMethods, Interval, MissingValues, StrOptions

__all__ = ["HasMethods", "Interval", "MissingValues", "StrOptions", "fit_context", "select_rows"]
