"""One list of dependencies in several files: pyproject.toml rules, the conda environments and the locks follow.

And what `make` does where there is no checkout.
"""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
# Not on conda-forge, there behind, or lighter as a wheel.
BY_PIP = {"xgboost-cpu", "ucimlrepo", "missingpy", "snakemake"}


def split(requirement):
    """Name and specifier of a requirement."""
    name, extras, specifier = re.fullmatch(r"([A-Za-z0-9._-]+)(\[[^]]*\])?\s*(.*)", requirement).groups()
    return re.sub(r"[-_.]+", "-", name).lower() + (extras or ""), specifier.replace(" ", "")


def wanted(*extras):
    """Requirements of the package and some of its extras, with those that extras draw in from each other."""
    found = dict(split(line) for line in PROJECT["dependencies"])
    for extra in extras:
        for name, specifier in (split(line) for line in PROJECT["optional-dependencies"][extra]):
            if inner := re.fullmatch(r"dams\[(.*)\]", name):
                found |= wanted(*inner.group(1).split(","))
            else:
                found[name] = specifier
    return found


@pytest.fixture(scope="module")
def conda():
    """What conda and what pip installs."""
    lines = [line for line in ENVIRONMENT["dependencies"] if isinstance(line, str)]
    (pip,) = [line["pip"] for line in ENVIRONMENT["dependencies"] if isinstance(line, dict)]
    return dict(split(line) for line in lines), dict(split(line) for line in pip if not line.startswith("-"))


def test_the_conda_environment_is_in_step_with_pyproject(conda):
    by_conda, by_pip = conda
    asked = wanted("data", "pipeline", "missingpy")
    assert by_conda | by_pip == asked | {"python": PROJECT["requires-python"], "pip": ""}, (
        "environment.yml and pyproject.toml name different requirements"
    )


def test_only_what_conda_lacks_comes_by_pip(conda):
    by_conda, by_pip = conda
    assert set(by_pip) == BY_PIP
    assert not set(by_conda) & BY_PIP
    assert "pip" in by_conda


def test_the_conda_environment_installs_the_package_itself():
    (pip,) = [line["pip"] for line in ENVIRONMENT["dependencies"] if isinstance(line, dict)]
    assert "--editable ." in pip


def test_snakemake_does_not_hang_on_a_channel():
    """conda-forge has none, and bioconda may be some releases behind what the rules need."""
    (pip,) = [line["pip"] for line in ENVIRONMENT["dependencies"] if isinstance(line, dict)]
    assert any(line.startswith("snakemake>=") for line in pip)


def test_rules_get_the_same_environment_but_for_the_package_itself():
    """Snakemake hands conda a copy of the file, in another folder, so that `--editable .` would fail there."""
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    assert set(re.findall(r"conda:\s*(\S+)", rules)) == {'"../envs/dams.yml"'}
    of_rules = yaml.safe_load((ROOT / "workflow" / "envs" / "dams.yml").read_text(encoding="utf-8"))
    *conda, by_pip = ENVIRONMENT["dependencies"]
    by_pip = {"pip": [line for line in by_pip["pip"] if line != "--editable ."]}
    assert of_rules == {"channels": ENVIRONMENT["channels"], "dependencies": [*conda, by_pip]}


def locked(file):
    """Version and hashes by name."""
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8").replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line and not line.startswith((" ", "#")):
            requirement, *options = line.split(" --hash=")
            name, pin = split(requirement.split(";")[0].strip())
            found[name] = (pin, options)
    return found


@pytest.mark.parametrize(("file", "extra"), [("pipeline.txt", "pipeline"), ("dev.txt", "dev")])
def test_locks_hold_every_requirement_with_hashes(file, extra):
    pins = locked(file)
    lacking = sorted(set(wanted(extra)) - set(pins))
    assert not lacking, f"requirements/{file} lacks {lacking}: run `make lock`"
    for name, (pin, hashes) in pins.items():
        assert re.fullmatch(r"==[^,*]+", pin), f"{name} is not pinned: {pin!r}"
        assert hashes, f"{name} has no hash"
        assert all(digest.strip().startswith("sha256:") for digest in hashes)


@pytest.mark.parametrize(("file", "extra"), [("pipeline.txt", "pipeline"), ("dev.txt", "dev")])
def test_locked_versions_are_ones_that_pyproject_allows(file, extra):
    def numbers(version):
        return [int(part) for part in re.findall(r"\d+", version)[:3]]

    pins = locked(file)
    for name, specifier in wanted(extra).items():
        for operator, bound in re.findall(r"(>=|==|<)([0-9.]+)", specifier):
            version = numbers(pins[name][0])
            fits = {
                ">=": version >= numbers(bound),
                "==": version == numbers(bound),
                "<": version < numbers(bound),
            }[operator]
            assert fits, f"{name}{pins[name][0]} in requirements/{file} does not fit {specifier}: run `make lock`"


def test_the_locks_agree():
    pipeline, dev = locked("pipeline.txt"), locked("dev.txt")
    assert {name: dev[name][0] for name in pipeline if name in dev} == {
        name: pin for name, (pin, _) in pipeline.items() if name in dev
    }


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_cleaning_without_git_says_what_it_leaves(tmp_path):
    """An archive that was unpacked is no checkout: no results can be told from those that came with it."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for folder in (".venv", "results"):
        (tmp_path / folder).mkdir()
    nowhere = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    done = subprocess.run(["make", "clean"], cwd=tmp_path, env=nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "results/ is left as it is" in done.stdout
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["results"]
