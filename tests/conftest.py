"""How tests are run, folders that several workers share, and samples that every engine is tested on."""

import fcntl
import gc
import os
import shutil

# One thread per worker: threads of two workers on one core wait for each other in loops.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# The process that hands out the tests loads this file before there are workers, so that what it can do without is
# imported by the fixtures.

# The same examples in every run, so that a failure is of the change at hand. HYPOTHESIS_PROFILE=search finds others.
settings.register_profile("repeat", derandomize=True)
settings.register_profile("search", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than cores: those that run Snakemake, a browser or pip spend a tenth of their time waiting."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items):
    """Put those first that run Snakemake: they are the longest, and workers that end with short tests end together."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


def pytest_collection_finish(session):
    """Take what was loaded out of the sight of the garbage collector, which looks through it again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def same_settings_of_sklearn():
    """Undo what a test, or a package that it imports (skada turns on metadata routing), does to scikit-learn."""
    import sklearn

    with sklearn.config_context():
        yield


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory):
    """A folder of this name, which one of the workers fills while the others that ask for it wait."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def filled(name, fill):
        folder, done = base / name, base / f"{name}.done"
        with open(base / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # another may have failed half-way
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return filled


def draw(seed, n, d=5, k=3):
    """Correlated columns of very different scale and location with many zeros, noisy linear labels."""
    import numpy as np

    from dams.experiments.models import Sample

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * np.logspace(-2, 2, d) + rng.normal(size=d)
    X[rng.random((n, d)) < 0.2] = 0
    return Sample(X, X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) + 5)


@pytest.fixture(scope="session")
def train():
    return draw(0, 1000)


@pytest.fixture(scope="session")
def held_out():
    return draw(1, 200)
