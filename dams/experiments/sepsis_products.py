"""Products of the study of two hospitals; a part of the manifest in `dams.experiments.products`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dams.experiments.product import Part, Product

if TYPE_CHECKING:
    from dams.experiments.config import Config


SEPSIS_PART = Part(
    "Two hospitals",
    "Sepsis after the first day in intensive care, in two hospital systems that record differently and whose losses "
    "are known: open data of the PhysioNet/Computing in Cardiology Challenge 2019",
    (
        "A flag says that a measurement of the first 24 hours was abnormally high or low. Without the known losses a 0 "
        "means normal or not measured, as in records that hold findings alone; the methods see no more than that, "
        "unless they are marked. Two questions are asked. With masks that were moved or drawn, both sides hold "
        "patients of one hospital, so that only the recording differs, and what an adjustment should reach is known. "
        "From one hospital to the other everything differs: whom they treat, whom they measure, and how often patients "
        "turn septic.",
        "What a hospital should do: compare what both places always record, age and sex at least, before anything "
        "else. If these agree, let compare_target_risk choose, or adapt with the closed form and its defaults, also "
        "where whole panels are lost at once. If they differ, zeros tell of other patients as much as of other "
        "records: keep the predictor as it is, record what was measured beside what was found, and label some hundreds "
        "of patients. Given to the closed form, these say whether it is wrong, and correct it; alone they are too few "
        "to learn from.",
    ),
    optional=True,
)


def _with_sepsis(config: Config) -> list[dict[str, str]]:
    return [{}] if config.sepsis else []


_SEPSIS: dict[str, Any] = {"part": "sepsis", "cases": _with_sepsis}

SEPSIS_PRODUCTS: dict[str, Product] = {
    "sepsis_findings": Product(
        "report_sepsis",
        "sepsis/findings",
        "data",
        "What held",
        "What was asked of these data, what was measured, and whether it is as expected. Analogues repeat on these "
        "hospitals what the paper claims of its own: they say nothing of the paper's.",
        **_SEPSIS,
    ),
    "sepsis_gap": Product(
        "report_sepsis",
        "sepsis/gap_closed",
        "figure",
        "Gap closed",
        "Share of the gap between source and oracle that each method closes on patients of one hospital, labels Xβ; a "
        "small mark per split, intervals over splits. Transplanted: whole recording patterns of the other hospital. "
        "Simulated: the same rates, lost independently.",
        **_SEPSIS,
    ),
    "sepsis_mask_scores": Product(
        "report_sepsis",
        "sepsis/mask_scores",
        "table",
        "Masks",
        "Target MSE/Var(Y) of linear predictors where masks were transplanted or drawn; the best of each column "
        "without target labels in bold.",
        **_SEPSIS,
    ),
    "sepsis_excess": Product(
        "report_sepsis",
        "sepsis/excess",
        "figure",
        "From one hospital to the other",
        "Target MSE/Var(Y) minus that of the source predictor of the same model, with intervals over patients: left of "
        "the line a method helps, right of it, it hurts. What the oracle gains is all there is to gain.",
        **_SEPSIS,
    ),
    "sepsis_performance": Product(
        "report_sepsis",
        "sepsis/performance",
        "table",
        "Performance",
        "Every predictor in both directions, tested on half of the target hospital's patients.",
        **_SEPSIS,
    ),
    "sepsis_recording_figure": Product(
        "report_sepsis",
        "sepsis/recording_ratios",
        "figure",
        "Relative missingness against recording",
        "1 − r̂ from silent flags against the ratio of recording that the known losses reveal, one mark per flag. On "
        "the line the estimate is right; off it, patients who are measured are more or less often abnormal in the "
        "other hospital.",
        **_SEPSIS,
    ),
    "sepsis_recording_summary": Product(
        "run_sepsis",
        "sepsis/recording_summary",
        "data",
        "Relative missingness, summary",
        "How well 1 − r̂ follows the ratio of recording: correlation of logarithms, shares of flags within a factor of "
        "1.25 and 1.5 and with the right direction, and of intervals that hold it.",
        **_SEPSIS,
    ),
    "sepsis_checks": Product(
        "run_sepsis",
        "sepsis/checks",
        "data",
        "Checks of UCAR",
        "check_ucar between the hospitals, which differ in whom they treat, in whom they measure and in what they "
        "order together.",
        **_SEPSIS,
    ),
    "sepsis_risks": Product(
        "run_sepsis",
        "sepsis/risks",
        "data",
        "Estimated risks",
        "MSE/Var(Y) in the other hospital as compare_target_risk estimates it without labels of that hospital, with "
        "95 % intervals, beside the truth; what it would choose, and how far each is above the source predictor. It "
        "assumes one population, which check_ucar denies here.",
        **_SEPSIS,
    ),
    "sepsis_cohort": Product(
        "run_sepsis",
        "sepsis/cohort",
        "data",
        "Patients",
        "Patients and hours in the files, and patients left out: with sepsis in the first 24 hours, or with no hour "
        "among them.",
        **_SEPSIS,
    ),
    "sepsis_scores": Product("run_sepsis", "sepsis/scores", title="Scores", **_SEPSIS),
    "sepsis_recording": Product("run_sepsis", "sepsis/recording", title="Recording", **_SEPSIS),
    "sepsis_masks": Product("mask_sepsis", "sepsis/masks", title="Masks", **_SEPSIS),
    "sepsis_shares": Product("mask_sepsis", "sepsis/shares", title="Shares", **_SEPSIS),
}
