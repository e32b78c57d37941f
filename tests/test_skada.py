"""The bridge to skada: its own tests on our estimators, the same numbers as without it, and nothing left unadapted."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_validate
from sklearn.preprocessing import MaxAbsScaler

from dams import (
    ClosedFormRegressor,
    FilteredEstimator,
    MissingnessFilter,
    TwoWayEstimator,
    TwoWayFilter,
    apply_missingness,
    estimate_relative_missingness,
)

# Importing skada turns metadata routing on, the first time; the tests of other modules want it as it was.
with sklearn.config_context(enable_metadata_routing=True):
    from skada import PerDomain, SelectSource, make_da_pipeline, metrics
    from skada.base import IncompatibleMetadataError
    from skada.datasets import DomainAwareDataset
    from skada.tests import test_cv as theirs_cv
    from skada.tests import test_mapping as theirs_mapping
    from skada.tests import test_pipeline as theirs_pipeline
    from skada.tests import test_reweight as theirs_reweight
    from skada.tests import test_scorer as theirs_scorer
    from skada.tests import test_selector as theirs_selector

    from dams.skada import DomainAwareEstimator, FilterAdapter

N, D = 400, 6
BETA = np.array([1.0, 2.0, -1.0, 0.5, 0.0, 3.0])
RATES = {"s": 0.1, "s2": 0.1, "t": np.linspace(0.1, 0.5, D), "t2": 0.3}


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def table(seed, rates, *, classes=False, n=N):
    """Rows of one domain: positive values of which some are lost, and labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    clean = np.exp(0.3 * rng.normal(size=(n, D)))
    if classes:
        clean += 4 * label[:, None]
    X = apply_missingness(clean, rates, random_state=seed + 100)
    return X, label if classes else clean @ BETA + 0.1 * rng.normal(size=n)


def dataset(*, classes):
    domains = [(*table(seed, rates, classes=classes), name) for seed, (name, rates) in enumerate(RATES.items())]
    return DomainAwareDataset(domains)


@pytest.fixture(scope="module")
def da_dataset():
    return dataset(classes=True)


@pytest.fixture
def packed():
    """One table of both domains, mixed, as skada has it. Anew for every test: skada masks labels in place."""
    X, y, domain = dataset(classes=False).pack(as_sources=["s"], as_targets=["t"], mask_target_labels=False)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], domain[order]


def classifiers():
    base = LogisticRegression()
    return {
        "filter": make_da_pipeline(FilterAdapter(MissingnessFilter(random_state=0)), base),
        "two-way filter": make_da_pipeline(FilterAdapter(TwoWayFilter(random_state=0)), base),
        "filtered": DomainAwareEstimator(FilteredEstimator(base, random_state=0)),
        "two-way": make_da_pipeline(DomainAwareEstimator(TwoWayEstimator(base, n_draws=2, random_state=0))),
    }


def regressors():
    return {
        "filter": make_da_pipeline(FilterAdapter(MissingnessFilter(random_state=0)), Ridge()),
        "two-way filter": make_da_pipeline(FilterAdapter(TwoWayFilter(random_state=0)), Ridge()),
        "closed form": DomainAwareEstimator(ClosedFormRegressor()),
        "closed form in a pipeline": make_da_pipeline(DomainAwareEstimator(ClosedFormRegressor())),
        "filtered": make_da_pipeline(DomainAwareEstimator(FilteredEstimator(Ridge(), random_state=0))),
        "two-way": DomainAwareEstimator(TwoWayEstimator(Ridge(), n_draws=2, random_state=0)),
    }


@pytest.mark.parametrize("name", classifiers())
@pytest.mark.parametrize("test", [theirs_mapping.test_mapping_estimator, theirs_reweight.test_reweight_estimator])
def test_skadas_tests_of_classifiers(test, name, da_dataset):
    test(classifiers()[name], da_dataset)


# Their data hold no zero, of which dams warns.
@pytest.mark.filterwarnings("ignore:Neither source nor target holds a zero")
@pytest.mark.parametrize("name", regressors())
@pytest.mark.parametrize(
    "test", [theirs_mapping.test_reg_mapping_estimator, theirs_reweight.test_reg_reweight_estimator]
)
def test_skadas_tests_of_regressors(test, name):
    test(regressors()[name])


def cases(test):
    """The parameters of one of skada's tests, one dictionary per case."""
    if not hasattr(test, "pytestmark"):
        return [{}]
    (mark,) = test.pytestmark
    names = [name.strip() for name in mark.args[0].split(",")]
    return [dict(zip(names, values if len(names) > 1 else [values], strict=True)) for values in mark.args[1]]


# skada's tests of splitters, scorers and selectors build a pipeline around an adapter of skada: ours takes its place.
THEIRS = [
    (theirs_cv, "SubspaceAlignmentAdapter", "test_group_based_cv"),
    (theirs_cv, "SubspaceAlignmentAdapter", "test_domain_aware_split"),
    (theirs_cv, "SubspaceAlignmentAdapter", "test_leave_one_domain_out"),
    (theirs_cv, "SubspaceAlignmentAdapter", "test_domain_shuffle_split"),
    (theirs_scorer, "DensityReweightAdapter", "test_generic_scorer_with_cross_validate"),
    (theirs_scorer, "DensityReweightAdapter", "test_generic_scorer_with_cross_val_score"),
    (theirs_scorer, "DensityReweightAdapter", "test_supervised_scorer"),
    (theirs_scorer, "DensityReweightAdapter", "test_scorer_with_entropy_requires_predict_proba"),
    (theirs_scorer, "DensityReweightAdapter", "test_prediction_entropy_scorer_reduction"),
    (theirs_scorer, "DensityReweightAdapter", "test_mano_scorer"),
    (theirs_pipeline, "SubspaceAlignmentAdapter", "test_default_selector_ignored_for_selector"),
]
RUNS = [
    pytest.param(module, adapter, name, case, id=f"{name}-{number}")
    for module, adapter, name in THEIRS
    for number, case in enumerate(cases(getattr(module, name)))
]


# Splits may leave a single domain to train on, which is refused; circular validation also goes from target to source.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:Scoring failed")
@pytest.mark.filterwarnings("ignore:The target records", "ignore:The `return_X_y` parameter:DeprecationWarning")
@pytest.mark.parametrize(("module", "adapter", "name", "case"), RUNS)
def test_skadas_tests_of_pipelines(module, adapter, name, case, da_dataset, monkeypatch):
    monkeypatch.setattr(module, adapter, type("SubspaceAlignmentAdapter", (Stand,), {}))
    test = getattr(module, name)
    needs_data = "da_dataset" in test.__code__.co_varnames[: test.__code__.co_argcount]
    test(**case, **({"da_dataset": da_dataset} if needs_data else {}))


class Stand(FilterAdapter):
    """Our adapter, called with the parameters of skada's, which it has no use for."""

    def __init__(self, n_components=None):
        super().__init__(MissingnessFilter(random_state=0))
        self.n_components = n_components


@pytest.mark.filterwarnings("ignore:Neither source nor target holds a zero")
@pytest.mark.parametrize("step", [FilterAdapter(), DomainAwareEstimator(FilteredEstimator(LogisticRegression()))])
def test_skadas_test_of_masked_labels(step):
    theirs_selector.test_base_selector_remove_masked(step)


@pytest.mark.parametrize(
    "estimator",
    [
        ClosedFormRegressor(),
        FilteredEstimator(Ridge(), random_state=0),
        TwoWayEstimator(Ridge(), n_draws=2, random_state=0),
    ],
)
def test_a_domain_aware_estimator_is_the_estimator(estimator, packed):
    X, y, domain = packed
    source, target = domain > 0, domain < 0
    direct = clone(estimator).fit(X[source], y[source], X_target=X[target]).predict(X[target])
    for wrapped in (DomainAwareEstimator(estimator), make_da_pipeline(DomainAwareEstimator(estimator))):
        wrapped.fit(X, y.copy(), sample_domain=domain)
        np.testing.assert_array_equal(wrapped.predict(X[target], sample_domain=domain[target]), direct)
        np.testing.assert_array_equal(wrapped.predict(X[target]), direct)
    hidden = np.where(target, np.nan, y)
    np.testing.assert_array_equal(DomainAwareEstimator(estimator).fit(X, hidden).predict(X[target]), direct)


@pytest.mark.parametrize("kind", [MissingnessFilter(random_state=0), TwoWayFilter(random_state=0)])
def test_the_adapter_filters_source_rows_and_no_others(kind, packed):
    X, y, domain = packed
    source = domain > 0
    adapter = FilterAdapter(kind)
    rows, weights = adapter.fit_transform(X, y, sample_domain=domain)
    np.testing.assert_array_equal(rows[source], clone(kind).fit_resample(X[source], y[source], X_target=X[~source])[0])
    np.testing.assert_array_equal(rows[~source], X[~source])
    assert not weights
    assert np.abs(estimate_relative_missingness(rows[source], X[~source]).r).max() < 0.15
    np.testing.assert_array_equal(adapter.transform(X[~source]), X[~source])


def test_source_rows_are_predicted_for_only_where_they_are_allowed(packed):
    X, y, domain = packed
    for model in (DomainAwareEstimator(ClosedFormRegressor()), make_da_pipeline(FilterAdapter(), Ridge())):
        model.fit(X, y, sample_domain=domain)
        with pytest.raises(ValueError, match="allow_source"):
            model.predict(X, sample_domain=domain)
        assert model.predict(X, sample_domain=domain, allow_source=True).shape == y.shape


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def test_tables_keep_their_names_and_sparse_ones_stay_sparse(packed):
    X, y, domain = packed
    plain = DomainAwareEstimator(ClosedFormRegressor(anchors=[0])).fit(X, y, sample_domain=domain)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = make_da_pipeline(DomainAwareEstimator(ClosedFormRegressor(anchors=["a"])))
    named.fit(frame, y, sample_domain=domain)
    np.testing.assert_allclose(named.predict(frame[domain < 0]), plain.predict(X[domain < 0]), rtol=1e-12)
    source = domain > 0
    for rows in (frame, sparse.csr_array(X)):
        kept, _ = FilterAdapter(MissingnessFilter(random_state=0)).fit_transform(rows, y, sample_domain=domain)
        assert type(kept) is type(rows)
        by_hand = MissingnessFilter(random_state=0).fit_resample(rows[source], y[source], X_target=rows[~source])[0]
        for part, expected in ((kept[source], by_hand), (kept[~source], rows[~source])):
            np.testing.assert_array_equal(*(np.asarray(dense(table)) for table in (part, expected)))
    scattered = sparse.csr_array(X)
    model = make_da_pipeline(DomainAwareEstimator(ClosedFormRegressor())).fit(scattered, y, sample_domain=domain)
    unsparse = DomainAwareEstimator(ClosedFormRegressor()).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(model.predict(scattered[~source]), unsparse.predict(X[~source]), rtol=1e-9)


def test_weights_of_anchors_reach_an_estimator_that_asks_for_them(packed):
    X, y, domain = packed
    X = np.column_stack([X, np.random.default_rng(1).normal(size=len(y)) + (domain < 0)])
    adapter = FilterAdapter(MissingnessFilter(anchors=[D], random_state=0))
    with pytest.raises(IncompatibleMetadataError, match="sample_weight"):
        make_da_pipeline(adapter, Ridge()).fit(X, y, sample_domain=domain)
    pipeline = make_da_pipeline(adapter, Ridge().set_fit_request(sample_weight=True)).fit(X, y, sample_domain=domain)
    rows, weights = clone(adapter).fit_transform(X, y, sample_domain=domain)
    source = domain > 0
    by_hand = Ridge().fit(rows[source], y[source], sample_weight=weights["sample_weight"][source])
    np.testing.assert_array_equal(pipeline.predict(X[~source]), by_hand.predict(X[~source]))
    assert weights["sample_weight"][source].std() > 0.1


def test_nothing_stays_unadapted_in_silence(packed):
    X, y, domain = packed
    for bare in (ClosedFormRegressor(), FilteredEstimator(Ridge()), TwoWayEstimator(Ridge())):
        with pytest.warns(UserWarning, match="Nothing is adapted"):
            make_da_pipeline(bare).fit(X, y, sample_domain=domain)
    with pytest.raises(TypeError, match="transform"):
        make_da_pipeline(MissingnessFilter(), Ridge()).fit(X, y, sample_domain=domain)
    with pytest.raises(TypeError, match="fit of Ridge takes no X_target"):
        DomainAwareEstimator(Ridge()).fit(X, y, sample_domain=domain)
    for step in (DomainAwareEstimator(ClosedFormRegressor()), FilterAdapter()):
        with pytest.raises(ValueError, match=rf"{type(step).__name__} got no target rows \(negative"):
            make_da_pipeline(SelectSource(step)).fit(X, y, sample_domain=domain)
        with pytest.raises(ValueError, match=r"got no (source|target) rows"):
            make_da_pipeline(PerDomain(step)).fit(X, y, sample_domain=domain)
        with pytest.raises(ValueError, match="got no source rows"):
            step.fit(X, y, sample_domain=-np.abs(domain))
        with pytest.raises(ValueError, match="needs labels"):
            step.fit(X, None, sample_domain=domain)


def test_scorers_choose_among_settings(packed):
    """A search over the closed form's settings by skada's scorer on importance weights, in a pipeline with scaling."""
    X, y, domain = packed
    pipeline = make_da_pipeline(MaxAbsScaler(), DomainAwareEstimator(ClosedFormRegressor()))
    search = GridSearchCV(
        pipeline,
        {"domainawareestimator__estimator__gram": ["pooled", "target"]},
        scoring=metrics.ImportanceWeightedScorer(),
        cv=ShuffleSplit(2, test_size=0.3, random_state=0),
        error_score="raise",
    )
    search.fit(X, y, sample_domain=domain)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["domainawareestimator__estimator__gram"] in ("pooled", "target")


# One of them turns source and target round: there adjusting may not pay.
@pytest.mark.filterwarnings("ignore:The target records", "ignore:The model is fitted on the source rows as they are")
@pytest.mark.parametrize("name", ["filtered", "two-way"])
@pytest.mark.parametrize(
    "scorer",
    [
        metrics.ImportanceWeightedScorer,
        metrics.PredictionEntropyScorer,
        metrics.SoftNeighborhoodDensity,
        metrics.DeepEmbeddedValidation,
        metrics.CircularValidation,
        metrics.MixValScorer,
        metrics.MaNoScorer,
    ],
)
def test_every_scorer_works_with_domain_aware_classifiers(scorer, name, da_dataset):
    X, y, domain = da_dataset.pack(as_sources=["s"], as_targets=["t"], mask_target_labels=True)
    model = classifiers()[name]
    if not hasattr(model, "steps"):
        model = make_da_pipeline(model)
    cv = ShuffleSplit(2, test_size=0.3, random_state=0)
    scores = cross_validate(model, X, y, cv=cv, params={"sample_domain": domain}, scoring=scorer(), error_score="raise")
    assert np.isfinite(scores["test_score"]).all()


def test_weights_and_groups_are_split_by_domain(packed):
    X, y, domain = packed
    source = domain > 0
    weight, ids = np.linspace(0, 2, len(y)), np.arange(len(y)) // 2
    base = Ridge().set_fit_request(sample_weight=True)
    model = DomainAwareEstimator(FilteredEstimator(base, random_state=0))
    model.fit(X, y, domain, sample_weight=weight, groups=ids)
    by_hand = FilteredEstimator(base, random_state=0).fit(
        X[source],
        y[source],
        X_target=X[~source],
        sample_weight=weight[source],
        groups=ids[source],
        groups_target=ids[~source],
    )
    np.testing.assert_array_equal(model.predict(X[~source]), by_hand.predict(X[~source]))
    assert str(model.relative_missingness_) == str(by_hand.relative_missingness_)


def test_the_page_does_what_it_says(da_dataset):
    page = (Path(__file__).parents[1] / "docs" / "skada.md").read_text(encoding="utf-8")
    (X_source, y_source), (X_target, y_target) = (da_dataset.get_domain(name) for name in ("s", "t"))
    names = {"X_source": X_source, "y_source": y_source, "X_target": X_target}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    for name in ("two_way", "filtered", "model"):
        assert names[name].score(X_target, y_target) > 0.9, name
    assert names["probabilities"].shape == (N, 2)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "dams.skada")
    monkeypatch.setitem(sys.modules, "skada.base", None)
    with pytest.raises(ModuleNotFoundError, match=r"dams\.skada needs skada, .*\[skada\]"):
        importlib.import_module("dams.skada")


@pytest.mark.parametrize("kind", [MissingnessFilter, TwoWayFilter])
def test_filters_are_steps_of_imbalanced_learns_pipelines(kind, packed):
    from imblearn import FunctionSampler
    from imblearn.pipeline import make_pipeline

    X, y, domain = packed
    source = domain > 0
    step = FunctionSampler(func=kind(random_state=0).fit_resample, kw_args={"X_target": X[~source]}, validate=False)
    rows, labels = kind(random_state=0).fit_resample(X[source], y[source], X_target=X[~source])
    by_hand = LinearRegression().fit(rows, labels)
    pipeline = make_pipeline(step, LinearRegression()).fit(X[source], y[source])
    # What is predicted for passes as it is.
    np.testing.assert_array_equal(pipeline.predict(X[~source]), by_hand.predict(X[~source]))
    with pytest.warns(UserWarning, match="Nothing is adapted"):
        make_pipeline(kind(), LinearRegression()).fit(X[source], y[source])


ROUTED = """
import numpy as np, sklearn
from imblearn.pipeline import make_pipeline
from sklearn.linear_model import LinearRegression
from dams import MissingnessFilter

sklearn.set_config(enable_metadata_routing=True)
X = np.random.default_rng(0).integers(0, 4, size=(2_000, 3)).astype(float)
target = X * [1, 0.0, 1]
step = MissingnessFilter(random_state=0).set_fit_resample_request(X_target=True)
model = make_pipeline(step, LinearRegression()).fit(X, X.sum(axis=1), X_target=target)
assert model[0].rates_.round(6).tolist() == [0, 1, 0], model[0].rates_
"""


def test_filters_take_routed_targets_where_imbalanced_learn_is_imported_first():
    """scikit-learn makes `set_fit_resample_request` when a class is defined, if it knows `fit_resample` by then."""
    answer = subprocess.run([sys.executable, "-c", ROUTED], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
