"""The site: every public name has a page, every document is reachable, links lead somewhere, and quoted numbers hold.

`make docs` builds it with warnings as errors; what is here needs no build.
"""

import importlib
import inspect
import pkgutil
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

import dams

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("plot_*.py"))

pytest.importorskip("numpydoc")
sys.path.insert(0, str(DOCS / "_extensions"))
from repository_files import PAGES, REPORTS, describe_commands, rewrite_links  # noqa: E402


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def import_unset(name):
    """Import a module and leave scikit-learn's settings alone: skada turns metadata routing on."""
    with sklearn.config_context():
        return importlib.import_module(name)


def public_names():
    """Every name in `__all__` of dams, of its modules and of the packages at any depth, with its object."""
    found = pkgutil.walk_packages(dams.__path__, "dams.")
    for name in ["dams", *(module.name for module in found if module.ispkg or module.name.count(".") == 1)]:
        if any(part.startswith("_") for part in name.split(".")):
            continue
        if "__all__" not in (importlib.util.find_spec(name).loader.get_source(name) or ""):
            continue
        module = import_unset(name)
        for public in getattr(module, "__all__", []):
            yield f"{name}.{public}", getattr(module, public)


def documented():
    """Names that the API page lists, as it lists them, with their objects."""
    module, found = None, {}
    for line in text_of("api.md").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_]\w*", line):
            found[f"{module}.{line.strip()}"] = getattr(import_unset(module), line.strip())
    return found


# Of a module's __all__, what only dams itself uses.
INTERNAL = {"dams.diagnostics.PreparedCheck", "dams.diagnostics.prepare_check"}


def test_every_public_name_is_in_the_reference():
    listed = list(documented().values())
    missing = [
        name for name, found in public_names() if name not in INTERNAL and not any(found is other for other in listed)
    ]
    assert not missing, f"docs/api.md does not list {missing}: add each to its group there."


VALIDATED = {
    *("GL01", "GL03", "GL06", "GL07", "GL08"),  # sections, their names and order
    *("SS01", "SS02", "SS03", "SS04", "SS05"),  # the summary
    *("PR02", "PR03", "PR05", "PR08", "PR10"),  # parameters: all exist, in order, described
    *("RT03", "RT04", "YD01", "SA02", "SA03", "SA04"),
}


@pytest.mark.parametrize("name", documented())
def test_docstrings_follow_numpydoc(name):
    from numpydoc.validate import validate

    found = [error for error in validate(name)["errors"] if error[0] in VALIDATED]
    assert not found
    summary = inspect.getdoc(documented()[name]).split(maxsplit=1)[0]
    assert summary not in ("What", "Say", "Says", "That")


def test_siblings_are_named_in_see_also_and_exist():
    from numpydoc.docscrape import get_doc_object

    listed = documented()
    for name in dams.__all__:
        found = get_doc_object(getattr(dams, name))["See Also"]
        assert found, f"{name} has no See Also."
        for entries, _ in found:
            for entry, _ in entries:
                assert entry in listed or f"dams.{entry}" in listed, f"{name} names {entry}, which has no page."


def toctree():
    entries = re.findall(r"```\{toctree\}\n(.*?)```", text_of("index.md"), re.DOTALL)
    lines = [line.strip() for block in entries for line in block.splitlines() if line.strip()]
    return [re.sub(r".*<(.+)>", r"\1", line) for line in lines if not line.startswith(":")]


def test_every_document_is_reachable():
    listed = toctree()
    assert len(listed) == len(set(listed))
    missing = {page.stem for page in DOCS.glob("*.md")} - set(listed) - {"index"}
    assert not missing, f"No toctree of docs/index.md lists {sorted(missing)}."
    assert {f"generated/pages/{page}" for page in PAGES.values()} < set(listed)


def without_code(page):
    return re.sub(r"```(?!\{).*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def markdown_links():
    """Every link of the pages, README among them: the page, the path (empty within a page) and the heading."""
    for page in [*DOCS.glob("*.md"), ROOT / "README.md", *(ROOT / name for name in PAGES)]:
        for target, heading in re.findall(r"\]\(([^)\s#]*)#?([^)\s]*)\)", without_code(page)):
            if "://" not in target and not target.startswith(("generated/", "mailto:")):
                yield page, target, heading


def headings(page):
    """The anchors of a page's headings, as both the site and what shows Markdown in a repository name them."""
    titles = re.findall(r"^#+ (.*)$", without_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_links_lead_to_files_and_headings():
    links = list(markdown_links())
    assert len(links) > 50 and sum(bool(heading) for *_, heading in links) > 5
    for page, target, heading in links:
        path = page.parent / target if target else page
        link = f"{page.relative_to(ROOT)}: {target}#{heading}"
        assert path.exists(), link
        assert not heading or heading in headings(path), link


def test_links_to_the_gallery_and_from_it_lead_somewhere():
    for page in DOCS.glob("*.md"):
        for name in re.findall(r"\(generated/gallery/(\w+)\.rst\)", page.read_text(encoding="utf-8")):
            assert (DOCS / "gallery" / f"{name}.py").exists(), (page.name, name)


def test_reports_and_the_files_they_link_are_there():
    for name in REPORTS:
        folder = ROOT / "results" / name
        page = (folder / "report.html").read_text(encoding="utf-8")
        for target in re.findall(r'href="(?!https?:|data:|mailto:|#)([^"#?]+)', page):
            assert (folder / target).exists(), target


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](../README.md)", "[a](index.md)"),
        ("[a](../config/README.md#regimes)", "[a](generated/pages/configuration.md#regimes)"),
        ("[a](../results/sepsis)", "a"),
        ("[a](../results/paper/report.html)", '<a href="reports/paper/report.html">a</a>'),
        ("[a](../results/paper/tables/table1.md)", "{download}`a <../results/paper/tables/table1.md>`"),
        ("![a](../results/paper/figures/x.svg)", "![a](../results/paper/figures/x.svg)"),
        ("[a](two_way.md)", "[a](two_way.md)"),
        ("[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
    ],
)
def test_links_to_the_repository_are_those_of_the_site(link, expected):
    assert rewrite_links(link, DOCS, DOCS) == expected


def test_the_command_line_page_has_every_command():
    from dams.cli import make_parser

    page = describe_commands(make_parser())
    for command in ("check", "run", "compare", "verify"):
        assert f"## `dams {command}`" in page
    assert "--always-recorded" in page and "\x1b" not in page


def test_the_start_page_defines_r_before_it_uses_it_and_quotes_the_run():
    page = text_of("index.md")
    assert page.index("**relative missingness r**") < page.index("r = 0.5")
    table = pd.read_csv(ROOT / "results" / "paper" / "tables" / "table1.csv")
    cell = table.query("dataset == 'adult' and regime == 'free' and model == 'linear'").set_index("method")["mean"]
    shown = [f"{cell[method]:.3f}".lstrip("0") for method in ("source", "closed_form", "oracle")]
    quoted = "source predictor **{}** → adjusted **{}** → oracle **{}**".format(*shown)
    assert quoted in " ".join(page.split())


def test_the_decision_guide_quotes_the_run():
    differences = pd.read_csv(ROOT / "results" / "paper" / "tables" / "paired_differences.csv")
    keys = ["dataset", "regime", "model", "method", "reference"]
    wide = differences.query("labels == 'random_linear'").set_index(keys)["difference"].unstack()
    closed = 100 * wide["source"] / (wide["source"] - wide["oracle"])
    columns = [("linear", "closed_form"), ("linear", "nonparametric"), ("xgboost", "nonparametric")]
    columns += [("linear", "two_way"), ("xgboost", "two_way")]
    table = text_of("which_estimator.md").split("| | regime |", 1)[1].splitlines()[2:8]
    dataset = ""
    for line in table:
        name, regime, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        dataset = name.lower() or dataset
        for cell, (model, method) in zip(cells, columns, strict=True):
            if (regime, method) == ("nested", "two_way"):
                assert cell == "same rows as the filter"
            else:
                value = closed[dataset, regime, model, method]
                assert cell == f"{value:.0f} %".replace("-", "−"), (dataset, regime, model, method)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_says_what_it_is_about(example):
    head = re.match(r'"""\n(.+)\n(=+)\n\n(.+?)"""', example.read_text(encoding="utf-8"), re.DOTALL)
    assert head, f"{example.name} must begin with a title, underlined, and a paragraph."
    assert len(head[2]) >= len(head[1])


def test_there_are_at_least_six_examples():
    assert len(EXAMPLES) >= 6


@pytest.fixture
def run_example():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # Settings that an example changes are not for other tests. skada, once imported, does not turn routing on again.
    def run(name):
        with matplotlib.rc_context(), sklearn.config_context(enable_metadata_routing=name == "against_other_methods"):
            return runpy.run_path(str(DOCS / "gallery" / f"plot_{name}.py"))

    yield run
    plt.close("all")


# The build runs every example. Here their warnings are errors, and what their text says of the outcome is checked.
def test_two_hospitals_end_in_the_right_decision(run_example):
    found = run_example("two_hospitals")
    truth, comparison = found["truth"], found["comparison"]
    assert not found["report"].rejected
    assert comparison.choice == min(truth, key=truth.get) == "trees, two-way"
    assert comparison.table["source_risk"].idxmin() == "trees, not adapted"


def test_other_methods_stay_behind_where_values_are_lost(run_example):
    mean = {name: np.mean(values) for name, values in run_example("against_other_methods")["scores"].items()}
    assert min(mean["dams: closed form"], mean["dams: two-way"]) > mean["oracle"] - 0.02
    assert max(mean["CORAL"], mean["optimal transport"], mean["reweighting"]) < mean["dams: filter"] < mean["oracle"]


def test_a_rejection_is_mended_by_anchors(run_example):
    found = run_example("rejected")
    assert found["plain"].rejected and not found["given"].rejected
    errors = found["errors"]
    assert errors["closed form, anchors"] < errors["closed form"] - 0.02 < errors["source"] - 0.04
    assert errors["closed form, anchors"] < errors["oracle"] + 0.01


def test_adapted_probabilities_are_nearer_to_the_oracles(run_example):
    found = run_example("calibration")
    y, p = found["y_test"], found["probabilities"]
    brier = {name: np.mean((y - values) ** 2) for name, values in p.items()}
    assert brier["source"] > brier["oracle"] + 0.02 > brier["two-way"] + 0.01
    assert p["source"].mean() < y.mean() - 0.05


def test_the_sources_hold_out_chooses_the_worst(run_example):
    found = run_example("target_risk")
    assert np.argmin(found["by_source"]) == np.argmax(found["truth"]) == 0
    assert abs(np.argmin(found["estimate"]) - np.argmin(found["truth"])) <= 1


def test_only_the_filter_cannot_follow_a_negative_r(run_example):
    found = run_example("either_sign")
    errors, r = {name: np.array(values) for name, values in found["errors"].items()}, found["r"]
    above = {name: values - errors["oracle"] for name, values in errors.items()}
    assert (above["closed form"] < 0.02).all() and (above["two-way"] < 0.02).all()
    assert (above["filter"][r < -0.7] > 0.05).all() and (above["filter"][r > 0.1] < 0.02).all()


def test_the_sweep_ranks_as_its_picture_says(run_example):
    means = run_example("sweep")["excess"].groupby("regime")[["source", "nonparametric", "closed_form"]].mean()
    assert (means["closed_form"] < means["nonparametric"]).all() and (means["nonparametric"] < means["source"]).all()


def test_loss_by_outcome_undoes_the_gain_somewhere(run_example):
    assert 1.05 < run_example("sensitivity")["gamma"] < 1.5


def test_questions_and_answers_quote_the_stored_table():
    stored = pd.read_csv(ROOT / "benchmarks" / "results" / "anchors.csv").set_index(["mechanism", "n", "method"])
    excess = [f"{stored.loc[('UCAR', n, 'closed form'), 'excess']:.4f}".lstrip("0") for n in (2000, 10_000)]
    assert "by {} of Var(Y) with 2,000 rows per place and by {} with 10,000".format(*excess) in " ".join(
        text_of("faq.md").split()
    )


def test_what_is_said_of_imputing_is_what_the_run_found():
    differences = pd.read_csv(ROOT / "results" / "paper" / "tables" / "paired_differences.csv")
    imputed = differences.query("method == 'imputed' and reference == 'source'")
    worse, better = (imputed["lower"] > 0).sum(), (imputed["upper"] < 0).sum()
    assert better == 0
    assert f"clearly worse than the source predictor in {worse} of {len(imputed)} comparisons" in text_of("compared.md")
