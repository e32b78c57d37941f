"""Examples in docstrings run and give what they say."""

import doctest
import importlib
import pkgutil

import pytest
import sklearn

import dams

MODULES = ["dams", *(module.name for module in pkgutil.walk_packages(dams.__path__, "dams."))]


def examples_of(name):
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder().find(module, name) if test.examples]


# Optional back ends may not be installed.
WITH_EXAMPLES = [name for name in MODULES if ">>>" in (importlib.util.find_spec(name).loader.get_source(name) or "")]


def test_there_are_examples():
    assert {"dams.relative", "dams.estimators.closed_form", "dams.estimators.filtered"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report = []
    # Importing skada turns metadata routing on, and its pipelines need it; the tests of other modules don't want it.
    with sklearn.config_context(enable_metadata_routing=name == "dams.skada"):
        tests = examples_of(name)
        assert tests
        for test in tests:
            runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("name", ["ClosedFormRegressor", "FilteredEstimator", "MissingnessFilter"])
def test_every_estimator_has_an_example_and_its_parameters_described(name):
    estimator = getattr(dams, name)
    assert ">>>" in estimator.__doc__
    for parameter in estimator._get_param_names():
        assert f"\n    {parameter} :" in estimator.__doc__, parameter
