"""One table for all that the paper states: how each statement was checked, how far off it was, whether it holds.

A check is a function of a random generator that returns the largest deviation it saw; the statement holds if that is
within its tolerance. Statements that something *differs* return by how much the difference falls short of a margin.
Lines that the paper prints wrongly are in the table too, next to the corrected ones, and fail.
"""

from typing import Any

import numpy as np
import pandas as pd

from dams.theory.checks import estimation, identification, nonadaptivity

# In the paper's order.
SECTIONS = (nonadaptivity.SECTION, identification.SECTION, estimation.SECTION)


def check_all(random_state: Any = None) -> pd.DataFrame:
    """Check every statement of the paper on cases drawn anew.

    Parameters
    ----------
    random_state : int, Generator or None
        Same seed, same table.

    Returns
    -------
    DataFrame
        One row per statement, in the paper's order: statement, where, how_checked, largest_deviation, tolerance and
        verdict ("holds" or "fails"). What fails is what the paper misprints; those statements begin with "As printed".

    See Also
    --------
    Redundant, Confounded : The paper's two examples.
    """
    checks = [check for section in SECTIONS for check in section]
    generators = np.random.default_rng(random_state).spawn(len(checks))
    rows = []
    for check, rng in zip(checks, generators, strict=True):
        deviation = float(check.deviation(rng))
        rows.append(
            {
                "statement": check.statement,
                "where": check.where,
                "how_checked": check.how_checked,
                "largest_deviation": deviation,
                "tolerance": check.tolerance,
                "verdict": "holds" if deviation <= check.tolerance else "fails",
            }
        )
    return pd.DataFrame(rows)
