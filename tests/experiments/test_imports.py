"""The modules behind a script: none forgotten, and none of those that can't change what it writes."""

import ast
import re
from pathlib import Path

import pytest

from dams.datasets.registry import DATASETS
from dams.experiments.imports import files_behind
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.experiments.products import OUTPUTS

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path.stem for path in (ROOT / "workflow/scripts").glob("*.py"))


def behind(script, *modules):
    return set(files_behind(ROOT / "workflow/scripts" / f"{script}.py", ROOT, modules))


def registered(*paths):
    return {path.partition(":")[0].replace(".", "/") + ".py" for path in paths}


def test_imports_are_followed_from_module_to_module(tmp_path):
    files = {
        "script.py": "import numpy\nfrom dams.package import module\n\ndef late():\n    import dams.late\n",
        "dams/package/__init__.py": "",
        "dams/package/module.py": 'NAMES = {"x": "dams.named:function"}\nTEXT = "Not dams.mentioned:function"\n',
        "dams/late.py": "from __future__ import annotations\nimport dams.package.module\n",
        "dams/named.py": "if TYPE_CHECKING:\n    import dams.types\nelse:\n    import dams.run\n",
        "dams/types.py": "",
        "dams/run.py": "",
        "dams/mentioned.py": "",
        "dams/unused.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert files_behind(tmp_path / "script.py", tmp_path) == [
        "dams/late.py",
        "dams/named.py",
        "dams/package/__init__.py",
        "dams/package/module.py",
        "dams/run.py",
    ]


def test_a_block_rests_on_every_method_model_and_scenario():
    names = [method.path for method in METHODS.values()]
    names += [engine for model in MODELS.values() for engine in model.engines.values()]
    names += [dataset.path for dataset in DATASETS.values() if dataset.kind == "scenario"]
    found = behind("run_block")
    assert registered(*names) <= found
    assert {"dams/moments.py", "dams/estimators/stabilise.py", "dams/experiments/seeding.py"} <= found


def test_a_block_rests_neither_on_the_report_nor_on_the_configuration():
    """Both are edited often, and a block takes minutes; what it is to do reaches it as a parameter."""
    found = behind("run_block") | behind("gather_records") | behind("run_eicu")
    assert not {file for file in found if file.startswith("dams/report/")}
    assert not found & {"dams/experiments/config/settings.py", "dams/experiments/products.py"}


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_table_or_figure_rests_on_the_module_of_its_name_and_on_no_other(output):
    others = {f"dams/report/outputs/{name}.py" for name in OUTPUTS}
    for script in ("write_table", "draw_figure"):
        assert not others & behind(script)
        assert others & behind(script, f"dams.report.outputs.{output}") == {f"dams/report/outputs/{output}.py"}


def test_data_count_with_the_modules_beside_which_they_lie():
    assert {"dams/report/paper/claims.yaml", "dams/report/paper/table1.csv"} <= behind("check_claims")
    assert {"dams/_page/page.css", "dams/_page/page.js", "dams/report/page/page.html.jinja"} <= behind("write_report")
    assert "dams/report/outputs/theory.py" in behind("draw_theory")
    assert not [file for file in behind("run_block") if not file.endswith(".py")]


@pytest.mark.parametrize("script", ["write_table", "draw_figure", "check_claims", "run_eicu"])
def test_what_makes_intervals_is_an_input(script):
    assert "dams/stats.py" in behind(script)


@pytest.mark.parametrize("script", [name for name in SCRIPTS if not name.startswith("download")])
def test_the_rule_of_a_script_takes_its_modules_as_input(script):
    """Downloads are verified by their checksums and not repeated when the code changes."""
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert len(re.findall(rf'code=(?:lambda wildcards: )?code_of\(\s*"{script}"', rules)) == 1
    assert behind(script)


def test_no_import_is_relative():
    """`files_behind` reads absolute ones."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "dams").rglob("*.py")}
    # To parse them all would take long, and few have a dot after the word at all.
    for path, tree in ((path, ast.parse(text)) for path, text in texts.items() if re.search(r"\bfrom[\s\\]*\.", text)):
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level], path
