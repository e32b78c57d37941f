"""The one list of what a run makes: path, rule, condition, kind, title and caption of every product.

Rules take their outputs from it; the page, the provenance, the closing words and reports of interrupted runs look up
what there should be. Nothing else knows the name of a product's file. To add a table or figure of a study: a module of
its name in dams/report/outputs, and a line in OUTPUTS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dams.datasets.registry import is_scenario, title_of
from dams.experiments import design
from dams.experiments.beyond.names import EICU
from dams.experiments.beyond_products import BEYOND_PART, BEYOND_PRODUCTS, DRAW
from dams.experiments.product import SUFFIXES, Cases, Output, Part, Product
from dams.experiments.sepsis_products import SEPSIS_PART, SEPSIS_PRODUCTS

if TYPE_CHECKING:
    from dams.experiments.config import Config

OUTPUTS: dict[str, Output] = {
    "table1": Output(
        "table",
        "Target MSE/Var(Y) of every predictor; the best of each block in bold, the oracle in grey.",
    ),
    "stated_labels": Output(
        "table",
        "The scenarios with the labels of their stated equations, whose noise bounds every score from below.",
        labels="structural",
    ),
    "intervals": Output(
        "table",
        "Target MSE/Var(Y) with intervals over β and rate draws, and, beside them, the pooled ones as published.",
        each_dataset=True,
    ),
    "paired_differences": Output(
        "table",
        "Score of every method minus that of the source predictor and of the oracle, cell by cell.",
    ),
    "error_against_distance": Output(
        "figure",
        "Figure 2b: target MSE/Var(Y) of linear predictors against the distance between source and target rates, with "
        "a line and its interval for each regime; dots are its first hundred rate draws. Second row: excess over the "
        "oracle in the same cells.",
        model="linear",
    ),
    "error_against_epsilon": Output(
        "figure",
        "Figure 2a: target MSE/Var(Y) of linear predictors as source and target rates oppose each other, "
        "mˢ = [1 − ε, ε] and mᵗ = [ε, 1 − ε]; bands are intervals.",
        regime="opposing",
        model="linear",
    ),
}


PARTS: dict[str, Part] = {
    "theory": Part("Theory", "The paper's statements, each checked on cases drawn anew"),
    "eicu": Part("eICU", "Mortality in two hospitals"),
    "sepsis": SEPSIS_PART,
    "beyond": BEYOND_PART,
    # A comparison of records; it has no files of its own.
    "two_way": Part("Two-way adjustment", "Deletion and restoration together, for rates of either order"),
    "diagnostics": Part("Diagnostics", "Whether values are lost completely at random"),
}


def _with_theory(config: Config) -> list[dict[str, str]]:
    return [{}] if config.theory else []


def _with_eicu(config: Config) -> list[dict[str, str]]:
    return [{}] if config.eicu else []


def _with_studies(config: Config) -> list[dict[str, str]]:
    return [{}] if config.studies else []


def _with_simulated_eicu(config: Config) -> list[dict[str, str]]:
    return [{}] if config.eicu and config.eicu.source == "simulated" else []


def _each_block(config: Config) -> Iterator[dict[str, str]]:
    return (block.wildcards for block in design.blocks(config))


def _each_table_of_covariates(config: Config) -> list[dict[str, str]]:
    names = [name for study in config.studies.values() for name in study.datasets]
    if config.beyond:
        names += [name for name in config.beyond.datasets if name != EICU]
    return [{"dataset": name} for name in dict.fromkeys(names) if not is_scenario(name)]


def _each_output(kind: str) -> Cases:
    return lambda config: [{"output": o.file} for o in study_outputs(config) if OUTPUTS[o.name].kind == kind]


_THEORY: dict[str, Any] = {"part": "theory", "cases": _with_theory}
_EICU: dict[str, Any] = {"part": "eicu", "cases": _with_eicu}
_CELLS: dict[str, Any] = {"part": "diagnostics", "cases": _with_studies}
_HOSPITALS: dict[str, Any] = {"part": "diagnostics", "cases": _with_eicu}
_WITH_DATA: dict[str, Any] = {"formats": (*SUFFIXES["figure"], "csv")}


def _theory_figure(path: str, caption: str) -> Product:
    title = path.rpartition("/")[2].replace("_", " ").capitalize()
    return Product("draw_theory", path, "figure", title, caption, **_THEORY)


MANIFEST: dict[str, Product] = {
    "covariates": Product("prepare_data", "data/{dataset}", "step", cases=_each_table_of_covariates, formats=("npz",)),
    "block_records": Product("run_block", f"blocks/{design.BLOCK}", "step", cases=_each_block, formats=("csv",)),
    "block_timings": Product(
        "run_block", f"blocks/{design.BLOCK}.timings", "step", cases=_each_block, formats=("csv",)
    ),
    "records": Product("gather_records", "records", cases=_with_studies, bulky=True),
    # The same in a tenth of the bytes: what travels with the page, so that a reader can repeat every verdict.
    "records_compact": Product("gather_records", "records", title="Records", cases=_with_studies, formats=("npz",)),
    "failures": Product("gather_records", "failures", cases=_with_studies),
    "timings": Product("gather_records", "timings", cases=_with_studies, bulky=True),
    # Titles and captions are those of OUTPUTS.
    "table": Product("write_table", "tables/{output}", "table", cases=_each_output("table")),
    "figure": Product("draw_figure", "figures/{output}", "figure", cases=_each_output("figure")),
    "theory": Product(
        "check_theory",
        "theory/theory",
        "data",
        "Theory",
        "What the paper states, how it was checked, and by how much the worst case missed.",
        **_THEORY,
    ),
    "redundant_risk": _theory_figure(
        "theory/redundant_risk",
        "Example 1: as ε → 0 the source predictor is no better on the target than the label mean.",
    ),
    "confounded_risk": _theory_figure(
        "theory/confounded_risk",
        "Example 2: without adaptation the risk can exceed that of the label mean by any factor.",
    ),
    "regularisation_paths": _theory_figure(
        "theory/regularisation_paths",
        "Losing values completely at random acts on linear regression as a quadratic penalty.",
    ),
    "bound_on_relative_missingness": _theory_figure(
        "theory/bound_on_relative_missingness",
        "The finite-sample bound on the relative missingness always covers; the delta interval is narrower.",
    ),
    "improper_filter": _theory_figure(
        "theory/improper_filter",
        "A filter that can only delete reproduces the target where it loses more, and nowhere else.",
    ),
    "eicu_simulated": Product("simulate_eicu", "eicu/simulated", "step", cases=_with_simulated_eicu, formats=()),
    "eicu_performance": Product(
        "report_eicu",
        "eicu/performance",
        "table",
        "Performance",
        "Every predictor in both directions; beside ours, the published protocol and the paper.",
        **_EICU,
    ),
    "eicu_features": Product(
        "report_eicu",
        "eicu/features",
        "table",
        "Features",
        "The largest coefficients of each hospital's oracle, with how often the feature is recorded.",
        **_EICU,
    ),
    "eicu_prevalence": Product(
        "report_eicu",
        "eicu/prevalence",
        "figure",
        "Prevalence",
        "How often each feature is recorded in one hospital and in the other.",
        **_EICU,
    ),
    "eicu_rates": Product(
        "run_eicu",
        "eicu/relative_missingness_summary",
        "data",
        "Relative missingness summary",
        "In which direction the hospitals differ, and for how many features.",
        **_EICU,
    ),
    "eicu_scores": Product("run_eicu", "eicu/scores", title="Scores", **_EICU),
    "eicu_differences": Product("run_eicu", "eicu/differences", title="Paired differences", **_EICU),
    "eicu_coefficients": Product("run_eicu", "eicu/coefficients", title="Coefficients", **_EICU),
    "eicu_relative_missingness": Product(
        "run_eicu", "eicu/relative_missingness", title="Relative missingness", **_EICU
    ),
    # Whether the files were simulated: all that is made of these results says so.
    "eicu_cohort": Product("run_eicu", "eicu/cohort", cases=_with_eicu, formats=("json",)),
    **SEPSIS_PRODUCTS,
    **BEYOND_PRODUCTS,
    "verdicts": Product(
        "diagnose_cells",
        "diagnostics/verdicts",
        "data",
        "Verdicts",
        "check_ucar on one cell of every regime. Values are lost completely at random here, by design, so about one "
        "cell in twenty is rejected by chance.",
        **_CELLS,
    ),
    "missingness_by_cell": Product(
        "diagnose_cells",
        "diagnostics/missingness_by_cell",
        "data",
        "Missingness by cell",
        "The same cells. Covered: share of intervals that hold the true r. Where the least eigenvalue is near zero or "
        "below, the closed form as printed breaks down. Negative: share of features that the target records better, "
        "where a filter can't follow.",
        **_CELLS,
    ),
    "relative_missingness": Product(
        "diagnose_cells",
        "diagnostics/relative_missingness",
        "figure",
        "Relative missingness",
        "Estimated 1 − r against the true one, one mark per feature: intervals should touch the line. Right of the "
        "dotted line the target records more than the source.",
        **_CELLS,
        **_WITH_DATA,
    ),
    "hospital_verdicts": Product(
        "diagnose_eicu",
        "diagnostics/hospital_verdicts",
        "data",
        "Hospital verdicts",
        "check_ucar between the two hospitals, then between simulated ones whose mechanism is known. Of these only "
        "ucar and population, whose labels differ and not the loss, keep the assumption; the trace of hourly is weak.",
        **_HOSPITALS,
    ),
    "hospital_checks": Product(
        "diagnose_eicu",
        "diagnostics/hospital_checks",
        "figure",
        "Hospital checks",
        "How far pairs of features are from what UCAR allows, in the same cohorts. A line that leaves the dotted one "
        "to the right speaks against UCAR.",
        **_HOSPITALS,
        **_WITH_DATA,
    ),
    "claims": Product(
        "check_claims",
        "claims",
        "data",
        "Claims",
        "Every claim of the paper, the verdict on it, and the closest call among its measurements.",
        cases=_with_studies,
    ),
    "findings": Product("check_claims", "findings", cases=_with_studies),
    "comparison": Product(
        "compare_with_paper",
        "comparison",
        "data",
        "Printed numbers beside ours",
        "Every number that the paper prints beside the one measured, their difference with the sampling error of both "
        "runs, and how it ends: agrees, explained by an erratum that can be checked, or unexplained.",
        cases=_with_studies,
    ),
    "published_against_measured": Product(
        "compare_with_paper",
        "figures/published_against_measured",
        "figure",
        "Printed against measured",
        "Scores as printed, with their printed intervals, against scores measured, with ours. On the dotted line they "
        "agree. The printed intervals take crossed runs for independent ones and are too short (erratum E5); verdicts "
        "rest on the sampling error of both runs.",
        cases=_with_studies,
    ),
    "design_scatter": Product(
        "compare_with_paper",
        "figures/design_scatter",
        "figure",
        "How widely designs scatter",
        "Where the mean of linear predictors lies over the stated design of 50 rate draws and 10 β, with the sampling "
        "error of both runs (thick), and over designs of a single pair of rates and 5 β (thin). Crosses are the "
        "printed numbers. It shows how sensitive they are, not how they were made (erratum E8).",
        cases=_with_studies,
    ),
    "provenance": Product("write_provenance", "provenance", "page", formats=("json",)),
    "report": Product("write_report", "report", "page", formats=("html",)),
}

# Logs and benchmark files of a rule's jobs, where these have names of their own.
_JOBS = {
    "run_block": f"run_block/{design.BLOCK}",
    "prepare_data": "prepare_data/{dataset}",
    "run_beyond": f"run_beyond/{DRAW}",
    "write_table": "write_table/{output}",
    "draw_figure": "draw_figure/{output}",
}
# Where jobs write down what they vouch for, one file per job; see digests.py.
DIGESTS = "digests"
# Written when a run starts, by no rule: its configuration, and the times of its starts.
SETTINGS, STARTS = "config.json", "logs/starts.txt"


# Raw files serve every run; what served each is beside them, one JSON file per data set.
RAW = "data/raw"


def results_of(name: str) -> str:
    """Return the folder of a run, below the working directory."""
    return f"results/{name}"


def file_of(name: str, **wildcards: str) -> str:
    """Return the first file of a product, below the run's folder."""
    return MANIFEST[name].files[0].format(**wildcards)


def entries_of(rule: str) -> dict[str, Product]:
    """Return what a rule makes, by name."""
    return {name: product for name, product in MANIFEST.items() if product.rule == rule}


def job_of(rule: str) -> str:
    """Return the name of a rule's jobs, with its wildcards: that of their logs and benchmark files."""
    return _JOBS.get(rule, rule)


def digests_of(job: str) -> str:
    """Return the file with the digests of what a job made, below the run's folder; all lie in one folder."""
    return f"{DIGESTS}/{job.replace('/', '.')}.sha256"


@dataclass(frozen=True)
class Made:
    """A product as one run has it, with the values of its wildcards put in."""

    name: str
    product: Product
    files: tuple[str, ...]
    job: str
    title: str
    caption: str


def products_of(config: Config) -> list[Made]:
    """List all that a configuration asks for."""
    outputs = {output.file: output for output in study_outputs(config)}
    found = []
    for name, product in MANIFEST.items():
        for case in product.cases(config):
            files = tuple(file.format(**case) for file in product.files)
            title, caption = product.title, product.caption
            if "output" in case:
                title, caption = outputs[case["output"]].title, OUTPUTS[outputs[case["output"]].name].caption
            job = job_of(product.rule).format(**case)
            found.append(Made(case.get("output", name), product, files, job, title, caption))
    return found


@dataclass(frozen=True)
class StudyOutput:
    """A table or figure of a run: its entry in OUTPUTS, and the records that it is made from.

    `order` holds the names of data sets and regimes that its studies have, in their order.
    """

    file: str
    name: str
    studies: tuple[str, ...]
    dataset: str | None
    order: dict[str, list[str]]

    @property
    def title(self) -> str:
        """The head of the table or figure."""
        title = self.name.replace("_", " ").replace("table1", "table 1").capitalize()
        return f"{title}: {title_of(self.dataset)}" if self.dataset else title

    def as_params(self) -> dict[str, Any]:
        """Write it as a rule's parameter, of which Snakemake keeps account."""
        return {"name": self.name, "studies": list(self.studies), "dataset": self.dataset, "order": self.order}


def study_outputs(config: Config) -> list[StudyOutput]:
    """List tables and figures of a run, in the order in which its studies ask for them."""
    asking: dict[tuple[str, str | None], list[str]] = {}
    for study_name, study in config.studies.items():
        for name in study.outputs:
            for dataset in study.datasets if OUTPUTS[name].each_dataset else [None]:
                asking.setdefault((name, dataset), []).append(study_name)
    return [
        StudyOutput(
            f"{name}_{dataset}" if dataset else name,
            name,
            tuple(studies),
            dataset,
            design.names_in_order(config.studies[study] for study in studies),
        )
        for (name, dataset), studies in asking.items()
    ]
