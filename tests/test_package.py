"""The wheel works without the project folder, and what describes the package agrees with itself.

The wheel is built and installed into a fresh environment. Its other packages are those of the running interpreter: all
of them, or only what pyproject.toml asks for without any extra.
"""

import ast
import importlib.metadata as metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from flit_core import buildapi
from packaging.requirements import Requirement

import dams
from dams._extras import EXTRAS
from dams.report.paper import read_errata

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


# Commands of dams one after the other, so that libraries are loaded once: exit codes, and what each told.
SEVERAL = """
import contextlib, io, json, sys
from dams.cli import main
answers = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.redirect_stderr(told):
        answers.append((main(arguments), told))
print(json.dumps([(code, told.getvalue()) for code, told in answers]))
"""


class Environment:
    """A virtual environment with the wheel, and the packages behind a path; commands run in a folder of their own."""

    def __init__(self, venv, cwd, packages):
        self.venv, self.cwd = venv, cwd
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PHYSIONET"))}
        self.variables = kept | {"OTHERS": str(packages)}

    def run(self, name, *arguments):
        return subprocess.run(
            [self.venv / "bin" / name, *arguments],
            cwd=self.cwd,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )

    def run_several(self, *commands):
        answer = self.run("python", "-c", SEVERAL, json.dumps(commands))
        assert answer.returncode == 0, answer.stdout
        return json.loads(answer.stdout)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The wheel and the source distribution."""
    folder, here = tmp_path_factory.mktemp("dist"), Path.cwd()
    os.chdir(ROOT)
    try:
        return [folder / build(str(folder)) for build in (buildapi.build_wheel, buildapi.build_sdist)]
    finally:
        os.chdir(here)


@pytest.fixture(scope="module")
def venv(distributions, tmp_path_factory):
    """A virtual environment with the wheel, whose other packages lie where OTHERS says."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    target = ["--python", folder / "bin" / "python"]
    subprocess.run([sys.executable, "-m", "pip", *target, *install, distributions[0]], check=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    # Not before pip has run, which would find the dams of the interpreter there. What a .pth file in that folder says
    # is not read: an editable dams is not seen.
    (site / "others.pth").write_text("import os, sys; sys.path.append(os.environ['OTHERS'])\n")
    return folder


@pytest.fixture(scope="module")
def full(venv, tmp_path_factory):
    """An environment with everything."""
    return Environment(venv, tmp_path_factory.mktemp("full"), Path(np.__file__).parents[1])


@pytest.fixture(scope="module")
def bare(venv, tmp_path_factory):
    """An environment with what dams needs and no extra."""
    packages = tmp_path_factory.mktemp("packages")
    for distribution in needed(PROJECT["dependencies"]).values():
        for top in {file.parts[0] for file in distribution.files if file.parts[0] != ".."}:
            (packages / top).symlink_to(distribution.locate_file(top))
    return Environment(venv, tmp_path_factory.mktemp("bare"), packages)


def needed(requirements, found=None):
    """Distributions behind requirements, with those that they need in turn."""
    found = {} if found is None else found
    for requirement in map(Requirement, requirements):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name not in found:
            found[requirement.name] = metadata.distribution(requirement.name)
            needed(found[requirement.name].requires or [], found)
    return found


ESTIMATE = """
import numpy as np
from dams import *
import dams
assert "site-packages" in dams.__file__, dams.__file__
X = np.random.default_rng(0).normal(2, 1, (400, 3))
source, target = (apply_missingness(X, rates, random_state=1) for rates in ([.1, .2, .3], [.4, .1, .5]))
print(ClosedFormRegressor().fit(source, X @ [1, 2, 3], X_target=target).predict(target)[:1].round(1))
for name in dams.__all__:
    globals()[name]
"""


def test_the_bare_wheel_has_the_whole_library(bare):
    answer = bare.run("python", "-c", ESTIMATE)
    assert answer.returncode == 0, answer.stdout
    assert bare.run("dams", "--version").stdout == f"dams {dams.__version__}\n"


def test_the_bare_wheel_compares_and_simulates(bare):
    X = np.random.default_rng(0).normal(2, 1, (300, 2))
    for name, rates in (("source.csv", [0.1, 0.2]), ("target.csv", [0.3, 0.4])):
        table = pd.DataFrame(dams.apply_missingness(X, rates, random_state=2), columns=["a", "b"])
        table.to_csv(bare.cwd / name, index=False)
    answer = bare.run("dams", "compare", "source.csv", "target.csv")
    assert answer.returncode == 1, answer.stdout  # a shift
    assert "UCAR" in answer.stdout
    assert bare.run("dams", "simulate-eicu", "cohort", "--size", "test").returncode == 0


def test_the_bare_wheel_adapts_predicts_and_summarises(bare):
    files = ["hospitals/source.csv", "hospitals/target.csv"]
    groups = ["--groups", "patient"]
    adapt = ["adapt", *files, "--label", "days", *groups, "--model", "linear"]
    answers = bare.run_several(
        ["simulate-ehr", "hospitals", "--rows", "600"],
        [*adapt, "--out", "predictions.csv", "--model-file", "model.json"],
        ["predict", "model.json", files[1], *groups, "--out", "again.csv"],
        ["summarise", files[0], "--label", "days", *groups, "--out", "source.json"],
        ["summarise", files[1], *groups, "--out", "target.json"],
        ["adapt", "source.json", "target.json", "--model-file", "m.json"],
        [*adapt, "--page", "page.html", "--out", "p.csv"],
        [*adapt, "--model", "boosting", "--model-file", "m.skops"],
    )
    assert [code for code, _ in answers] == [0, 0, 0, 0, 0, 0, 2, 2], answers
    assert "'linear source'" in answers[1][1]
    assert (bare.cwd / "again.csv").read_bytes() == (bare.cwd / "predictions.csv").read_bytes()
    for (_, told), extra in zip(answers[-2:], ("pipeline", "models"), strict=True):
        assert f'`pip install "dams[{extra}]"` installs it.' in told


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("pipeline", ["report", "results"]),
        ("pipeline", ["verify", "results"]),
        ("pipeline", ["check", "a.yaml"]),
        ("pipeline", ["run", "a.yaml"]),
        ("data", ["download-eicu", "eicu"]),
    ],
)
def test_the_bare_wheel_names_the_extra(bare, extra, arguments):
    (bare.cwd / "results").mkdir(exist_ok=True)
    answer = bare.run("dams", *arguments)
    assert answer.returncode == 1
    assert f'`pip install "dams[{extra}]"` installs it.' in answer.stdout, answer.stdout
    assert "Traceback" not in answer.stdout


def test_with_its_extras_the_wheel_reports_verifies_and_downloads(full):
    """As far as there is something to report, and an account."""
    results = full.cwd / "results" / "mine"
    (results / "theory").mkdir(parents=True)
    (results / "theory" / "theory.csv").write_text("statement,holds\n")
    (full.cwd / "a.yaml").write_text((ROOT / "config" / "smoke.yaml").read_text(encoding="utf-8"))
    answers = full.run_several(
        ["report", "results/mine"],
        ["verify", "results/mine"],
        ["download-eicu", "eicu"],
        ["check", "a.yaml"],
        ["run", "a.yaml"],
    )
    assert [code for code, _ in answers] == [0, 1, 1, 0, 1], answers
    # The paper's numbers and claims, styles and script come with the package.
    page = (results / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in read_errata())
    assert "holds no provenance.json" in answers[1][1]
    assert "set PHYSIONET_USERNAME and PHYSIONET_PASSWORD" in answers[2][1]
    assert not (full.cwd / "eicu").exists()
    assert "The source distribution of dams has it" in answers[4][1]


def test_the_wheel_holds_the_package_and_nothing_else(distributions):
    names = set(zipfile.ZipFile(distributions[0]).namelist())
    tracked = subprocess.run(["git", "ls-files", "dams"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode == 0 and tracked.stdout:
        assert {name for name in names if name.startswith("dams/")} >= set(tracked.stdout.split())
    assert {name.split("/")[0] for name in names} == {"dams", f"dams-{dams.__version__}.dist-info"}


def test_the_source_distribution_holds_tests_documents_and_workflow(distributions):
    with tarfile.open(distributions[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        *(
            "Snakefile",
            "workflow/Snakefile",
            "workflow/rules/common.smk",
            "config/paper.yaml",
            "profiles/default/config.yaml",
        ),
        *("tests/test_package.py", "tests/conftest.py", "docs/your_data.md", "CHANGELOG.md", "Makefile", "README.md"),
        *("requirements/pipeline.txt", "benchmarks/README.md", "results/paper/claims.csv", "LICENSE"),
    ):
        assert name in names, f"{name} is not in the source distribution"
    assert not [name for name in names if name.endswith((".pyc", ".pdf")) or "/logs/" in name]


def test_the_image_is_given_all_that_the_package_is_built_from(distributions, tmp_path, monkeypatch):
    """Docker builds from what its file copies, and from nothing else."""
    lines = (ROOT / "workflow/envs/Containerfile").read_text(encoding="utf-8").splitlines()
    for *sources, target in (line.split()[1:] for line in lines if line.startswith("COPY ")):
        for source in sources:
            place = tmp_path / target / source if target.endswith("/") else tmp_path / target
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / source, place)
    monkeypatch.chdir(tmp_path)
    built, (wheel, _) = tmp_path / buildapi.build_wheel(str(tmp_path)), distributions
    assert zipfile.ZipFile(built).namelist() == zipfile.ZipFile(wheel).namelist()


def test_one_version_everywhere():
    assert "version" in PROJECT["dynamic"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == dams.__version__
    assert f'tag="v{dams.__version__}"' in (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[(.*?)\]", changelog, re.MULTILINE)[1] == dams.__version__


def test_what_a_package_index_shows_has_no_links_into_the_project():
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_classifiers_are_what_is_tested():
    (ci,) = [path for path in WORKFLOWS if path.stem == "ci"]
    matrix = yaml.safe_load(ci.read_text(encoding="utf-8"))["jobs"]["test"]["strategy"]["matrix"]
    sure = {*matrix["python"], *(case["python"] for case in matrix["include"] if not case.get("may-fail"))}
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(declared) == sure
    assert f">={min(sure, key=lambda version: int(version.split('.')[1]))}" == PROJECT["requires-python"]
    systems = {os_name.split("-")[0] for os_name in [*matrix["os"], *(case["os"] for case in matrix["include"])]}
    assert systems == {"ubuntu", "macos"}
    assert [name for name in PROJECT["classifiers"] if "Operating System" in name] == [
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
    ]


def test_the_lowest_versions_are_the_bounds():
    lines = (ROOT / "requirements" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    bounds = {name: bound for name, _, bound in (line.partition(">=") for line in PROJECT["dependencies"])}
    assert bounds.keys() == pinned.keys()
    assert all(Requirement(f"{name}>={bounds[name]}").specifier.contains(pin) for name, pin in pinned.items())
    assert all(pin.startswith(bounds[name]) for name, pin in pinned.items())


def test_what_is_imported_is_declared():
    """Every package that dams imports, at once or late, is a requirement of it or of an extra."""
    imported = set()
    for path in (ROOT / "dams").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.split(".")[0])
    # joblib and threadpoolctl are scikit-learn's, markupsafe is jinja2's, urllib3 is that of requests, and the logging
    # interface is Snakemake's.
    indirect = {"joblib", "threadpoolctl", "markupsafe", "urllib3", "snakemake_interface_logger_plugins"}
    own = {"dams", "numpy", "pandas", "scipy", "sklearn"}
    assert imported - set(sys.stdlib_module_names) - own - indirect <= set(EXTRAS)
    for module, extra in EXTRAS.items():
        names = {re.split(r"[>=<\[]", line)[0] for line in PROJECT["optional-dependencies"][extra]}
        assert {module, {"yaml": "pyyaml", "xgboost": "xgboost-cpu"}.get(module), "jinja2"} & names, module


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_keep_no_credentials(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action) for action in used), used
    content = yaml.safe_load(text)
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
