"""The paper's definitions, remarks, propositions, lemmas and theorems, as code that can be called.

Nothing here is needed to adapt a predictor. These modules let a reader try what the paper states, and
`check_all` tries all of it.
"""

from dams.theory.checks import check_all
from dams.theory.examples import Confounded, Redundant

__all__ = ["Confounded", "Redundant", "check_all"]
