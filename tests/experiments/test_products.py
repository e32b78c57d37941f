"""The one list of what a run makes: complete, unambiguous, and the only place that knows a product's file."""

import re
from pathlib import Path

import pytest

from dams.experiments import design
from dams.experiments.config import parse, read
from dams.experiments.products import MANIFEST, OUTPUTS, PARTS, file_of, job_of, products_of

ROOT = Path(__file__).parents[2]
RULES = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
CONFIGS = sorted((ROOT / "config").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_no_two_products_of_a_run_share_a_file(config):
    files = [file for made in products_of(read(config)) for file in made.files]
    assert len(files) == len(set(files)) > 20


def test_every_product_has_a_rule_that_takes_it_from_the_list():
    for product in MANIFEST.values():
        assert f"rule {product.rule}:" in RULES
        # A folder is marked as one.
        own = f'made_by("{product.rule}")' if product.formats != () else "directory(product("
        assert own in RULES, product


def test_a_configuration_asks_for_what_it_names(small):
    def names(**changes):
        return {made.name for made in products_of(parse(small | changes))}

    always = {"records", "claims", "comparison", "verdicts", "provenance", "report", "block_records"}
    small["studies"]["one"]["outputs"] = ["table1"]
    assert always | {"table1"} <= names(theory=False, eicu=None)
    assert not {"theory", "redundant_risk", "eicu_scores", "hospital_checks"} & names(theory=False, eicu=None)
    assert {"theory", "improper_filter"} <= names(theory=True)
    assert {"eicu_scores", "eicu_simulated", "hospital_checks"} <= names(eicu={"source": "simulated"})
    assert "eicu_simulated" not in names(eicu={"source": "folder"})


def test_blocks_and_prepared_data_are_products_too(small, study):
    study["datasets"] = ["redundant", "digits"]
    config = parse(small)
    made = products_of(config)
    blocks = [m.files[0] for m in made if m.name == "block_records"]
    assert blocks == [f"blocks/{block.path}.csv" for block in design.blocks(config)]
    assert [m.files for m in made if m.name == "covariates"] == [("data/digits.npz",)]
    assert {m.job for m in made if m.product.rule == "run_block"} == {
        f"run_block/{b.path}" for b in design.blocks(config)
    }


def test_what_is_shown_has_a_title_and_a_part_of_the_page():
    for name, product in MANIFEST.items():
        assert product.part in ("", *PARTS)
        assert bool(product.title) >= bool(product.caption), name
        if product.kind in ("table", "figure") and "{output}" not in product.path:
            assert product.caption, name


def test_every_output_has_a_module_with_a_function_of_its_name():
    for name in OUTPUTS:
        text = (ROOT / "dams/report/outputs" / f"{name}.py").read_text(encoding="utf-8")
        assert f"\ndef {name}(records" in text


def test_nothing_else_knows_the_name_of_a_product_s_file():
    """Neither rules nor code, but for words in docstrings and comments, and the published table of the same name."""
    files = {file for product in MANIFEST.values() for file in product.files if "{" not in file}
    files |= {file_of("table", output=name) for name in OUTPUTS if OUTPUTS[name].kind == "table"}
    names = {name for file in files for name in (file, file.rpartition("/")[2]) if "." in name}
    # In quotes, on its own or at the end of a path, and so something that is opened or declared.
    quoted = re.compile(r"""["'/]({})["']""".format("|".join(map(re.escape, sorted(names)))))
    places = [ROOT / "Snakefile", *(ROOT / "workflow").rglob("*.smk"), ROOT / "workflow/Snakefile"]
    places += [*(ROOT / "workflow").rglob("*.py"), *(ROOT / "dams").rglob("*.py"), *(ROOT / "dams").rglob("*.jinja")]
    for path in places:
        if path.name != "products.py" and path.parent.name != "paper":
            assert not quoted.findall(path.read_text(encoding="utf-8")), path


def test_jobs_have_the_names_of_their_rules():
    assert job_of("check_claims") == "check_claims"
    assert job_of("write_table") == "write_table/{output}"
    for rule in {product.rule for product in MANIFEST.values()}:
        wildcards = {w for p in MANIFEST.values() if p.rule == rule for w in re.findall(r"{(\w+)}", p.path)}
        assert set(re.findall(r"{(\w+)}", job_of(rule))) == wildcards
