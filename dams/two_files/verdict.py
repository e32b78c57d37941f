"""The verdict on two files, in a sentence, and the advice that follows from it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from dams.two_files.columns import DIFFERENT, LESS, MORE, NEVER_LOST, NOTHING, RECORDED
from dams.two_files.naming import as_option, count, listed

if TYPE_CHECKING:
    from dams.two_files.comparison import Comparison

# A factor of departure from UCAR up to which a rejection may be one of many rows alone.
SMALL = 1.1
CANT_SEE = (
    "No look at two files without labels in the target can see loss that depends on the outcome, an outcome that "
    "follows what was recorded rather than what is true, another share of cases, another relation between covariates "
    "and outcome, a single 0/1 column that is never lost although its mix differs, or a condition that is truly rarer."
)


class Verdict(Enum):
    """The verdict on two files."""

    NO_SHIFT = "no shift found"
    POPULATION_SHIFT = "population shift"
    MISSINGNESS_SHIFT = "missingness shift"
    REJECTED = "UCAR rejected"


def judge(found: Comparison) -> Verdict:
    """Return the verdict: a rejection weighs more than a shift, and loss more than the population."""
    if found.report is not None and found.report.rejected:
        return Verdict.REJECTED
    if found.columns["target_shows"].isin(DIFFERENT).any():
        return Verdict.MISSINGNESS_SHIFT
    return Verdict.POPULATION_SHIFT if found.columns["mix_differs"].any() else Verdict.NO_SHIFT


def headline(found: Comparison) -> str:
    """Return the verdict in a sentence or two."""
    shows = found.columns["target_shows"]
    less, more = int(shows.isin([LESS, NOTHING]).sum()), int((shows == MORE).sum())
    mix = list(found.columns.index[found.columns["mix_differs"]])
    given = f" given {listed(found.anchors)}" if found.anchors else ""
    population = f" The populations differ in {listed(mix)}, which neither file ever loses." if mix else ""
    test = f"nothing speaks against loss at random{given}" if _checked(found) else "whether at random was not checked"
    counted = f"of {count(len(shows))} the target shows {less} less often than the source and {more} more often"
    if found.verdict is Verdict.REJECTED:
        assert found.report is not None
        suspects = list(found.columns.index[found.columns["suspect"]])
        return (
            f"Loss at random{given} (UCAR) is rejected, p = {found.report.p_value:.2g}. Suspect: {listed(suspects)}. "
            f"{counted.capitalize()}.{population}"
        )
    if found.verdict is Verdict.MISSINGNESS_SHIFT:
        return f"Missingness shift: {counted}; {test}.{population}"
    if found.verdict is Verdict.POPULATION_SHIFT:
        return (
            f"Population shift: the files differ in {listed(mix)}, which neither ever loses. No other column shows a "
            f"clear difference, and {test}."
        )
    if found.is_same:
        return "No shift found: both files hold the same table, row by row."
    if shows.isin([NEVER_LOST, RECORDED]).all():
        return f"No shift found: nothing is lost in either file, and {test}."
    return f"No shift found: {count(len(shows))}, none with a clear difference, and {test}."


def advise(found: Comparison) -> list[str]:
    """Return what to do, one sentence or two per step."""
    if found.verdict is Verdict.REJECTED:
        return _advise_after_rejection(found)
    if found.verdict is Verdict.NO_SHIFT:
        return [
            "Use the source's predictor as it is: there is nothing to adapt to, as far as covariates tell."
            if _checked(found)
            else "Give more rows or columns before you rely on it: the test had too little to look at."
        ]
    steps = []
    if found.verdict is Verdict.MISSINGNESS_SHIFT:
        if found.relative.is_proper:
            steps.append(
                "Adapt: deleting source values can imitate the target. ClosedFormRegressor for a linear model, "
                "FilteredEstimator around any other."
            )
        else:
            steps.append(
                "Adapt: the target shows some columns more often, which deleting source values can't imitate. "
                "ClosedFormRegressor for a linear model, TwoWayEstimator around any other."
            )
        steps.append(
            "`dams adapt SOURCE TARGET --label Y --out FILE` does so, and estimates what is gained before you rely on "
            "it. It takes the options of this command, but leaves columns out with `--leave-out`."
        )
        if not _checked(found):
            steps.append("First give more rows or columns: whether values are lost at random could not be checked.")
    mix = [name for name in found.columns.index[found.columns["mix_differs"]] if name not in found.anchors]
    if mix:
        steps.append(
            f"What depends on {listed(mix)} differs too, and is taken for loss: name such columns as anchors "
            f"({as_option('--anchors', mix)}), and rows are weighted to the target's population."
        )
    return steps


def _advise_after_rejection(found: Comparison) -> list[str]:
    assert found.report is not None
    report, columns = found.report, found.columns
    suspects = list(columns.index[columns["suspect"]])
    steps = [
        "Do not adapt yet. Look at the suspects: do both places use the same units and codes, define them alike, and "
        "record them for the same reasons? Mend them, or leave them out "
        f"({as_option('--label', suspects)}), and compare again."
    ]
    excluded = report.checks[(report.checks["kind"] == "absences") & (report.checks["p_value"] < report.alpha)]
    if len(excluded):
        names = list(dict.fromkeys([*excluded["feature"], *excluded["other"]]))
        steps.append(
            f"{listed(names)} exclude each other: if they are levels of one category that is never lost, say so "
            f"({as_option('--always-recorded', names)})."
        )
    mix = [name for name in columns.index[columns["mix_differs"]] if name not in found.anchors]
    if mix:
        steps.append(
            f"The population differs in {listed(mix)}, and what depends on it differs too: if loss is at random given "
            f"these, say so ({as_option('--anchors', mix)})."
        )
    elif not found.anchors:
        steps.append("If loss depends on what is always recorded, such as age, sex or site: `--anchors`.")
    steps.append(
        "If columns are lost together, as all values of a blood sample are: `--column-group`"
        + ("." if found.has_groups else "; if several rows belong to one patient: `--groups`.")
    )
    worst = report.largest_departure
    if worst is not None and 1 / SMALL <= worst.effect <= SMALL:
        steps.append(
            f"The largest departure is a factor of {worst.effect:.2f}: with so many rows a rejection may be one of "
            "little harm. Hold it against 1 − r of the columns."
        )
    steps.append(
        "If the rejection stays, label some target rows and compare adapted and plain predictors there; without "
        "labels neither is safe."
    )
    return steps


def _checked(found: Comparison) -> bool:
    return found.report is not None and not found.report.not_checked
