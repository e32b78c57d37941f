import pytest
from fiddle_files import write_cohort
from loopback import Site

from dams.datasets.uci.origins import UCI, RawFile, UciDataset


@pytest.fixture
def cohort(tmp_path):
    """Files of FIDDLE in a folder, and what they hold."""
    return tmp_path, *write_cohort(tmp_path)


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Site()
    yield server
    server.close()


@pytest.fixture
def register(monkeypatch):
    """Add a data set to the registry for one test."""
    monkeypatch.delenv("DAMS_DATA_DIR", raising=False)

    def add(*files: RawFile, **kwargs) -> None:
        dataset = UciDataset(title="Toy", archive="7/toy.zip", files=files, citation="Nobody", **kwargs)
        monkeypatch.setitem(UCI, "toy", dataset)

    return add
