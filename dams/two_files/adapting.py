"""From a labelled source and an unlabelled target to the predictor to use there: adapted, or not.

1. What is known of columns is completed: sets of 0/1 columns of which every row of both tables shows one are never
   lost. Columns that the source hardly shows are left out.
2. `check_ucar` tests what can be tested. If it rejects, the source's predictor is kept unless the caller insists.
3. Candidates (`dams.two_files.candidates`) are fitted on two thirds of the source and compared on the rest by
   `compare_target_risk`; small tables are cross-fitted. One that is adapted is taken only if its expected risk is below
   that of the source's predictor by its whole interval.
4. Labelled target rows, if there are any, decide where they can tell.
5. The one that is taken is fitted on all source rows.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dams._risk_results import TargetRiskComparison
from dams._ucar_report import UCARReport
from dams.diagnostics import check_ucar
from dams.relative import RelativeMissingness, estimate_relative_missingness
from dams.sensitivity import Sensitivity
from dams.two_files.candidates import SOURCE, Kind, Known, families, make_candidates
from dams.two_files.judging import Fitted, Judged
from dams.two_files.labels import Labels, read_further_labels, read_labels
from dams.two_files.notes import notes_on_flags
from dams.two_files.preparing import check_tables, complete_knowledge, drop_rare, labelled_rows, take_columns
from dams.two_files.recorded_outcome import columns_that_tell_the_label, describe_doubt
from dams.two_files.target_labels import LEAST, LabelTest, compare_on_labels

logger = logging.getLogger(__name__)

Array = np.ndarray
MEND = (
    "Mend or leave out what is suspect, name what is always recorded, lost together, or what loss depends on "
    "(anchors), or label some target rows."
)
# Differences below this share of a risk are errors of rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Adaptation:
    """Result of `adapt`.

    Attributes
    ----------
    choice : str
        The candidate that was taken.
    adapted : bool
        Whether it is one that is adapted to the target.
    why : str
        A sentence: why it was taken.
    model : fitted estimator
        The candidate, fitted on all labelled source rows.
    label : str
        Name of the label.
    classes : pair of str or None
        Of a label with two values: `predict` gives the probability of the second.
    columns : list of str
        Columns that the model takes, in their order.
    comparison : TargetRiskComparison
        Expected risks of all candidates in the target, with intervals, and the differences from the source's.
    relative : RelativeMissingness
    report : UCARReport or None
        Result of `check_ucar`; None where it could not be made, and `notes` say why.
    sensitivity : Sensitivity or None
        Of linear models: how strongly loss may depend on the outcome before adapting stops paying.
    label_test : LabelTest or None
        What labelled target rows say.
    notes : list of str
        What was done to columns and rows, and what was warned of on the way.
    """

    choice: str
    adapted: bool
    why: str
    model: Any
    label: str
    classes: tuple[str, str] | None
    columns: list[str]
    comparison: TargetRiskComparison
    relative: RelativeMissingness
    report: UCARReport | None
    sensitivity: Sensitivity | None
    label_test: LabelTest | None
    notes: list[str] = field(default_factory=list)

    def predict(self, X: pd.DataFrame) -> Array:
        """Predict labels of target rows; of two classes the probability of the second."""
        return predict_with(self.model, take_columns(X, self.columns))

    @property
    def gain(self) -> tuple[float, float, float]:
        """How much less risk than the source's predictor the choice is expected to have: estimate and interval."""
        row: Any = self.comparison.table.loc[self.choice]
        return -float(row["difference"]), -float(row["difference_upper"]), -float(row["difference_lower"])

    def __str__(self) -> str:
        parts = [self.why, *self.notes]
        if self.report is not None:
            parts.append(str(self.report))
        if self.label_test is not None:
            parts.append(str(self.label_test))
        if self.sensitivity is not None and self.adapted:
            parts.append(str(self.sensitivity))
        return "\n".join(parts)

    __repr__ = __str__


def predict_with(model: Any, X: pd.DataFrame) -> Array:
    """Return predictions, of a classifier the probabilities of its second class."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    return np.asarray(model.predict(X))


def adapt(
    X_source: pd.DataFrame,
    y_source: Any,
    X_target: pd.DataFrame,
    *,
    model: Kind = "auto",
    label: str = "y",
    always_recorded: Sequence[str] = (),
    column_groups: Sequence[Sequence[str]] = (),
    anchors: Sequence[str] = (),
    groups: Any = None,
    groups_target: Any = None,
    labelled: tuple[Any, Any, Any] | None = None,
    confidence: float = 0.95,
    adapt_if_rejected: bool = False,
    random_state: int = 0,
    notes: Sequence[str] = (),
) -> Adaptation:
    """Choose the predictor to use in the target, adapted to its missingness only if that is expected to pay.

    Parameters
    ----------
    X_source : DataFrame
        Columns of numbers; zero means zero or lost.
    y_source : array of shape (n_s,)
        Numbers, or two values of any kind; rows without a label (NaN, None) are left out.
    X_target : DataFrame
        Columns of the same names.
    model : "linear", "logistic", "boosting" or "auto"
        Kind of model. "auto" compares a linear one (of two classes a logistic one) and boosting.
    label : str
        Name of the label, for messages.
    always_recorded, column_groups, anchors, groups, groups_target
        What is known of columns and rows, as everywhere.
    labelled : (X, y, groups) or None
        A few target rows with labels, and ids of those that belong together or None.
    confidence : float
        Level of the intervals.
    adapt_if_rejected : bool
        Whether to adapt although UCAR is rejected, where the expected risk is lower.
    random_state : int
        Seed of everything that is drawn.
    notes : sentences
        What is to be said of the tables, such as how they were read.

    Returns
    -------
    Adaptation
        Prints what was taken and why; `predict` gives predictions.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dams import apply_missingness
    >>> from dams.two_files import adapt
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame(rng.normal(2, 1, (12_000, 2)) + rng.normal(size=(12_000, 1)), columns=["a", "b"])
    >>> y = X.to_numpy() @ [1.0, 2.0]
    >>> source = apply_missingness(X[:6_000], [0.1, 0.5], random_state=1)
    >>> target = apply_missingness(X[6_000:], [0.5, 0.1], random_state=2)
    >>> adapt(source, y[:6_000], target, model="linear").choice
    'linear closed form'
    """
    labels = read_labels(y_source, label, as_numbers=model == "linear")
    kinds = families(model, classes=labels.classes is not None)
    X_target = check_tables(X_source, len(labels.values), X_target, groups, always_recorded, column_groups, anchors)
    notes = list(notes)
    if kinds == ["linear"] and labels.classes is not None:
        notes.append(f"Label {label!r} is text: {labels.classes[1]!r} is predicted as 1, {labels.classes[0]!r} as 0.")
    X, y, ids = labelled_rows(X_source, labels, groups, label, notes)
    X, X_target = drop_rare(X, X_target, notes)
    known = Known(
        *complete_knowledge(X, X_target, always_recorded, column_groups, anchors, notes),
        groups=ids,
        groups_target=groups_target,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        relative = estimate_relative_missingness(X, X_target, **known.structure)
        notes += notes_on_flags(X, X_target, relative)
        report = _check(X, X_target, known, random_state, notes)
        # A linear model takes the codes of two classes as numbers.
        classes = labels.classes is not None and kinds != ["linear"]
        candidates = make_candidates(kinds, known, relative, classes=classes, seed=random_state)
        judged = Judged.of(candidates, X, y, X_target, known, confidence=confidence, seed=random_state)
        compared = judged.comparison
        rival = _best_adapted(compared)
        fitted = Fitted(candidates, X, y, X_target, known)
        test = None
        if labelled is not None:
            test = _test(labelled, fitted, rival, compared, label, labels, X.columns)
        choice, why = _decide(compared, rival, report, test, insist=adapt_if_rejected)
        if choice == rival and not (test is not None and test.bears_out):
            doubtful = columns_that_tell_the_label(X, y, ids, known.always_recorded)
            why += f" {describe_doubt(doubtful, label)}" if doubtful else ""
        chosen = fitted[choice]
        sensitivity = judged.sensitivity(rival) if "linear" in rival else None
    notes += dict.fromkeys(f"Note: {warning.message}" for warning in caught if _is_news(warning, why))
    return Adaptation(
        choice=choice,
        adapted=not choice.endswith(SOURCE),
        why=why,
        model=chosen,
        label=label,
        classes=labels.classes if hasattr(chosen, "predict_proba") else None,
        columns=list(X.columns),
        comparison=compared,
        relative=relative,
        report=report,
        sensitivity=sensitivity,
        label_test=test,
        notes=notes,
    )


def _is_news(warning: Any, why: str) -> bool:
    """Whether a warning says something that the result does not say anyway."""
    said = str(warning.message)
    return issubclass(warning.category, UserWarning) and "signed estimate is too noisy" not in said and said not in why


def _check(X: pd.DataFrame, X_target: pd.DataFrame, known: Known, seed: int, notes: list[str]) -> UCARReport | None:
    logger.info("Testing whether values are lost at random")
    try:
        return check_ucar(X, X_target, random_state=seed, **known.structure)
    except ValueError as error:
        notes.append(f"Whether values are lost at random was not checked: {error}")
        return None


def _best_adapted(compared: TargetRiskComparison) -> str:
    adapted = [name for name in compared.table.index if not str(name).endswith(SOURCE)]
    return str(compared.table.loc[adapted, "estimate"].idxmin())


def _test(
    labelled: tuple[Any, Any, Any],
    fitted: Fitted,
    rival: str,
    compared: TargetRiskComparison,
    label: str,
    labels: Labels,
    columns: Any,
) -> LabelTest:
    X, y, groups = labelled
    values = read_further_labels(y, label, labels.classes)
    if len(values) != len(X):
        raise ValueError(f"labelled has {len(values)} labels, expected one per row, {len(X)}.")
    given = ~np.isnan(values)
    rows, values = take_columns(X, list(columns))[given].reset_index(drop=True), values[given]
    if len(values) < LEAST:
        raise ValueError(
            f"Only {len(values)} target rows have labels, expected at least {LEAST}: label more, or leave them out."
        )
    names = rival, compared.reference
    losses = {name: np.square(values - predict_with(fitted[name], rows)) for name in names}
    return compare_on_labels(
        losses,
        *names,
        None if groups is None else np.asarray(groups)[given],
        expected=compared.table.loc[rival],
        confidence=compared.confidence,
    )


def _decide(
    compared: TargetRiskComparison, rival: str, report: UCARReport | None, test: LabelTest | None, *, insist: bool
) -> tuple[str, str]:
    """Return the candidate to take, and why."""
    row, kept = compared.table.loc[rival], compared.reference
    # Where nothing differs both predict the same, but for the last digits.
    digits = ROUNDING * abs(row["estimate"])
    shown = {key: 0.0 if abs(row[key]) <= digits else row[key] for key in row.index if key.startswith("difference")}
    low, high = (f"{-shown[f'difference_{end}'] + 0.0:.4g}" for end in ("upper", "lower"))
    more = "less" if shown["difference"] <= 0 else "more"
    loss = compared.loss.replace("brier", "Brier")
    gain = (
        f"{rival!r} is expected to have a {loss} loss of {row['estimate']:.4g} in the target, "
        f"{abs(shown['difference']):.4g} {more} than {kept!r} (gain with {100 * compared.confidence:.4g} % interval: "
        f"{low} to {high})"
    )
    keep = f"Kept {kept!r}, which is not adapted"
    if test is not None and test.contradicts:
        return kept, f"{keep}: labelled target rows say that {rival!r} does harm there."
    if test is not None and test.bears_out:
        return rival, f"Adapted: labelled target rows bear out that {rival!r} is better than {kept!r}. {gain}."
    if compared.contradicted:
        return kept, f"{keep}. {compared.reason}"
    # Within one standard error below zero it may be a predictor that is nearly exact.
    if row["estimate"] + row["standard_error"] < 0:
        return kept, (
            f"{keep}: the expected {loss} loss of {rival!r} in the target, {row['estimate']:.4g}, lies below zero, "
            "which none can. Labels may follow what was recorded rather than what is true, or relate to the covariates "
            "in another way in the target: label some target rows (--target-labels) to see."
        )
    rejected = ""
    if report is not None and report.rejected:
        rejected = f"values are not lost at random (suspect: {', '.join(report.suspects[:5])}), so that the gain"
    if shown["difference_upper"] >= 0:
        why = f"{keep}: nothing that is adapted is expected to be better beyond doubt. {gain}."
        return kept, f"{why} But {rejected} may be another. {MEND}" if rejected else why
    if rejected and not insist:
        return kept, f"{keep}: {rejected} can't be relied on. {gain}, if they were. {MEND}"
    return rival, f"Adapted: {gain}."
