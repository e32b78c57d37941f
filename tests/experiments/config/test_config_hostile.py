"""Configurations that somebody damaged, or made to do harm: a sentence, soon, and nothing that moves a terminal."""

import random
import time
from pathlib import Path

import pytest

from dams.cli import main
from dams.experiments.config import ConfigError, parse, read
from dams.experiments.config.fields import MOST_CELLS, visible

ROOT = Path(__file__).parents[3]
SHIPPED = [*sorted((ROOT / "config").glob("*.yaml")), *sorted((ROOT / "config" / "examples").glob("*.yaml"))]
GOOD = """name: x
studies:
  one:
    datasets: [redundant]
    regimes: [{kind: free}]
    models: {linear: {draws: 2}}
    methods: [oracle]
"""
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)
)
OPPOSING = "kind: opposing, epsilon: {start: %s, stop: %s, step: %s}"

HOSTILE = {
    "a template": ("name: {{ s }}\n", "line 1: while constructing a mapping found unhashable key"),
    "a tag": (GOOD.replace("x", "!tag x", 1), "line 1: could not determine a constructor for the tag '!tag'"),
    "a call": ("a: !!python/object/apply:os.getcwd []\n", "line 1: could not determine a constructor"),
    "bytes": (GOOD.replace("x", "!!binary eA==", 1), "line 1: could not determine a constructor"),
    "a day": (GOOD.replace("x", "2023-99-99", 1), "line 1: no such value: month must be in 1..12"),
    "an hour": (GOOD.replace("x", "2023-01-01 99:99:99", 1), "line 1: no such value: hour must be in 0..23"),
    "a merge": (GOOD + "<<: 3\n", "line 8: while constructing a mapping expected a mapping or list of mappings"),
    "nesting": ("a: " + "[" * 30_000, "line 1: expected at most 40 levels of nesting"),
    "nested keys": ("".join(f"{' ' * i}a:\n" for i in range(500)), "line 41: expected at most 40 levels of nesting"),
    "digits": (GOOD.replace("draws: 2", f"draws: {'9' * 6000}"), "line 6: the number is too large"),
    "hexadecimal digits": (GOOD.replace("draws: 2", f"draws: 0x{'f' * 6000}"), "line 6: the number is too large"),
    "infinity": (GOOD.replace("draws: 2", "draws: .inf"), "models.linear.draws: must be a finite number, got inf"),
    "no number": (GOOD.replace("free", "free, high: .nan"), "free.high: must be a finite number, got nan"),
    "an infinite grid": (GOOD.replace("kind: free", OPPOSING % (".inf", ".inf", 1)), "grid.start: must be a finite"),
    "a fine grid": (GOOD.replace("kind: free", OPPOSING % (0.1, 0.9, "1.0e-9")), "expected at most 1,000 values from"),
    "the finest grid": (GOOD.replace("kind: free", OPPOSING % (0.1, 0.9, "5.0e-324")), "expected at most 1,000 values"),
    "draws": (GOOD.replace("draws: 2", "draws: 1000000000000"), "must be less than or equal to 10000, got 1000000000"),
    "β": (GOOD.replace("draws: 2", "draws: 2, betas: 1000000000000"), "linear.betas: must be less than or equal to"),
    "rows": (GOOD + "    rows: 1000000000000\n", "one.rows: must be less than or equal to 10000000"),
    "cells": (
        GOOD.replace("draws: 2", "draws: 9000").replace("kind: free", OPPOSING % (0.1, 0.9, 0.1)),
        f"studies: expected at most {MOST_CELLS:,} cells in all, got 81,000, of which 81,000 are of one",
    ),
    "regimes": (
        GOOD.replace("[{kind: free}]", f"[{', '.join(f'{{kind: free, name: r{i}}}' for i in range(300))}]"),
        "studies.one.regimes: at most 200 must be listed, got",
    ),
    "aliases of aliases": (BOMB, "expected at most 100,000 values, each alias counted as what it stands for"),
    "an alias of itself": ("a: &a [*a]\n", "line 1: *a stands for something that it is a part of"),
    "a list of many": (GOOD.replace("[redundant]", f"[{', '.join(f'd{i}' for i in range(30_000))}]"), "got 60,000"),
    "many mistakes": ("name: x\nstudies:\n" + "".join(f"  s{i}: {{}}\n" for i in range(3000)), "has 12000 mistake(s)"),
    "a long file": ("#" * 1_000_001, "is too long: expected at most 1,000,000 bytes"),
    "a long name": (GOOD.replace("x", "x" * 300, 1), "name: String should have at most 100 characters"),
    "two documents": ("a: 1\n---\nb: 2\n", "line 2: expected a single document in the stream"),
    "code": ("__use_yte__: true\n__definitions__: [import os]\n" + GOOD, "__use_yte__: unknown key"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_sentence_names_the_place_and_comes_soon(tmp_path, what, capsys):
    text, message = HOSTILE[what]
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    began = time.perf_counter()
    assert main(["check", str(path)]) == 1
    assert time.perf_counter() - began < 10
    said = capsys.readouterr().err
    assert str(path) in said
    assert message in said
    assert len(said.splitlines()) < 60


@pytest.mark.parametrize("command", ["check", "run"])
def test_code_in_a_configuration_is_not_run(tmp_path, command, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    code = f"__use_yte__: true\n__definitions__:\n  - open({str(mark)!r}, 'w').close()\n"
    (tmp_path / "mine.yaml").write_text(code + GOOD)
    assert main([command, "mine.yaml"]) == 1
    assert "__use_yte__: unknown key" in capsys.readouterr().err
    assert not mark.exists()


@pytest.mark.parametrize(
    "line",
    [
        '"\\e[2J\\e]0;owned\\a": 1',
        '"a\\nstudies.one: fine": 1',
        'seed: "\\e[31m"',
        'recipe: "\\r\\e[K"',
        'eicu: {source: "\\u202egpj"}',
        'datasets: {own: {path: "\\e[8m", numeric: [a]}}',
        'block_size: {"\\e[1A": 1}',
        '"\\ud800": 1',
    ],
)
def test_nothing_that_a_terminal_obeys_is_printed(tmp_path, line, capsys):
    (tmp_path / "mine.yaml").write_text(f"{GOOD}{line}\n")
    assert main(["check", str(tmp_path / "mine.yaml")]) == 1
    said = capsys.readouterr().err
    assert all(sign.isprintable() for sign in said.replace("\n", ""))
    assert len(said.splitlines()) == 2


def test_visible_leaves_letters_of_any_language_alone():
    assert visible("β ≤ Größe 病院 é") == "β ≤ Größe 病院 é"
    assert visible("a\tb\x1b[0m\u202e\n") == "a\\tb\\x1b[0m\\u202e\\n"


def test_values_that_did_not_come_from_a_file_are_written_too():
    """Snakemake reads its configuration itself, and takes values from the command line."""
    with pytest.raises(ConfigError, match=r"seed: .*got a number of thousands of digits"):
        parse({"name": "x", "seed": 10**5000, "studies": {}})


TOKENS = [
    *(
        "{{",
        "}}",
        "!tag ",
        "!!set ",
        "&a ",
        "*a ",
        "<<: ",
        "? ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ": ",
        "\n",
        "\t",
        '"',
        "'",
        "|",
        ">",
    ),
    *(
        "2023-99-99",
        "9" * 5000,
        "-0x1F",
        ".inf",
        "-.inf",
        ".nan",
        "1e999",
        "null",
        "~",
        "true",
        "''",
        "---\n",
        "...\n",
        "%YAML 9\n",
    ),
    *("\\e[31m", "\u202e", "\x7f", "\ufeff", "0", "-1", "1e-300", "name: ", "kind: ", "draws: ", "step: ", "epsilon: "),
]


def mutated(text, rng):
    """The text with a few pieces cut out, doubled or put in."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 1, 1, 5, 40]))
        text = text[:start] + rng.choice([rng.choice(TOKENS), text[start:end] * 2, ""]) + text[end:]
    return text


def test_thousands_of_damaged_configurations_are_read_or_refused(tmp_path):
    rng = random.Random(24)
    texts = [path.read_text(encoding="utf-8") for path in SHIPPED if path.stat().st_size < 3000]
    assert len(texts) >= 3
    path, outcomes = tmp_path / "mine.yaml", {"read": 0, "refused": 0}
    for number in range(1000):
        path.write_text(mutated(rng.choice(texts), rng), encoding="utf-8")
        began = time.perf_counter()
        try:
            read(path)
            said = ""
        except ConfigError as error:
            said = str(error)
        assert time.perf_counter() - began < 5, number
        assert all(sign.isprintable() for sign in said.replace("\n", "")), number
        outcomes["refused" if said else "read"] += 1
    assert min(outcomes.values()) > 50, outcomes
