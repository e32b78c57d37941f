"""Files that hold no configuration, or one that says something twice, are named with the way out."""

import pytest

from dams.experiments import config
from dams.experiments.config import ConfigError, read
from dams.experiments.config.yaml_files import load_yaml


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has 2 mistake(s):\n  name: required"),
        ("- 1\n", "expected the keys name, seed, studies"),
        ("name: [\n", "is not YAML"),
    ],
)
def test_files_that_hold_no_configuration(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


REPEATED = """name: twice
studies:
  one:
    rows: 100
    models: {linear: {draws: 1}, mlp: {draws: 1}, linear: {draws: 2}}
    rows: 200
"""


def test_a_key_that_comes_twice_is_named_with_its_lines(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(REPEATED)
    for reading in (read, config.refuse_repeated_keys):
        with pytest.raises(ConfigError) as caught:
            reading(path)
        assert str(caught.value).splitlines() == [
            f"{path} has 2 mistake(s):",
            "  line 5: the key 'linear' is on line 5 already, and only one can count; put the two together",
            "  line 6: the key 'rows' is on line 4 already, and only one can count; put the two together",
        ]


def test_only_yaml_is_looked_at_twice(tmp_path):
    (tmp_path / "mine.json").write_text('{\t"name":\t"x"}')
    config.refuse_repeated_keys(tmp_path / "mine.json")


def test_keys_may_be_merged_and_referred_to(tmp_path):
    """What YAML means by `<<` and by an alias is no repetition."""
    path = tmp_path / "mine.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]\n")
    assert load_yaml(path)["b"] == {"x": 3, "y": 2}


def test_a_file_in_another_encoding(tmp_path):
    (tmp_path / "mine.yaml").write_bytes("name: Jürgen".encode("latin1"))
    with pytest.raises(ConfigError, match=r"mine\.yaml is not UTF-8 text"):
        read(tmp_path / "mine.yaml")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="is a folder; expected a YAML file such as"):
        read(tmp_path)
