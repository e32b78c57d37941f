"""Names are loaded when used, and a wrong one is answered with the right one."""

import pytest

import dams
import dams.datasets
import dams.estimators
import dams.two_files
from dams._registry import load, nearest
from dams.datasets.registry import DATASETS, is_scenario, title_of
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS


def test_load_imports_an_attribute():
    assert load("math:pi") == pytest.approx(3.14159, abs=1e-5)


@pytest.mark.parametrize("path", ["no_such_module:x", "math:no_such_name"])
def test_load_of_what_is_not_there(path):
    with pytest.raises((ImportError, AttributeError), match="no_such"):
        load(path)


def test_nearest_names_one_or_all():
    assert nearest("ocle", ["oracle", "source"]) == "did you mean 'oracle'?"
    assert nearest("zzz", ["oracle", "source"]) == "valid are: oracle, source."


@pytest.mark.parametrize(
    "path",
    [entry.path for registry in (DATASETS, METHODS) for entry in registry.values()]
    + [path for model in MODELS.values() for path in model.engines.values()],
)
def test_every_registered_path_leads_to_a_function(path):
    assert callable(load(path))


def test_titles_are_unique():
    for registry in (DATASETS, METHODS, MODELS):
        titles = [entry.title for entry in registry.values()]
        assert len(set(titles)) == len(titles)


def test_a_users_data_set_goes_by_its_name_and_is_a_table():
    assert title_of("adult") == "Adult"
    assert title_of("my_ward") == "My ward"
    assert is_scenario("redundant")
    assert not is_scenario("my_ward")
    assert not is_scenario("digits")


@pytest.mark.parametrize("package", [dams, dams.datasets, dams.estimators, dams.two_files])
def test_what_is_imported_late_is_listed_and_nothing_that_serves_it(package):
    listed = dir(package)
    assert set(package.__all__) <= set(listed)
    assert not {"TYPE_CHECKING", "export_late", "_EXPORTS"} & set(listed)
    assert "__doc__" in listed and "estimators" in dir(dams)
