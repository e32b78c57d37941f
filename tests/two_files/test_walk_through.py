"""docs/walk_through.md as it stands, with fewer rows: by commands alone, by Python alone, and the same numbers."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dams.cli import main
from dams.two_files import read_model

PAGE = Path(__file__).parents[2] / "docs" / "walk_through.md"
ROWS = "4000"
pytestmark = pytest.mark.filterwarnings("ignore:The source has a value in:UserWarning")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def commands():
    """Commands of the page and the exit code that each states, 0 if none; arrays are replaced."""
    text = "\n".join(blocks("sh")).replace("\\\n", " ").replace("60000", ROWS)
    arrays = re.findall(r"^(\w+)=\((.*?)\)$", text, re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\w+=\(.*?\)$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert arrays
    for name, words in arrays:
        text = text.replace(f'"${{{name}[@]}}"', " ".join(words.split()))
    # A shell need not split an unquoted variable, and zsh does not.
    assert "$" not in text
    for line in filter(None, map(str.strip, text.splitlines())):
        command, _, remark = line.partition("#")
        yield shlex.split(command), int(remark.removeprefix(" exit code ") or 0)


@pytest.fixture(scope="module")
def by_commands(tmp_path_factory):
    """The folder after all commands, and what they said."""
    folder = tmp_path_factory.mktemp("commands")
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        from contextlib import redirect_stdout
        from io import StringIO

        for (program, *arguments), expected in commands():
            assert program == "dams"
            with redirect_stdout(StringIO()) as text:
                assert main(arguments) == expected, arguments
            said.append((arguments, text.getvalue()))
    return folder / "hospitals", said


@pytest.fixture(scope="module")
def by_python(tmp_path_factory):
    """What the page's Python leaves, and the folder it worked in."""
    folder, names = tmp_path_factory.mktemp("python"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in blocks("python"):
            exec(block.replace("60_000", ROWS), names)
    return folder / "hospitals", names


def test_both_ways_say_what_the_page_says_and_agree(by_commands, by_python):
    """One test, so that what takes seconds is done once, whichever workers the others go to."""
    (folder, said), (other, names) = by_commands, by_python
    texts = [text for _, text in said]
    assert texts[1].startswith("Loss at random (UCAR) is rejected")
    assert texts[2].startswith("Missingness shift:") and "nothing speaks against loss at random" in texts[2]
    assert texts[3].startswith("Adapted: 'linear closed form' is expected to have a squared loss of")
    assert "On 500 labelled target rows" in texts[4]
    assert "When not to trust it" in (folder / "adapt.html").read_text(encoding="utf-8")

    found = names["found"]
    predictions = pd.read_csv(folder / "predictions.csv")
    np.testing.assert_allclose(predictions["days"], names["predictions"], rtol=1e-6, atol=1e-6)
    assert predictions["patient"].tolist() == names["target"]["patient"].tolist()
    assert said[3][1].splitlines()[0] == found.why
    assert str(names["tested"].label_test) in said[4][1]
    again = pd.read_csv(folder / "again.csv")["days"]
    np.testing.assert_allclose(again, names["tested"].predict(names["X_target"]), rtol=1e-6, atol=1e-6)

    # Summaries give the model of the rows.
    by_rows = predictions["days"]
    np.testing.assert_allclose(pd.read_csv(folder / "from_summaries.csv")["days"], by_rows, rtol=1e-6, atol=1e-6)
    fitted = names["by_summaries"]
    own = fitted.predict(names["X_target"][fitted.feature_names_in_])
    np.testing.assert_allclose(own, by_rows, rtol=1e-6, atol=1e-6)
    assert read_model(other / "from_python.json").choice == "linear closed form"


def test_the_page_states_what_the_benchmark_gave():
    table = pd.read_csv(PAGE.parents[1] / "benchmarks" / "results" / "walk_through.csv").set_index("model")
    text = PAGE.read_text(encoding="utf-8")
    for kind in ("linear", "boosting"):
        row = table.loc[kind]
        line = next(line for line in text.splitlines() if line.startswith(f"| {kind} |"))
        numbers = [f"{row[name]:.3f}".removeprefix("0") for name in ("source", "adapted", "oracle")]
        gains = [f"{row[name]:.3f}".removeprefix("0") for name in ("gain", "gain_lower", "gain_upper", "true_gain")]
        closed = f"{100 * row['closed']:.0f} %"
        expected = f"| {' | '.join(numbers)} | {closed} | {gains[0]} ({gains[1]} to {gains[2]}) | {gains[3]} |"
        assert line.endswith(expected)
        assert row["closed"] >= 0.9 and row["closed_of_5"] >= 0.9
