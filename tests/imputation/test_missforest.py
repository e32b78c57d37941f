"""The imputer: its loop against one written out, its engines against each other, its contract and its messages."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from missforest_by_hand import classify, holed_matrix, iterates, smooth
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dams.imputation import MissForestImputer
from dams.imputation import missforest as module
from dams.imputation._sweeps import BinnedMatrix, Sweep, sweep_columns


@parametrize_with_checks(
    [
        MissForestImputer(n_estimators=3),
        MissForestImputer(n_estimators=3, missing_values=np.nan),
        MissForestImputer(n_estimators=3, missing_values=np.nan, compat="inductive"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_transformer_n_iter": "asks for a sweep in fit, where nothing is missing in the data of the check"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def holed():
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(400, 1)) + 0.2 * rng.normal(size=(400, 3)) + 3
    observed = np.where(rng.random(clean.shape) < [0.1, 0.3, 0.2], 0.0, clean)
    return clean, observed


class Scripted:
    """A model of one column that follows the learner of the written-out loop."""

    def __init__(self, matrix, known, categorical):
        self.column, self.rows, self.learn = known.column, known.rows, classify if categorical else smooth
        self.target = matrix.values[known.column, known.rows].copy()
        self.trained_on = np.delete(matrix.values, known.column, axis=0)[:, known.rows].T.copy()

    def impute(self, values, rows):
        others = np.delete(values, self.column, axis=0)
        return self.learn(self.trained_on, self.target, others[:, rows].T)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 40),
    d=st.integers(2, 6),
    n_categorical=st.integers(0, 2),
    max_iter=st.integers(1, 7),
    marker=st.sampled_from([0.0, -99.0, np.nan]),
)
@settings(deadline=None, max_examples=80)
@pytest.mark.filterwarnings("ignore:There is one value beside")  # few rows: a column may keep one value
def test_the_loop_is_the_one_written_out(seed, n, d, n_categorical, max_iter, marker):
    X, missing = holed_matrix(seed, n, d, n_categorical, marker)
    categorical = np.arange(d) < n_categorical
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BinnedMatrix, "learn", lambda m, known, *_: Scripted(m, known, categorical[known.column]))
        options = {
            "max_iter": max_iter,
            "missing_values": marker,
            "categorical_features": categorical,
            "random_state": 0,
        }
        last_but_one = MissForestImputer(**options).fit_transform(X)
        last = MissForestImputer(compat="inductive", **options).fit_transform(X)
    expected = iterates(X, missing, categorical, max_iter) if missing.any() else [X, X]
    np.testing.assert_allclose(last_but_one, expected[-2], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(last, expected[-1], rtol=1e-7, atol=1e-9)


def test_columns_are_taken_from_the_least_to_the_most_incomplete(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    for column, n_lost in enumerate([20, 0, 10, 20]):
        X[:n_lost, column] = 0
    seen = []
    learn = BinnedMatrix.learn
    monkeypatch.setattr(BinnedMatrix, "learn", lambda m, known, *_: seen.append(known.column) or learn(m, known, *_))
    MissForestImputer(max_iter=3, random_state=0).fit_transform(X)
    assert seen[:6] == [2, 0, 3, 2, 0, 3]


def test_a_sweep_that_is_given_up_would_have_been_discarded(holed, monkeypatch):
    _, observed = holed
    noise = np.random.default_rng(1).standard_t(1.5, size=observed.shape)  # stops early
    for X in (observed, np.where(observed == 0, 0, noise)):
        expected = MissForestImputer(random_state=2, max_iter=9).fit_transform(X)
        with monkeypatch.context() as patch:
            patch.setattr(module, "sweep_columns", lambda *a, abandon, **k: sweep_columns(*a, **k))
            np.testing.assert_array_equal(MissForestImputer(random_state=2, max_iter=9).fit_transform(X), expected)


@pytest.mark.parametrize(
    ("numeric", "categorical", "less"), [(0.1, 0.5, True), (0.5, 0.1, True), (0.3, 0.3, False), (0.5, 0.5, False)]
)
def test_sweeps_go_on_while_one_kind_of_column_comes_to_rest(numeric, categorical, less):
    previous = Sweep([], {}, 0.3, 0.3)
    assert previous.moved_less_than(None)
    assert Sweep([], {}, numeric, categorical).moved_less_than(previous) is less


@pytest.mark.filterwarnings("ignore:There is one value beside 0")
def test_constant_columns_are_filled_without_a_forest(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(100) < 0.5, np.where(rng.random(100) < 0.3, 0, 7), rng.normal(size=100)])
    monkeypatch.setattr("dams.imputation._sweeps.grow_forest", None)  # can't be called
    imputed = MissForestImputer(random_state=0).fit_transform(X)
    np.testing.assert_array_equal(imputed[:, :2], np.broadcast_to([1.0, 7.0], (100, 2)))


def test_one_sweep_returns_plain_means(holed):
    """The last matrix but one is returned, so a single sweep leaves the means it started from."""
    _, observed = holed
    imputed = MissForestImputer(max_iter=1, random_state=0).fit_transform(observed)
    means = [column[column != 0].mean() for column in observed.T]
    np.testing.assert_allclose(imputed, np.where(observed == 0, means, observed))


def test_means_are_those_of_the_rows_of_fit(holed):
    _, observed = holed
    imputer = MissForestImputer(max_iter=1).fit(observed[:200])
    lost = observed[200:] == 0
    imputed = imputer.transform(observed[200:])
    np.testing.assert_allclose(imputed[lost], np.broadcast_to(imputer.statistics_, lost.shape)[lost])


@pytest.mark.parametrize("compat", ["missingpy", "inductive"])
def test_values_are_closer_to_the_truth_than_means(holed, compat):
    clean, observed = holed
    lost = observed == 0
    means, forests = (
        MissForestImputer(max_iter=sweeps, compat=kind, random_state=0).fit_transform(observed)
        for sweeps, kind in ((1, "missingpy"), (5, compat))
    )
    assert np.abs(forests - clean)[lost].mean() < 0.5 * np.abs(means - clean)[lost].mean()
    np.testing.assert_array_equal(forests[~lost], observed[~lost])


@pytest.mark.filterwarnings("ignore:There is one value beside 0")
def test_zero_one_columns_become_constant_ones():
    rng = np.random.default_rng(1)
    X = (rng.random((200, 4)) < 0.4).astype(float)
    np.testing.assert_array_equal(MissForestImputer(random_state=0).fit_transform(X), np.ones_like(X))


def test_a_constant_of_the_rows_at_hand_wins_over_the_mean_of_fit():
    """As in missingpy, where a forest trained on these rows can predict nothing else."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) + 5
    rows = X[:10].copy()
    rows[:, 0] = 7
    rows[:3, 0] = 0
    np.testing.assert_array_equal(MissForestImputer(random_state=0).fit(X).transform(rows)[:, 0], np.full(10, 7.0))


@pytest.mark.parametrize("compat", ["missingpy", "inductive"])
def test_nothing_missing_changes_nothing(holed, compat):
    clean, _ = holed
    np.testing.assert_array_equal(MissForestImputer(compat=compat, random_state=0).fit_transform(clean), clean)


def test_a_single_column_takes_its_mean():
    X = np.array([[1.0], [0.0], [3.0]])
    np.testing.assert_array_equal(MissForestImputer().fit_transform(X), [[1.0], [2.0], [3.0]])


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1)) * rng.normal(size=30) + 0.01 * rng.normal(size=(20, 30))
    observed = np.where(rng.random(X.shape) < 0.1, 0, X)
    imputed = MissForestImputer(random_state=0).fit_transform(observed)
    lost = observed == 0
    means = np.broadcast_to([column[column != 0].mean() for column in observed.T], X.shape)
    assert np.isfinite(imputed).all()
    assert np.abs(imputed - X)[lost].mean() < 0.6 * np.abs(means - X)[lost].mean()


def test_input_stays_as_it_was_and_seeds_decide(holed):
    _, observed = holed
    before = observed.astype(np.float32)
    copy = before.copy()
    first, second = (MissForestImputer(random_state=3).fit_transform(before) for _ in range(2))
    np.testing.assert_array_equal(before, copy)
    np.testing.assert_array_equal(first, second)
    assert first.dtype == np.float32
    assert (first != MissForestImputer(random_state=4).fit_transform(before)).any()


def test_a_fitted_imputer_transforms_alike_whatever_came_before(holed):
    _, observed = holed
    imputer = MissForestImputer(random_state=np.random.default_rng(0)).fit(observed)
    first = imputer.transform(observed[:100])
    imputer.transform(observed[100:])
    np.testing.assert_array_equal(imputer.transform(observed[:100]), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(imputer)).transform(observed[:100]), first)


@pytest.mark.parametrize("marker", [np.nan, float("nan"), -1, -9.9])
def test_anything_may_mark_what_is_missing(holed, marker):
    _, observed = holed
    marked = np.where(observed == 0, marker, observed).astype(np.float32)
    imputed = MissForestImputer(missing_values=marker, random_state=0).fit_transform(marked)
    np.testing.assert_array_equal(imputed, MissForestImputer(random_state=0).fit_transform(observed.astype(np.float32)))


@pytest.mark.parametrize("categorical", [[0], np.array([True, False, False]), ["kind"]])
def test_categories_are_imputed_by_categories(categorical):
    rng = np.random.default_rng(0)
    kind = rng.integers(1, 4, 500)
    X = pd.DataFrame({"kind": kind.astype(float), "a": kind**2 + 0.1 * rng.normal(size=500), "b": rng.normal(size=500)})
    observed = X.mask(rng.random(X.shape) < 0.2, 0)
    imputed = MissForestImputer(categorical_features=categorical, random_state=0).fit_transform(observed)
    lost = observed["kind"] == 0
    agree = imputed[lost, 0] == X["kind"][lost]
    assert set(np.unique(imputed[:, 0])) == {1.0, 2.0, 3.0}
    assert agree[observed["a"][lost] != 0].mean() > 0.95


def test_names_and_data_frames_come_through(holed):
    _, observed = holed
    frame = pd.DataFrame(observed, columns=["a", "b", "c"])
    imputer = MissForestImputer(random_state=0).set_output(transform="pandas").fit(frame)
    assert list(imputer.transform(frame).columns) == ["a", "b", "c"]
    assert list(imputer.get_feature_names_out()) == ["a", "b", "c"]


def test_it_is_a_step_of_a_pipeline(holed):
    clean, observed = holed
    y = clean @ [1.0, 2.0, 3.0]
    model = make_pipeline(MissForestImputer(compat="inductive", random_state=0), LinearRegression())
    assert model.fit(observed[:300], y[:300]).score(observed[300:], y[300:]) > 0.9


def test_verbose_prints_a_line_a_sweep(holed, capsys):
    _, observed = holed
    imputer = MissForestImputer(compat="inductive", random_state=0).fit(observed)
    assert capsys.readouterr().out == ""
    clone(imputer).set_params(verbose=1).fit(observed)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == imputer.n_iter_
    assert lines[0].startswith("[MissForestImputer] sweep 1 of at most 5: numeric change ")


def test_inductive_imputes_a_row_whatever_stands_beside_it(holed):
    _, observed = holed
    imputer = MissForestImputer(compat="inductive", random_state=0).fit(observed[:300])
    together = imputer.transform(observed[300:])
    alone = np.concatenate([imputer.transform(row[None]) for row in observed[300:]])
    np.testing.assert_array_equal(together, alone)


def test_inductive_gives_the_training_rows_what_fit_gave_them(holed, monkeypatch):
    _, observed = holed
    last = []
    monkeypatch.setattr(module, "learn_complete_columns", lambda values, *_, **__: last.append(values.copy()) or [])
    imputed = MissForestImputer(compat="inductive", random_state=0).fit_transform(observed)
    np.testing.assert_array_equal(imputed, last[0].T)


def test_inductive_imputes_columns_that_were_complete_in_training(holed):
    clean, _ = holed
    imputer = MissForestImputer(compat="inductive", random_state=0).fit(clean[:300])
    assert imputer.n_iter_ == 0
    rows = clean[300:].copy()
    rows[:, 1] = 0
    assert np.abs(imputer.transform(rows) - clean[300:])[:, 1].mean() < 0.3


def test_a_column_never_observed_is_named():
    X = pd.DataFrame({"seen": [1.0, 2.0], "unseen": [0.0, 0.0]})
    with pytest.raises(ValueError, match=r"Nothing is observed in column 'unseen': every entry is 0.*Drop"):
        MissForestImputer().fit(X)
    with pytest.raises(ValueError, match=r"column 1: every entry is 0"):
        MissForestImputer().fit(X.to_numpy())


def test_a_column_unobserved_in_new_rows_raises_or_takes_the_mean(holed):
    _, observed = holed
    rows = observed[:50].copy()
    rows[:, 2] = 0
    with pytest.raises(ValueError, match=r"in column 2 of the rows to transform.*all_missing='statistic'.*'inductive'"):
        MissForestImputer(random_state=0).fit(observed).transform(rows)
    imputer = MissForestImputer(random_state=0, all_missing="statistic").fit(observed)
    np.testing.assert_allclose(imputer.transform(rows)[:, 2], imputer.statistics_[2])
    np.testing.assert_allclose(imputer.transform(rows[:1])[:, 2], imputer.statistics_[2])


def test_nan_that_marks_nothing_is_refused(holed):
    _, observed = holed
    frame = pd.DataFrame(observed, columns=["a", "b", "c"])
    frame.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 'b', but missing_values=0 marks.*missing_values=np.nan"):
        MissForestImputer().fit(frame)


@pytest.mark.parametrize("categorical", [[3], [-1], ["a"], [True, False], [0.5]])
def test_categorical_features_that_are_not_there_are_refused(holed, categorical):
    with pytest.raises(ValueError, match=r"must be positions from 0 to 2.*X has no column names"):
        MissForestImputer(categorical_features=categorical).fit(holed[1])
    frame = pd.DataFrame(holed[1], columns=["x", "y", "z"])
    with pytest.raises(ValueError, match="X has the columns x, y, z"):
        MissForestImputer(categorical_features=["w"]).fit(frame)


@pytest.mark.parametrize("depth", [9, None])
def test_deep_trees_are_refused(holed, depth):
    with pytest.raises(ValueError, match=f"depth 1 to 8, got max_depth={depth}.*engine='missingpy'"):
        MissForestImputer(max_depth=depth).fit(holed[1])


def test_the_inductive_imputer_has_one_engine(holed):
    with pytest.raises(ValueError, match="compat='inductive' needs engine='fast'"):
        MissForestImputer(engine="missingpy", compat="inductive").fit(holed[1])


def test_labels_that_are_no_names_are_those_of_fit():
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (40, 3)).astype(float), columns=[220045, 8867, 51])
    imputer = MissForestImputer(n_estimators=2, max_iter=2, random_state=0).fit(X)
    imputer.transform(X)
    with pytest.raises(ValueError, match="MissForestImputer was fitted with, in the same order"):
        imputer.transform(X[[51, 220045, 8867]])


def test_what_is_no_number_is_named():
    X = pd.DataFrame({"age": [30.0, 0.0, 50.0], "triage": ["low", "med", "low"]})
    with pytest.raises(ValueError, match="X holds 'low', which is no number, in column 'triage'"):
        MissForestImputer().fit(X)
    with pytest.raises(ValueError, match="X contains infinite values in column 'triage'"):
        MissForestImputer().fit(X.assign(triage=[1.0, np.inf, 2.0]))


@pytest.mark.parametrize("unit", [1e-9, 1e39])
def test_an_inductive_imputer_does_not_depend_on_units(holed, unit):
    power = 2.0 ** np.round(np.log2(unit))
    imputer = MissForestImputer(compat="inductive", random_state=0)
    expected, found = (imputer.fit_transform(holed[1] * factor) / factor for factor in (1.0, power))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_units_that_trees_cannot_work_in_are_named(holed):
    frame = pd.DataFrame(holed[1], columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match=r"'b'.*within 1e-7"):
        MissForestImputer().fit(frame * [1, 1e-9, 1])
    imputer = MissForestImputer().fit(frame * [1, 1, 1e39])
    with pytest.raises(ValueError, match=r"too large for single precision.*'c'"):
        imputer.transform(frame * [1, 1, 1e39])


def test_no_column_may_be_categorical(holed):
    expected = MissForestImputer(random_state=0).fit_transform(holed[1])
    found = MissForestImputer(random_state=0, categorical_features=[]).fit_transform(holed[1])
    np.testing.assert_array_equal(found, expected)


def test_pandas_marker_is_nan(holed):
    frame = pd.DataFrame(np.where(holed[1] == 0, np.nan, holed[1])).astype("Float64")
    found = MissForestImputer(random_state=0, missing_values=pd.NA).fit_transform(frame)
    np.testing.assert_array_equal(found, MissForestImputer(random_state=0).fit_transform(holed[1]))


def test_forests_of_an_earlier_fit_are_forgotten():
    X = np.random.default_rng(0).integers(0, 4, (40, 3)).astype(float)
    imputer = MissForestImputer(compat="inductive", random_state=0).fit(X)
    assert imputer.n_iter_ >= 1
    imputer.set_params(compat="missingpy").fit(X)
    assert not hasattr(imputer, "sweeps_") and not hasattr(imputer, "n_iter_")
