"""Imports go downwards: the contracts in pyproject.toml hold, and the library is light to import."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]


def test_the_import_contracts_hold():
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent)) or "lint-imports"
    answer = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "0 broken" in answer.stdout


def layer_of(module):
    """Number of a module's layer, the highest first."""
    for number, names in enumerate(LAYERS):
        if any(f"{module}.".startswith(f"{name.strip()}.") for name in names.split("|")):
            return number
    raise AssertionError(f"{module} is in no layer of pyproject.toml")


def test_names_that_are_loaded_by_string_lie_no_higher_than_who_names_them():
    """import-linter can't see them: "package.module:attribute" in a registry, or an f-string given to import_module."""
    found = 0
    for path in (ROOT / "dams").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if module in ("dams", "dams.__main__"):
            continue
        text = path.read_text(encoding="utf-8")
        # Most hold no such string, and to parse them takes long.
        for node in ast.walk(ast.parse(text)) if re.search(r"[\"']dams\.", text) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = re.match(r"(dams(?:\.\w+)+)(:\w+|\.?)$", node.value)
                if named:
                    found += 1
                    assert layer_of(named[1]) >= layer_of(module), f"{module} names {node.value}"
    assert found > 15


def loaded_by(*codes):
    """Names of the modules that a fresh Python has after running each of `codes`, one after the other."""
    script = "\n".join(["import sys", *(f"{code}\nprint(*sys.modules)" for code in codes)])
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return [set(line.split()) for line in answer.stdout.splitlines()]


def test_the_command_line_and_jobs_of_every_run_load_no_more_than_they_use():
    """Most jobs of a small run take less time than scikit-learn or scipy.stats takes to load."""
    scripts = ("run_block", "gather_records", "diagnose_cells", "check_claims", "compare_with_paper", "write_table")
    texts = [(ROOT / f"workflow/scripts/{name}.py").read_text(encoding="utf-8") for name in scripts]
    command, configuration, claims, jobs = loaded_by(
        "import dams.cli",
        "from dams.experiments import config, design, inputs, products\nimport dams.report.provenance",
        "import dams.report.claims.verdicts, dams.report.page.render",
        "\n".join(re.findall(r"^(?:from|import) .*$", "".join(texts), flags=re.MULTILINE)),
    )
    # Before it is known what to do.
    assert not command & {"numpy", "pandas", "pydantic"}
    # Snakemake starts often, and reads the configuration each time.
    assert "pydantic" in configuration
    assert not configuration & {"pandas", "scipy", "sklearn", "xgboost", "matplotlib"}
    # They draw nothing.
    assert not claims & {"scipy.stats", "sklearn", "matplotlib"}
    assert {"pandas", "matplotlib", "dams.experiments.run", "dams.report.claims.verdicts"} <= jobs
    assert not jobs & {"scipy.stats", "scipy.optimize", "sklearn", "xgboost"}


def test_the_library_loads_neither_configuration_nor_figures():
    (modules,) = loaded_by("import dams\nfor name in dams.__all__: getattr(dams, name)")
    assert "sklearn" in modules
    assert not modules & {"pydantic", "yaml", "matplotlib", "snakemake", "xgboost"}


def test_every_public_name_is_there_and_typed():
    import dams

    assert set(dams.__all__) == set(dams._EXPORTS)
    assert set(dams.__all__) <= set(dir(dams))
    assert all(getattr(dams, name).__doc__ for name in dams.__all__)
    assert (ROOT / "dams" / "py.typed").exists()
