from pathlib import Path

import pytest

from dams.experiments.config import read
from dams.experiments.products import products_of
from dams.report.recognise import recognise

CONFIGS = sorted((Path(__file__).parents[2] / "config").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_files_alone_tell_what_they_are(config):
    wanted = products_of(read(config))
    found = {made.files[0]: made for made in recognise(file for made in wanted for file in made.files)}
    assert set(found) == {made.files[0] for made in wanted}
    for made in wanted:
        assert found[made.files[0]] == made


def test_other_files_are_passed_over():
    assert not recognise(["notes.txt", "tables/table1.docx", "diagnostics/anything.csv"])
