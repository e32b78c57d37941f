"""Every benchmark runs end to end at toy size, without network or data files, and writes the columns it promises."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from benchmarks import __main__ as all_of_them
from benchmarks import ratios

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
# Tables that `--csv` made, besides RESULTS/<name>.csv, and those that other options made.
DOCUMENTED = {name: DOCS / f"{name}.csv" for name in ("check_ucar", "closed_form")}
DOCUMENTED["known_structure"] = DOCS / "check_ucar_known.csv"
ABLATION, DISTANCES = DOCS / "two_way.csv", DOCS / "missforest.csv"
COST = DOCS / "two_way_cost.csv"
DRAWS = {(): DOCS / "draws.csv", ("--classifiers",): DOCS / "draws_classifiers.csv"}
AGAINST_MISSINGPY = ("missforest", "end_to_end")
NAMES = all_of_them.measurements()

pytestmark = [
    # So few rows make rare columns.
    pytest.mark.filterwarnings("ignore:The source has a value in:UserWarning"),
    # So few steps of a network are not its last.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(autouse=True)
def no_downloads(monkeypatch):
    def refuse(name, **_):
        raise AssertionError(f"--toy asks for the raw files of {name}")

    monkeypatch.delenv("DAMS_DATA_DIR", raising=False)
    monkeypatch.setattr("dams.datasets.uci.recipes.fetch", refuse)


def run(name, *arguments):
    if name in AGAINST_MISSINGPY and find_spec("missingpy") is None:
        pytest.skip("missingpy is not installed")
    import_module(f"benchmarks.{name}").main(["--toy", *map(str, arguments)])


def columns(file):
    return list(pd.read_csv(file, nrows=0).columns)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"missforest", "draws"}))
def test_runs(name, tmp_path):
    file = tmp_path / f"{name}.csv"
    run(name, "--csv", file)
    check(name, file)


def test_missforest_runs_and_writes_its_distances(tmp_path):
    file, distances = tmp_path / "missforest.csv", tmp_path / "distances.csv"
    run("missforest", "--csv", file, "--distances", distances)
    check("missforest", file)
    assert columns(distances) == columns(DISTANCES)
    assert len(pd.read_csv(distances))


def test_the_time_of_missforest_is_measured_alone(tmp_path):
    file = tmp_path / "missforest_time.csv"
    run("missforest", "--time", "--csv", file)
    check("missforest_time", file)
    assert set(pd.read_csv(file)["measure"]) == {"seconds"}


def check(name, file):
    table = pd.read_csv(file)
    assert len(table)
    for earlier in (RESULTS / f"{name}.csv", DOCUMENTED.get(name)):
        if earlier is not None and earlier.exists():
            assert list(table.columns) == columns(earlier)
    if name in ("scaling", "at_scale"):
        assert file.with_suffix(".svg").exists()
    if name in ratios.SUMMARIES:
        rows = list(ratios.SUMMARIES[name](table))
        assert rows and all(ratio > 0 for *_, ratio in rows)
    if name in ratios.COSTS:
        costs = list(ratios.COSTS[name](table))
        assert costs and all(ratio > 0 and seconds > 0 for *_, ratio, seconds, _ in costs)


def test_ablation_changes_what_it_says(tmp_path):
    file = tmp_path / "ablation.csv"
    run("two_way", "--ablation", "--datasets", "diabetes", "--draws", 1, "--csv", file)
    table, committed = pd.read_csv(file), pd.read_csv(ABLATION)
    assert list(table.columns) == list(committed.columns)
    assert list(table["choice"].unique()) == list(committed["choice"].unique())
    # A choice that reaches nothing scores like the shipped ones.
    scores = table.pivot_table(index="choice", columns="model", values="score")
    assert not scores.duplicated().any()


def test_cost_compares_what_the_stored_table_compares(tmp_path):
    file = tmp_path / "cost.csv"
    run("two_way", "--cost", "--datasets", "diabetes", "--csv", file)
    check("two_way_cost", file)
    table = pd.read_csv(file)
    assert list(table.columns) == columns(COST)
    assert (table["before"] != table["after"]).all()


@pytest.mark.parametrize("options", DRAWS)
def test_draws_are_compared_as_in_the_stored_tables(options, tmp_path, monkeypatch):
    file = tmp_path / "draws.csv"
    # Fewer trees: what is compared is which rows there are.
    for model in ("HGB_REGRESSOR", "HGB", "SHORT"):
        monkeypatch.setattr(f"benchmarks.draws.{model}.max_iter", 5)
    run("draws", *options, "--csv", file)
    table, committed = pd.read_csv(file), pd.read_csv(DRAWS[options])
    assert list(table.columns) == list(committed.columns)
    keys = [name for name in ("regime", "model", "arm") if name in table]
    of_one = committed[committed["dataset"] == "thyroid"]
    assert table[keys].to_numpy().tolist() == of_one[keys].to_numpy().tolist()


def test_every_stored_table_is_checked():
    assert {file.stem for file in RESULTS.glob("*.csv")} <= set(NAMES) | set(all_of_them.SPEED)
    assert set(all_of_them.SPEED) <= {file.stem for file in RESULTS.glob("*.csv")}
    assert {*DOCUMENTED.values(), *DRAWS.values(), ABLATION, DISTANCES, COST} == set(DOCS.glob("*.csv"))


def test_all_of_them_are_run_and_failures_counted(monkeypatch, capsys, tmp_path):
    commands, threads = [], []

    def remember(command, *, env, **_):
        commands.append(command)
        threads.append(env["OMP_NUM_THREADS"])
        return CompletedProcess(command, returncode=int("benchmarks.mlp" in command))

    monkeypatch.setattr(all_of_them.subprocess, "run", remember)
    assert all_of_them.main(["--toy"]) == 1
    speed = [command[2].removeprefix("benchmarks.") for command in commands]
    assert "Failed: mlp" in capsys.readouterr().err
    assert all_of_them.main(["--toy", "--studies", str(tmp_path)]) == 0
    studies = [command[2].removeprefix("benchmarks.") for command in commands[len(speed) :]]
    assert {*speed, *studies} == set(NAMES)
    # What both have is measured twice: its time on few cells, and how well it works.
    assert set(speed) & set(studies) == {"missforest", "two_way"}
    assert all("--toy" in command for command in commands)
    assert set(threads) == {"1"}
    assert len({command[command.index("--csv") + 1] for command in commands}) == len(commands)


def test_the_page_lists_every_benchmark_where_it_belongs():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    speed, studies = text.split("## Speed\n")[1].split("## Studies\n")
    for part, runs in ((speed, all_of_them.SPEED), (studies, all_of_them.studies())):
        listed = [line.split("`")[1] for line in part.splitlines() if line.startswith("| `")]
        assert sorted(listed) == sorted(" ".join(command) for command in runs.values())


@pytest.mark.parametrize(("page", "name"), ratios.TABLES)
def test_tables_of_the_pages_are_those_of_the_stored_results(page, name):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert ratios.renewed(text, name, ratios.TABLES[page, name]()) == text
