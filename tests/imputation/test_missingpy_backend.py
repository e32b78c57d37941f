"""missingpy under current libraries: its loop, the traces it must not leave, and the message where it is absent."""

import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from missforest_by_hand import classify, first_guesses, holed_matrix, iterates, smooth

from dams.imputation import MissForestImputer
from dams.imputation._missingpy import import_missingpy, run_missingpy

# One of the columns holds zeros and ones.
pytestmark = pytest.mark.filterwarnings("ignore:There is one value beside 0")

OPTIONS = {"max_iter": 5, "n_estimators": 3, "max_depth": 3, "missing_values": 0.0, "seed": 0}

try:
    MISSINGPY = import_missingpy()
except ImportError:
    MISSINGPY = None
installed = pytest.mark.skipif(MISSINGPY is None, reason="missingpy is not installed")


class Smooth:
    """A learner without chance in the place of missingpy's forests."""

    learn = staticmethod(smooth)

    def __init__(self, **parameters):
        self.parameters = parameters

    def fit(self, X, y):
        self.data = X.copy(), y.copy()

    def predict(self, X):
        return self.learn(*self.data, X)


class Classify(Smooth):
    learn = staticmethod(classify)


@pytest.fixture
def correlated():
    """Columns as in the experiments: correlated, skewed, discrete, binary; zeros are lost values."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=500)
    X = np.column_stack(
        [
            common + 0.3 * rng.normal(size=500),
            np.exp(common + 0.5 * rng.normal(size=500)),
            np.round(2 * common + 0.5 * rng.normal(size=500)) + 0.5,
            rng.random(500) < 0.4,
        ]
    )
    return np.where(rng.random(X.shape) < [0.4, 0.3, 0.2, 0.3], 0, X)


@installed
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 40),
    d=st.integers(2, 6),
    n_categorical=st.integers(0, 2),
    max_iter=st.integers(1, 7),
    marker=st.sampled_from([0.0, -99.0, float("nan")]),
)
@settings(deadline=None, max_examples=30)
def test_its_loop_is_the_one_written_out(seed, n, d, n_categorical, max_iter, marker):
    """What the fast engine is tested against is what missingpy does."""
    X, missing = holed_matrix(seed, n, d, n_categorical, marker)
    categorical = np.arange(d) < n_categorical
    if not missing.any() or (categorical.any() and not missing[:, categorical].any()):
        return  # missingpy divides by the number of missing categorical entries
    expected = iterates(X, missing, categorical, max_iter)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MISSINGPY, "RandomForestRegressor", Smooth)
        patch.setattr(MISSINGPY, "RandomForestClassifier", Classify)
        options = OPTIONS | {"max_iter": max_iter, "missing_values": marker}
        imputed = run_missingpy(X, first_guesses(X, missing, categorical), categorical, **options)
    np.testing.assert_allclose(imputed, expected[-2], rtol=1e-7, atol=1e-9)


@installed
def test_the_engines_impute_alike(correlated):
    """What they impute differs no more than what missingpy imputes with two seeds; the benchmark has real data."""
    lost = correlated == 0
    imputed = {
        engine: [
            MissForestImputer(engine=engine, max_iter=2, random_state=seed).fit_transform(correlated)
            for seed in range(8)
        ]
        for engine in ("fast", "missingpy")
    }

    def distance(pairs):
        squares = [np.where(lost, (first - second) ** 2, 0).sum(axis=0) / lost.sum(axis=0) for first, second in pairs]
        return np.sqrt(np.mean(squares, axis=0))

    between_engines = distance(product(imputed["fast"], imputed["missingpy"]))
    between_seeds = distance(combinations(imputed["missingpy"], 2))
    assert (between_engines[:3] < 1.15 * between_seeds[:3]).all()
    np.testing.assert_array_equal(imputed["fast"][0][:, 3], 1)
    np.testing.assert_array_equal(imputed["missingpy"][0][:, 3], 1)


@installed
def test_seeds_decide_and_every_sweep_draws_anew(correlated, monkeypatch):
    first, again, other = (
        MissForestImputer(engine="missingpy", n_estimators=3, random_state=seed).fit_transform(correlated)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    made = []
    monkeypatch.setattr(MISSINGPY, "RandomForestRegressor", lambda **parameters: made.append(parameters) or Smooth())
    run_missingpy(correlated, np.ones(4), np.zeros(4, dtype=bool), **OPTIONS)
    # An integer would start each forest of each sweep with the same samples.
    assert all(isinstance(parameters["random_state"], np.random.RandomState) for parameters in made)
    assert all(parameters["n_jobs"] == 1 for parameters in made)


@installed
def test_a_mean_that_looks_missing_is_a_mean_all_the_same():
    X = np.array([[1.0, 1.0], [-1.0, 2.0], [0.0, 3.0]])
    imputed = MissForestImputer(engine="missingpy", max_iter=1).fit_transform(X)
    np.testing.assert_array_equal(imputed, X)


@installed
def test_both_engines_fill_a_column_that_new_rows_never_observe(correlated):
    rows = correlated[:100].copy()
    rows[:, 3] = 0
    for engine in ("fast", "missingpy"):
        imputer = MissForestImputer(engine=engine, n_estimators=3, all_missing="statistic", random_state=0)
        np.testing.assert_array_equal(imputer.fit(correlated).transform(rows)[:, 3], 1)
        with pytest.raises(ValueError, match="all_missing='statistic'"):
            imputer.set_params(all_missing="raise").fit(correlated).transform(rows)


@installed
def test_it_prints_only_when_asked(correlated, capsys):
    imputer = MissForestImputer(engine="missingpy", n_estimators=2, random_state=0)
    imputer.fit_transform(correlated)
    assert capsys.readouterr().out == ""
    imputer.set_params(verbose=1).fit_transform(correlated)
    assert capsys.readouterr().out.startswith("Iteration: 0")


@installed
def test_depth_may_be_unbounded(correlated):
    imputer = MissForestImputer(engine="missingpy", n_estimators=2, max_depth=None, max_iter=2, random_state=0)
    assert np.isfinite(imputer.fit_transform(correlated)).all()


TRACES = """
import sys
import numpy as np
import sklearn.ensemble, sklearn.metrics, sklearn.neighbors, sklearn.utils.validation

def state():
    return {
        name: {key: id(value) for key, value in vars(module).items()}
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in ("numpy", "sklearn")
    }

from dams.imputation._missingpy import import_missingpy, run_missingpy
before = state()
try:
    import_missingpy()
except ImportError:
    sys.exit(77)
run_missingpy(
    np.array([[1.0, 2.0], [2.0, 0.0], [3.0, 1.0]]), np.ones(2), np.zeros(2, dtype=bool),
    max_iter=2, n_estimators=2, max_depth=2, missing_values=0, seed=0,
)
after = state()
changed = [
    f"{name}.{key}"
    for name, names in before.items()
    for key, value in names.items()
    if after[name].get(key) != value
]
added = [f"{name}.{key}" for name, names in before.items() for key in set(after[name]) - set(names)]
# Importing a submodule makes it an attribute of its package.
added = [name for name in added if name not in sys.modules]
gone = [name for name in ("sklearn.neighbors.base",) if name in sys.modules]
print(changed, added, gone, hasattr(np, "in1d"))
"""


@installed
def test_nothing_stays_patched():
    done = subprocess.run([sys.executable, "-c", TRACES], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] [] [] False"


def test_absence_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "missingpy", None)
    monkeypatch.delitem(sys.modules, "missingpy.missforest", raising=False)
    with pytest.raises(ImportError, match=r"missingpy 0\.2\.0.*pip install \"dams\[missingpy\]\".*engine='fast'"):
        MissForestImputer(engine="missingpy").fit([[1.0], [2.0]])
    assert "sklearn.neighbors.base" not in sys.modules


def test_another_missing_module_is_not_mistaken_for_it(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'sklearn.gone'", name="sklearn.gone")

    monkeypatch.setattr("dams.imputation._missingpy.import_module", fail)
    with pytest.raises(ModuleNotFoundError, match=r"sklearn\.gone"):
        import_missingpy()
