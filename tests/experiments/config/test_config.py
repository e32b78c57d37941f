"""Every mistake in a configuration is found before anything runs, and named with its key and the way out."""

from pathlib import Path

import pytest
from refusals import mistakes

from dams.experiments import config
from dams.experiments.config import parse, read

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "config").rglob("*.yaml"))


def regime(study, **keys):
    study["regimes"] = [keys]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configurations_are_sound(path):
    assert read(path).name == path.stem


def test_there_are_shipped_configurations():
    assert {"paper.yaml", "quickstart.yaml", "smoke.yaml"} <= {path.name for path in SHIPPED}


def test_every_shipped_configuration_is_listed():
    listed = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    for path in SHIPPED:
        assert f"| `{path.relative_to(ROOT / 'config')}` |" in listed


def test_the_schema_for_editors_is_up_to_date():
    kept = (ROOT / "config" / "schema.json").read_text(encoding="utf-8")
    assert kept == config.schema(), "config/schema.json is out of date: run `dams schema` and commit the file"


def test_defaults(small):
    run = parse(small)
    assert run.seed == 2023
    assert run.bootstrap.replicates == 2000
    assert run.studies["one"].labels == ["random_linear"]


@pytest.mark.parametrize(
    ("place", "wrong", "right"),
    [
        ((), "studeis", "studies"),
        ((), "sed", "seed"),
        (("bootstrap",), "replicate", "replicates"),
        (("studies", "one"), "dataset", "datasets"),
        (("studies", "one", "models", "linear"), "drawz", "draws"),
        (("studies", "one", "methods", "oracle"), "beta", "betas"),
        (("studies", "one", "regimes", 0), "sorce_high", "source_high"),
        (("studies", "one", "regimes", 1, "epsilon"), "strat", "start"),
        (("datasets", "mine"), "numerc", "numeric"),
    ],
)
def test_a_misspelt_key_names_its_place_and_the_nearest_one(small, study, place, wrong, right):
    small |= {"bootstrap": {}, "datasets": {"mine": {"path": "mine.csv", "binary": ["a"]}}}
    study["methods"] = {"oracle": {}, "source": None}
    grid = {"start": 0.1, "stop": 0.9, "step": 0.1}
    study["regimes"] = [{"kind": "nested"}, {"kind": "opposing", "epsilon": grid}]
    parse(small)
    here = small
    for part in place:
        here = here[part]
    here[wrong] = 1
    message = mistakes(small)
    assert "1 mistake(s)" in message
    assert f"{wrong}: unknown key; did you mean '{right}'?" in message
    assert all(str(part) in message for part in place)


def test_a_study_may_be_called_like_a_key(small, study):
    small["studies"] = {"models": study | {"outputz": []}}
    assert "studies.models.outputz: unknown key; did you mean 'outputs'?" in mistakes(small)


def test_a_key_far_from_all_lists_them(small):
    small["zzzz"] = 1
    assert "zzzz: unknown key; valid are: name, seed, studies" in mistakes(small)


def test_every_mistake_has_its_line(small, study):
    study["rows"] = 3
    small["seed"] = -1
    del small["name"]
    message = mistakes(small)
    assert message.startswith("the configuration has 3 mistake(s):\n  ")
    assert "\n  name: required, but not given" in message
    assert "\n  seed: must be greater than or equal to 0, got -1" in message
    assert "\n  studies.one.rows: must be greater than or equal to 50, got 3" in message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("datasets", ["redundent"], "studies.one.datasets: unknown data set 'redundent'; did you mean 'redundant'?"),
        ("methods", ["orcale"], "studies.one.methods: unknown method 'orcale'; did you mean 'oracle'?"),
        ("models", {"linera": {"draws": 1}}, "studies.one.models: unknown model 'linera'; did you mean 'linear'?"),
        ("outputs", ["tabel1"], "studies.one.outputs: unknown output 'tabel1'; did you mean 'table1'?"),
        ("labels", ["structral"], "studies.one.labels.0: got 'structral'; did you mean 'structural'?"),
        ("methods", "oracle", "studies.one.methods: expected a list of methods, or methods with their caps"),
        ("methods", [{"oracle": 1}], "studies.one.methods: expected a list of methods, or methods with their caps"),
        ("methods", ["oracle", "oracle"], "studies.one.methods: every entry must be listed once, got ['oracle']"),
        ("methods", [], "studies.one.methods: at least 1 must be listed, got none"),
        ("datasets", [], "studies.one.datasets: at least 1 must be listed, got none"),
        ("datasets", ["redundant"] * 2, "studies.one.datasets: every entry must be listed once, got ['redundant']"),
        ("labels", [], "studies.one.labels: at least 1 must be listed, got none"),
        ("labels", ["structural"] * 2, "studies.one.labels: every entry must be listed once, got ['structural']"),
        ("regimes", [], "studies.one.regimes: at least 1 must be listed, got none"),
        ("models", {"linear": {"draws": 0}}, "studies.one.models.linear.draws: must be greater than"),
        ("models", {"linear": {}}, "studies.one.models.linear.draws: required, but not given"),
    ],
)
def test_a_wrong_value_names_its_place_and_the_way_out(small, study, key, value, message):
    study[key] = value
    assert message in mistakes(small)


@pytest.mark.parametrize(
    ("regime", "message"),
    [
        ({"kind": "nestd"}, "regimes.0: got 'nestd'; did you mean 'nested'?"),
        ({"kind": "random"}, "regimes.0: got 'random'; valid are: nested, free, opposing."),
        ({"epsilon": 0.1}, "regimes.0: got no kind; valid are: nested, free, opposing."),
        (
            {"kind": "free", "name": "nested"},
            "regimes.0.free.name: 'nested' is another kind of regime than 'free', and tables would show it as such; "
            "choose another name, or `kind: nested`",
        ),
        ({"kind": "free", "high": 1.0}, "regimes.0.free.high: must be less than 1, got 1.0"),
        ({"kind": "nested", "source_high": -0.1}, "source_high: must be greater than or equal to 0, got -0.1"),
        ({"kind": "nested", "extra_high": 2}, "extra_high: must be less than 1, got 2"),
        ({"kind": "opposing", "epsilon": 0}, "epsilon must lie between 0 and 1, both excluded, got 0"),
        ({"kind": "opposing", "epsilon": [0.5, 1.5]}, "epsilon must lie between 0 and 1, both excluded, got 1.5"),
        ({"kind": "opposing", "epsilon": []}, "epsilon.list: at least 1 must be listed, got none"),
        ({"kind": "opposing", "epsilon": [0.1, 0.1]}, "epsilon.list: every entry must be listed once, got [0.1]"),
        ({"kind": "opposing", "epsilon": "half"}, "epsilon.value: must be a valid number"),
        (
            {"kind": "opposing", "epsilon": {"start": 0.9, "stop": 0.1, "step": 0.1}},
            "epsilon.grid: stop must not be below start, got 0.1 < 0.9",
        ),
        (
            {"kind": "opposing", "epsilon": {"start": 0.1, "stop": 0.9, "step": 0}},
            "epsilon.grid.step: must be greater than 0, got 0",
        ),
    ],
)
def test_regimes_that_are_none(small, study, regime, message):
    study["regimes"] = [regime]
    text = mistakes(small)
    assert message in text
    assert "1 mistake(s)" in text


def test_regimes_of_one_name_are_told_apart(small, study):
    study["regimes"] = [{"kind": "free"}, {"kind": "free", "high": 0.5}]
    assert "regimes must differ in name, got ['free', 'free']; give each its own `name:`" in mistakes(small)
    study["regimes"][1]["name"] = "mild"
    assert [r.name for r in parse(small).studies["one"].regimes] == ["free", "mild"]


def test_structural_labels_need_a_scenario(small, study):
    study |= {"datasets": ["redundant", "digits"], "labels": ["structural"]}
    assert "studies.one.labels: 'structural' labels belong to the synthetic scenarios; data set 'digits' has none" in (
        mistakes(small)
    )


def test_a_study_must_have_something_to_fit(small, study):
    study |= {"models": {"xgboost": {"draws": 1}}, "methods": ["closed_form"]}
    assert "none of the methods (closed_form) can be used with any of the models (xgboost)" in mistakes(small)


def test_engines_belong_to_a_model(small, study):
    study["models"] = {"mlp": {"draws": 1, "engine": "skleran"}}
    assert "unknown engine of mlp 'skleran'; did you mean 'sklearn'?" in mistakes(small)
    study["models"] = {"linear": {"draws": 1, "engine": "sklearn"}}
    assert "unknown engine of linear 'sklearn'; valid are: fast." in mistakes(small)


def test_block_sizes_of_unknown_groups(small):
    small["block_size"] = {"linaer": 5}
    assert "block_size: unknown group of fits 'linaer'; did you mean 'linear'?" in mistakes(small)
    small["block_size"] = {"linear": 0}
    assert "block_size.linear: must be greater than or equal to 1, got 0" in mistakes(small)
    small["block_size"] = {"linear": 5}
    assert parse(small).block_size == {"linear": 5}


def test_a_name_that_leaves_the_results_folder(small):
    small["name"] = "../elsewhere"
    assert "name: a name has letters, digits, _, - and ., a letter or digit first, got '../elsewhere'" in (
        mistakes(small)
    )


def test_an_own_data_set_needs_a_free_name_and_columns(small):
    small["datasets"] = {"adult": {"path": "a.csv", "numeric": ["x"]}}
    assert "datasets.adult: the name is taken" in mistakes(small)
    small["datasets"] = {"mine": {"path": "a.csv"}}
    assert "datasets.mine: no columns; list them under numeric, binary or categorical" in mistakes(small)
    small["datasets"] = {"mine": {"path": "a.csv", "numeric": ["x"], "binary": ["x"]}}
    assert "datasets.mine: columns must be listed once, got ['x'] twice" in mistakes(small)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my run", "name: a name has letters, digits, _, - and ., a letter or digit first, got 'my run'; write my_run"),
        (2023, "name: expected text, got 2023; put quotes around it: '2023'"),
    ],
)
def test_names_of_runs_are_explained_in_words(small, name, message):
    small["name"] = name
    assert message in mistakes(small)


def test_names_of_studies_are_explained_in_words(small, study):
    small["studies"] = {"My Study": study}
    assert (
        "\n  studies.My Study: a name has lower-case letters, digits and _, a letter first, got 'My Study'; "
        "write my_study"
    ) in mistakes(small)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("models", {"linear": None}, "models.linear: expected the keys draws, betas, engine, got nothing"),
        ("models", {"linear": None}, "; write `{draws: …}`"),
        ("models", ["linear"], "models: expected names, each with its keys draws, betas, engine, got ['linear']"),
        ("models", ["linear"], "; write `linear: {draws: …}`"),
        ("regimes", ["nested"], "regimes.0: expected the key kind, got 'nested'; write `{kind: nested}`"),
        ("regimes", ["nestd"], "regimes.0: expected the key kind, got 'nestd'; write `{kind: nested}`"),
        ("regimes", "free", "regimes: expected a list, got 'free'; write `[{kind: free}]`"),
        ("datasets", "clinic", "datasets: expected a list, got 'clinic'; write `[clinic]`"),
        ("outputs", {"table1": 1}, "outputs: expected a list, got {'table1': 1}"),
        ("rows", "many", "rows: must be a valid integer, got 'many'"),
    ],
)
def test_a_value_of_another_shape_is_told_how_it_is_written(small, study, key, value, message):
    study[key] = value
    text = mistakes(small)
    assert message in text
    assert "Input" not in text and "instance" not in text


def test_what_came_is_cut_where_it_is_long(small, study):
    study["rows"] = "x" * 1000
    small["seed"] = ["y"] * 1000
    study["methods"] = "z" * 1000
    assert all(len(line) < 200 for line in mistakes(small).splitlines())


def test_a_strength_that_the_simulator_refuses(small):
    small["eicu"] = {"scenario": "ucar", "strength": 5}
    assert "eicu: strength of 'ucar' must lie in [0, 1], got 5." in mistakes(small)
    small["eicu"] = {"hospitals": [73, 73]}
    assert "eicu.hospitals: every entry must be listed once, got [73] more often" in mistakes(small)
    for fine in ({"scenario": "mnar", "strength": 5}, {"source": "folder", "strength": 5}):
        small["eicu"] = fine
        parse(small)


@pytest.mark.parametrize("separator", ["", ", "])
def test_a_separator_is_one_character(small, separator):
    small["datasets"] = {"mine": {"path": "a.csv", "numeric": ["x"], "separator": separator}}
    assert "datasets.mine.separator: separator must be one character" in mistakes(small)


def test_an_own_data_set_can_be_studied(small, study):
    small["datasets"] = {"mine": {"path": "a.csv", "numeric": ["x"]}}
    study["datasets"] = ["mine"]
    assert parse(small).studies["one"].datasets == ["mine"]
    study["datasets"] = ["mime"]
    assert "unknown data set 'mime'; did you mean 'mine'?" in mistakes(small)


@pytest.mark.parametrize(
    ("epsilon", "values"),
    [
        (0.3, [0.3]),
        ([0.1, 0.9], [0.1, 0.9]),
        ({"start": 0.1, "stop": 0.3, "step": 0.1}, [0.1, 0.2, 0.3]),
        ({"start": 0.05, "stop": 0.95, "step": 0.25}, [0.05, 0.3, 0.55, 0.8]),
        ({"start": 0.5, "stop": 0.5, "step": 0.1}, [0.5]),
    ],
)
def test_epsilon_is_a_number_a_list_or_a_grid(small, study, epsilon, values):
    study["regimes"] = [{"kind": "opposing", "epsilon": epsilon}]
    samplers = parse(small).studies["one"].regimes[0].samplers()
    assert [value for value, _ in samplers] == values
    assert [sampler.epsilon for _, sampler in samplers] == values


def test_the_papers_grid_has_nineteen_values():
    paper = read(ROOT / "config" / "paper.yaml").studies["figure2a"].regimes[0]
    assert [value for value, _ in paper.samplers()] == [round(0.05 * i, 2) for i in range(1, 20)]


def test_methods_are_a_list_or_have_caps(small, study):
    study["methods"] = {"oracle": {"draws": 1}, "source": None}
    methods = parse(small).studies["one"].methods
    assert methods["oracle"].draws == 1
    assert methods["source"].draws is None


def test_the_study_of_mechanisms_knows_its_names(small):
    small["studies"] = {}
    small["beyond"] = {"mechanisms": ["ucar", "outcome"], "datasets": ["diabetes", "eicu"], "strengths": [1]}
    assert parse(small).beyond.mechanisms == ["ucar", "outcome"]
    for key, value, message in (
        ("mechanisms", ["outcom"], "beyond.mechanisms: unknown mechanism 'outcom'; did you mean 'outcome'?"),
        ("datasets", ["adlut"], "beyond.datasets: unknown data set 'adlut'; did you mean 'adult'?"),
        ("strengths", [2], "beyond.strengths"),
        ("row", 300, "beyond.row: unknown key; did you mean 'rows'?"),
    ):
        assert message in mistakes(small | {"beyond": {key: value}})


def test_studies_may_be_empty_only_for_the_two_hospitals(small):
    small["studies"] = {}
    assert "studies: expected at least one study, got none" in mistakes(small)
    small["sepsis"] = {"source": "folder", "splits": 2}
    assert parse(small).sepsis.splits == 2
    small["sepsis"]["split"] = 3
    assert "sepsis.split: unknown key; did you mean 'splits'?" in mistakes(small)


def test_verdicts_rest_on_the_experiments_alone(small, study):
    """Else another output, or draw of another study, would have the claims checked again."""
    before = parse(small).behind_verdicts()
    study["outputs"] = ["table1", "paired_differences"]
    others = {"beyond": {"draws": 1}, "sepsis": {}, "data_dir": "elsewhere", "block_size": {"linear": 1}}
    assert parse(small | others).behind_verdicts() == before
    assert parse(before).behind_verdicts() == before
    assert parse(small | {"seed": 3}).behind_verdicts() != before
    study["models"]["linear"]["draws"] += 1
    assert parse(small).behind_verdicts() != before
