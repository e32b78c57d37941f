"""From a configuration to jobs: every fit once, whatever the size of blocks."""

import subprocess
import sys
from pathlib import Path

import pytest

from dams.experiments.config import parse, read
from dams.experiments.design import Label, blocks, cell_keys, fit_groups
from dams.experiments.methods import METHODS, Method
from dams.experiments.products import study_outputs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def crossed(small, study):
    """Two data sets, two regimes, two models, β of which the closed form has fewer."""
    study |= {
        "datasets": ["redundant", "digits"],
        "regimes": [{"kind": "nested"}, {"kind": "opposing", "epsilon": [0.1, 0.5]}],
        "models": {"linear": {"draws": 5, "betas": 3}, "xgboost": {"draws": 2}},
        "methods": {"oracle": None, "closed_form": {"draws": 4, "betas": 2}},
    }
    return small


def fits_of(run):
    """Every fit that a run makes, as (study, cell, method, model, β)."""
    return [
        (block.study, key.parts, fit.method, fit.model, label.beta)
        for block in blocks(run)
        for key in block.cells
        for fit in block.fits
        for label in block.labels
        if key.draw < fit.draws and label.beta < fit.betas
    ]


def test_cells_are_every_regime_epsilon_and_draw(crossed):
    study = parse(crossed).studies["one"]
    parts = [key.parts for key in cell_keys(study, "digits", 2)]
    assert parts == [
        ("digits", regime, epsilon, draw)
        for draw in range(2)
        for regime, epsilon in [("nested", ""), ("opposing", "0.1"), ("opposing", "0.5")]
    ]


def test_fits_are_grouped_by_model_and_capped(crossed):
    groups = fit_groups(parse(crossed).studies["one"])
    assert list(groups) == ["linear", "xgboost"]
    assert [(fit.method, fit.draws, fit.betas) for fit in groups["linear"]] == [("oracle", 5, 3), ("closed_form", 4, 2)]
    # The closed form is linear only.
    assert [(fit.method, fit.draws, fit.betas) for fit in groups["xgboost"]] == [("oracle", 2, 1)]


def test_a_cap_above_the_repeats_changes_nothing(crossed):
    crossed["studies"]["one"]["methods"]["closed_form"] = {"draws": 99, "betas": 99}
    fit = fit_groups(parse(crossed).studies["one"])["linear"][1]
    assert (fit.draws, fit.betas) == (5, 3)


def test_a_costly_preparation_is_a_group_of_its_own_for_all_models(crossed, monkeypatch):
    monkeypatch.setitem(METHODS, "source", Method("Source", "-", shared=True))
    crossed["studies"]["one"]["methods"] = {"oracle": None, "source": None}
    groups = fit_groups(parse(crossed).studies["one"])
    assert [(fit.method, fit.model) for fit in groups["source"]] == [("source", "linear"), ("source", "xgboost")]
    assert [fit.method for fit in groups["linear"]] == ["oracle"]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_every_fit_is_made_once_whatever_the_block_size(crossed, size):
    whole = fits_of(parse(crossed))
    assert len(set(whole)) == len(whole)
    # 2 data sets × 3 regimes × (5 draws × 3 β + 4 × 2 of the closed form + 2 × 1 of XGBoost).
    assert len(whole) == 2 * 3 * (5 * 3 + 4 * 2 + 2)
    run = parse(crossed | {"block_size": {"linear": size, "xgboost": size}})
    assert sorted(fits_of(run)) == sorted(whole)
    assert all(len(block.cells) <= size for block in blocks(run))


def block_by_path(run):
    return {block.path: block for block in blocks(parse(run))}


# A job of .02 s holds several cells of the table, one of .0002 s several of the scenario.
@pytest.mark.parametrize(
    ("size", "seconds"),
    [({"linear": 4, "xgboost": 4}, 40.0), ({}, 0.02), ({}, 2e-4)],
    ids=["of four cells", "by seconds", "by fewer seconds"],
)
def test_further_draws_leave_the_others_jobs_alone(crossed, study, size, seconds, monkeypatch):
    """All but the last of a data set and group; caps on draws of one method are as they were."""
    monkeypatch.setattr("dams.experiments.costs.JOB", seconds)
    few = block_by_path(crossed | {"block_size": size})
    study["models"] = {"linear": {"draws": 8, "betas": 3}, "xgboost": {"draws": 4}}
    more = block_by_path(crossed | {"block_size": size})
    last = {(block.dataset, block.group): path for path, block in few.items()}
    assert len(more) > len(few) > len(last)
    for path, block in few.items():
        assert more[path] == block or path == last[block.dataset, block.group]


@pytest.mark.parametrize(
    ("cap", "linear", "xgboost", "kept"), [({}, 9, 2, True), ({}, 5, 4, False), ({"draws": 2}, 5, 4, True)]
)
def test_a_shared_method_keeps_its_jobs_as_the_manuals_say(crossed, study, monkeypatch, cap, linear, xgboost, kept):
    """Where it is capped, or where the model with the most draws gets more."""
    monkeypatch.setattr("dams.experiments.costs.JOB", 2e-4)
    study |= {"methods": {"two_way": cap}, "models": {"linear": {"draws": 5}, "xgboost": {"draws": 2}}}
    few = block_by_path(crossed)
    study["models"] = {"linear": {"draws": linear}, "xgboost": {"draws": xgboost}}
    more, last = block_by_path(crossed), {block.dataset: path for path, block in few.items()}
    assert all(more.get(path) == block for path, block in few.items() if path not in last.values()) == kept


def test_a_block_has_only_the_fits_of_its_cells(crossed):
    """So that a cap above its draws, or further draws, are nothing to it."""
    for block in blocks(parse(crossed | {"block_size": {"linear": 3, "xgboost": 3}})):
        assert all({key.draw for key in block.cells} & set(range(fit.draws)) for fit in block.fits)
        assert all(fit.draws <= block.cells[-1].draw + 1 for fit in block.fits)


def test_blocks_have_paths_of_their_own(crossed):
    paths = [block.path for block in blocks(parse(crossed | {"block_size": {"linear": 2}}))]
    assert len(set(paths)) == len(paths)
    assert "one/redundant-linear-0000" in paths


def test_labels_are_those_that_any_fit_needs(small, study):
    study |= {"labels": ["structural", "random_linear"], "models": {"linear": {"draws": 1, "betas": 2}}}
    block = next(blocks(parse(small)))
    assert block.labels == (Label("structural"), Label("random_linear", 0), Label("random_linear", 1))


def test_outputs_gather_all_studies_that_ask_for_them(small, study):
    study["outputs"] = ["table1", "error_against_epsilon"]
    small["studies"]["two"] = study | {"datasets": ["digits", "diabetes"], "outputs": ["table1", "intervals"]}
    made = {output.file: output.as_params() for output in study_outputs(parse(small))}
    assert made["table1"]["studies"] == ["one", "two"]
    assert made["table1"]["dataset"] is None
    assert made["error_against_epsilon"] == {
        "name": "error_against_epsilon",
        "studies": ["one"],
        "dataset": None,
        "order": {"dataset": study["datasets"], "regime": ["opposing"]},
    }
    assert made["table1"]["order"]["dataset"] == [*study["datasets"], "digits", "diabetes"]
    assert {name: entry["dataset"] for name, entry in made.items() if entry["name"] == "intervals"} == {
        "intervals_digits": "digits",
        "intervals_diabetes": "diabetes",
    }


def test_the_paper_repeats_as_often_as_it_says():
    """10 β × 50 draws of linear models on real data, 5 × 20 of the others; 20 draws over nineteen ε."""
    studies = read(ROOT / "config" / "paper_size.yaml").studies
    real = studies["semisynthetic"].models
    assert (real["linear"].betas, real["linear"].draws) == (10, 50)
    assert all((real[name].betas, real[name].draws) == (5, 20) for name in ("xgboost", "mlp"))
    assert studies["figure2a"].models["linear"].draws == 20
    assert studies["figure2a"].rows == studies["synthetic"].rows == 10_000


CHANGES = {
    "seed": lambda run, study: run.update(seed=1),
    "rows": lambda run, study: study.update(rows=321),
    "labels": lambda run, study: study.update(labels=["structural"]),
    "draws": lambda run, study: study["models"]["linear"].update(draws=4),
    "betas": lambda run, study: study["models"]["linear"].update(betas=2),
    "engine": lambda run, study: study["models"]["linear"].update(engine="fast"),
    "methods": lambda run, study: study["methods"].append("source"),
    "rates": lambda run, study: study["regimes"][0].update(high=0.8),
    "cells in a job": lambda run, study: run.update(block_size={"linear": 2}),
}


@pytest.fixture
def plain(small, study):
    study |= {
        "datasets": ["redundant"],
        "rows": 300,
        "regimes": [{"kind": "free", "high": 0.9}],
        "models": {"linear": {"draws": 3}},
        "methods": ["oracle"],
    }
    return small


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_the_digest_of_a_block_tells_any_change_of_what_it_does(plain, study, change):
    before = [block.digest for block in blocks(parse(plain))]
    change(plain, plain["studies"]["one"])
    assert not {block.digest for block in blocks(parse(plain))} & set(before)


def test_the_order_of_methods_and_models_runs_nothing_again(crossed, study):
    study["methods"] |= {"two_way": None, "source": {"draws": 1}}
    before = [block.digest for block in blocks(parse(crossed))]
    for key in ("methods", "models"):
        study[key] = dict(reversed(study[key].items()))
    assert sorted(block.digest for block in blocks(parse(crossed))) == sorted(before)


def test_the_digest_of_a_block_is_the_same_in_every_process(plain):
    (block,) = blocks(parse(plain))
    script = "from dams.experiments.config import parse\nfrom dams.experiments.design import blocks\n"
    script += f"print(*(block.digest for block in blocks(parse({plain!r}))))"
    other = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert other.stdout.split() == [block.digest]
    assert " at 0x" not in repr(block)


def test_the_paper_s_own_cells_are_among_those_of_the_larger_run():
    """So that its tables can be made of either: same names, same seed, same random numbers."""
    larger, own = ({name: _cells(read(ROOT / "config" / f"{name}.yaml")) for name in ("paper", "paper_size")}).values()
    assert own <= larger


def _cells(config):
    return {
        (config.seed, *cell.parts, fit.method, fit.model, label.kind, label.beta)
        for block in blocks(config)
        if all(cell.variant == "corrected" for cell in block.cells)
        for label in block.labels
        for fit in block.fits
        if label.beta < fit.betas
        for cell in block.cells
        if cell.draw < fit.draws
    }
