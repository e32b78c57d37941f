"""One model per draw: predictions are averaged, whatever the number of draws or jobs; metadata finds its way."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, GroupKFold, KFold
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dams import FilteredEstimator, TwoWayEstimator, apply_missingness

KINDS = [FilteredEstimator, TwoWayEstimator]
kinds = pytest.mark.parametrize("kind", KINDS)
# In these tables the target loses one column less, and the filter, which is tested beside the other, can't follow.
pytestmark = pytest.mark.filterwarnings("ignore:The target records")


def law(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    X = np.column_stack([z > 0, z + rng.normal(size=n) + 5, z + rng.normal(size=n) + 3])
    return X, X @ [3.0, 1.0, 2.0] + rng.normal(size=n)


@pytest.fixture(scope="module")
def shifted():
    X, y = law(1600)
    source = apply_missingness(X[:800], [0.5, 0.1, 0.4], random_state=1)
    target = apply_missingness(X[800:], [0.1, 0.5, 0.2], random_state=2)
    return source, y[:800], target


@kinds
@pytest.mark.parametrize("seed", [3, np.random.SeedSequence(3)], ids=["int", "generator"])
def test_a_draw_does_not_depend_on_how_many_there_are(kind, seed, shifted):
    source, y, target = shifted

    def members(n_draws):
        state = seed if isinstance(seed, int) else np.random.default_rng(seed.entropy)
        model = kind(LinearRegression(), n_draws=n_draws, random_state=state).fit(source, y, X_target=target)
        return [member.coef_ for member in model.estimators_]

    one, four = members(1), members(4)
    np.testing.assert_array_equal(one[0], four[0])
    np.testing.assert_array_equal(members(2), four[:2])
    assert len({tuple(coef) for coef in four}) == 4


@kinds
def test_a_random_state_of_numpys_older_kind(kind, shifted):
    source, y, target = shifted
    first, second = (
        kind(Ridge(), random_state=np.random.RandomState(1)).fit(source, y, X_target=target).coef_ for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@kinds
def test_a_regressors_predictions_are_averaged(kind, shifted):
    source, y, target = shifted
    model = kind(DecisionTreeRegressor(random_state=0), n_draws=3, random_state=0).fit(source, y, X_target=target)
    np.testing.assert_allclose(model.predict(target), np.mean([m.predict(target) for m in model.estimators_], axis=0))
    both = kind(LinearRegression(), n_draws=3, random_state=0).fit(source, np.column_stack([y, -y]), X_target=target)
    np.testing.assert_allclose(both.predict(target)[:, 0], -both.predict(target)[:, 1])


@kinds
def test_a_classifiers_probabilities_are_averaged(kind, shifted):
    source, y, target = shifted
    labels = np.array(["low", "mid", "top"])[np.digitize(y, [15, 20])]
    model = kind(DecisionTreeClassifier(max_depth=3), n_draws=3, random_state=0, safeguard=False)
    model.fit(source, labels, X_target=target)
    mean = np.mean([m.predict_proba(target) for m in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(target), mean)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(target)), mean)
    np.testing.assert_array_equal(model.predict(target), np.array(["low", "mid", "top"])[mean.argmax(axis=1)])


@kinds
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_decisions_are_averaged_where_there_are_no_probabilities(kind, n_classes, shape, shifted):
    source, y, target = shifted
    labels = np.digitize(y, [15, 20][: n_classes - 1])
    model = kind(SVC(decision_function_shape=shape), n_draws=3, random_state=0, safeguard=False)
    model.fit(source, labels, X_target=target)
    mean = np.mean([m.decision_function(target) for m in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(target), mean)
    each = np.stack([m.predict(target) for m in model.estimators_])
    agreed = (each == each[0]).all(axis=0)
    assert 0.5 < agreed.mean() < 1
    np.testing.assert_array_equal(model.predict(target)[agreed], each[0, agreed])
    if n_classes == 2:
        np.testing.assert_array_equal(model.predict(target), (mean > 0).astype(int))
    assert not hasattr(model, "predict_proba")


class Nearest(ClassifierMixin, BaseEstimator):
    """A classifier that gives nothing but classes."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._tree = DecisionTreeClassifier(random_state=0).fit(X, y)
        return self

    def predict(self, X):
        return self._tree.predict(X)


@kinds
@pytest.mark.parametrize("base", [Nearest(), FixedThresholdClassifier(LogisticRegression(), threshold=0.9)])
def test_the_majority_decides_where_there_is_nothing_to_average(kind, base, shifted):
    source, y, target = shifted
    labels = np.array(["ill", "well"])[(y > 15).astype(int)]
    model = kind(base, n_draws=3, random_state=0, safeguard=False).fit(source, labels, X_target=target)
    votes = np.sum([m.predict(target) == "well" for m in model.estimators_], axis=0)
    assert set(votes) == {0, 1, 2, 3}
    np.testing.assert_array_equal(model.predict(target), np.where(votes >= 2, "well", "ill"))


@kinds
@pytest.mark.parametrize(
    "base",
    [
        RandomForestClassifier(5, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
        MultiOutputClassifier(LinearSVC()),
        ClassifierChain(LogisticRegression()),
    ],
    ids=lambda base: type(base).__name__,
)
def test_several_classes_at_once(kind, base, shifted):
    source, y, target = shifted
    labels = np.column_stack([y > 15, source[:, 1] > 5]).astype(int)
    model = kind(base, n_draws=3, random_state=0).fit(source, labels, X_target=target)
    predicted = model.predict(target)
    assert predicted.shape == (800, 2) and set(np.unique(predicted)) <= {0, 1}
    each = np.stack([m.predict(target) for m in model.estimators_])
    agreed = (each == each[0]).all(axis=0)
    np.testing.assert_array_equal(predicted[agreed], each[0][agreed])
    assert 0.5 < model.score(source, labels) <= 1


@kinds
def test_without_anything_to_draw_there_is_one_model(kind, shifted):
    source, y, _ = shifted
    for target in (None, source):
        assert len(kind(LinearRegression(), n_draws=3).fit(source, y, X_target=target).estimators_) == 1


@kinds
def test_linear_coefficients_are_those_of_the_averaged_predictor(kind, shifted):
    source, y, target = shifted
    model = kind(Ridge(), n_draws=3, random_state=0, safeguard=False).fit(source, y, X_target=target)
    np.testing.assert_allclose(target @ model.coef_ + model.intercept_, model.predict(target))
    forest = kind(RandomForestClassifier(5), n_draws=2, random_state=0, safeguard=False)
    forest.fit(source, y > 15, X_target=target)
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1)
    for name in ("coef_", "intercept_", "classes_", "feature_importances_"):
        assert not hasattr(kind(KNeighborsRegressor(), safeguard=False).fit(source, y, X_target=target), name)


def test_the_number_of_jobs_changes_nothing(shifted):
    source, y, target = shifted
    alone, shared = (
        TwoWayEstimator(DecisionTreeRegressor(random_state=0), n_jobs=n, random_state=0).fit(source, y, X_target=target)
        for n in (None, 2)
    )
    np.testing.assert_array_equal(alone.predict(target), shared.predict(target))


def test_verbose_tells_of_every_feature(shifted, capsys):
    source, y, target = shifted
    TwoWayEstimator(LinearRegression(), verbose=1, random_state=0).fit(source, y, X_target=target)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(", column")[0] for line in lines] == [f"[TwoWayFilter] feature {k} of 2" for k in (1, 2)]


class Spy(LinearRegression):
    """Remembers what `fit` was given."""

    def fit(self, X, y, sample_weight=None, extra=None):
        self.seen_ = sample_weight, extra
        return super().fit(X, y, sample_weight)


@kinds
def test_weights_and_other_parameters_reach_the_base(kind, shifted):
    source, y, target = shifted
    weights = np.linspace(0, 1, len(y))
    model = kind(Spy(), random_state=0).fit(source, y, X_target=target, sample_weight=weights, extra="more")
    assert model.estimators_[-1].seen_[1] == "more"
    np.testing.assert_array_equal(model.estimators_[-1].seen_[0], weights)
    plain = kind(LinearRegression(), random_state=0).fit(source, y, X_target=target)
    assert (model.coef_ != plain.coef_).any()
    piped = kind(make_pipeline(StandardScaler(), Ridge()), random_state=0)
    piped.fit(source, y, X_target=target, ridge__sample_weight=weights)
    with pytest.raises(ValueError, match=r"KNeighborsRegressor takes no sample_weight: leave it out, or choose"):
        kind(KNeighborsRegressor()).fit(source, y, X_target=target, sample_weight=weights)
    with pytest.raises(ValueError, match=r"Pipeline takes no sample_weight: leave it out, or choose"):
        kind(make_pipeline(KNeighborsRegressor())).fit(source, y, X_target=target, sample_weight=weights)


@kinds
@pytest.mark.parametrize("search", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(kind, search, shifted):
    source, y, target = shifted
    weights = np.linspace(0, 1, len(y))
    grids = [{"ridge__alpha": [0.1]}, {"alpha": [0.1]}]
    bases = [make_pipeline("passthrough", Ridge(0.1)), Ridge(0.1)]
    bases = [GridSearchCV(base, grid) if search else base for base, grid in zip(bases, grids, strict=True)]
    fits = [
        kind(base, random_state=0).fit(source, y, X_target=target, sample_weight=weights).predict(target)
        for base in bases
    ]
    np.testing.assert_array_equal(*fits)
    # With anchors the rows have weights of their own.
    site = np.random.default_rng(0).integers(1, 3, (2, len(y), 1))
    tables = [np.hstack([X, column]) for X, column in zip((source, target), site, strict=True)]
    fits = [
        kind(base, anchors=[3], random_state=0).fit(tables[0], y, X_target=tables[1]).predict(tables[1])
        for base in bases
    ]
    np.testing.assert_array_equal(*fits)


@kinds
def test_metadata_is_routed(kind, shifted):
    source, y, target = shifted
    weights = np.linspace(0, 1, len(y))
    expected = kind(Ridge(), random_state=0).fit(source, y, X_target=target, sample_weight=weights).coef_
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind(Ridge().set_fit_request(sample_weight=True), random_state=0)
        model.fit(source, y, X_target=target, sample_weight=weights)
        np.testing.assert_array_equal(model.coef_, expected)
        pipeline = make_pipeline("passthrough", clone(model).set_fit_request(X_target=True))
        pipeline.fit(source, y, X_target=target, sample_weight=weights)
        np.testing.assert_array_equal(pipeline[-1].coef_, expected)
        with pytest.raises(TypeError, match=r"unexpected argument.*sample_weight"):
            kind(Ridge().set_fit_request(sample_weight=False)).fit(source, y, X_target=target, sample_weight=weights)
        with pytest.raises(ValueError, match="sample_weight"):
            kind(Ridge()).fit(source, y, X_target=target, sample_weight=weights)
        search = kind(GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=GroupKFold(2)), random_state=0)
        search.fit(source, y, X_target=target, groups=np.arange(len(y)) // 2)


class Folds(KFold):
    """Says whether a row is on both sides of any split."""

    torn: list = []  # noqa: RUF012

    def split(self, X, y=None, groups=None):
        for train, test in super().split(X, y, groups):
            same = set(map(float, np.asarray(y)[train])) & set(map(float, np.asarray(y)[test]))
            Folds.torn.append(len(same))
            yield train, test


def test_no_row_is_on_both_sides_of_a_split_inside(shifted):
    source, y, target = shifted
    assert len(np.unique(y)) == len(y)  # labels tell rows apart
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=Folds(3, shuffle=True, random_state=0))
    TwoWayEstimator(search, n_draws=3, random_state=0).fit(source, y, X_target=target)
    assert Folds.torn == [0] * 9


def probability_law(n, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1)) + rng.normal(size=(n, 6))
    y = rng.random(n) < 1 / (1 + np.exp(-z.sum(axis=1) / 2))
    return z + 3, y.astype(int)


def slope(y, p):
    logits = np.log(np.clip(p, 1e-4, 1 - 1e-4) / (1 - np.clip(p, 1e-4, 1 - 1e-4)))[:, None]
    return LogisticRegression(C=1e6).fit(logits, y).coef_[0, 0]


SMALL = HistGradientBoostingClassifier(max_iter=40, random_state=0)


@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(early_stopping=True, random_state=0),
        # Candidates that are calibrated alike: trees of 4 leaves, which the oracle's search may choose, have slope 1.3.
        GridSearchCV(SMALL, {"max_leaf_nodes": [12, 16]}, cv=2, scoring="neg_log_loss"),
        CalibratedClassifierCV(SMALL, cv=2),
    ],
    ids=["early stopping", "search", "calibration"],
)
def test_what_splits_its_rows_inside_is_no_worse_than_with_one_draw_and_calibrated(base):
    """Copies of a row on both sides of a split gave a slope of .36 where the oracle's is 1."""
    rates = np.array([[0.6, 0.1] * 3, [0.1, 0.6] * 3])
    losses, slopes = [], []
    for seed in range(2):
        X, y = probability_law(9000, seed)
        source = apply_missingness(X[:2500], rates[0], random_state=seed)
        target = apply_missingness(X[2500:5000], rates[1], random_state=seed + 10)
        test, labels = apply_missingness(X[5000:], rates[1], random_state=seed + 20), y[5000:]
        models = [
            clone(base).fit(target, y[2500:5000]),
            *(TwoWayEstimator(base, n_draws=k, random_state=0).fit(source, y[:2500], X_target=target) for k in (1, 5)),
        ]
        probabilities = [model.predict_proba(test)[:, 1] for model in models]
        losses.append([np.mean((p - labels) ** 2) for p in probabilities])
        slopes.append([slope(labels, p) for p in probabilities])
    (_, one, five), (oracle, _, calibrated) = np.mean(losses, axis=0), np.mean(slopes, axis=0)
    assert TwoWayEstimator(base).n_draws == 5
    assert five <= one
    assert abs(calibrated - oracle) < 0.15


def test_early_stopping_inside_is_no_worse_than_with_one_draw():
    errors = []
    for seed in range(3):
        X, y = law(7000, seed)
        source = apply_missingness(X[:1500], [0.6, 0.1, 0.5], random_state=seed)
        target = apply_missingness(X[1500:3000], [0.1, 0.5, 0.2], random_state=seed + 10)
        test = apply_missingness(X[3000:], [0.1, 0.5, 0.2], random_state=seed + 20)
        base = HistGradientBoostingRegressor(early_stopping=True, random_state=0)
        errors.append(
            [
                np.mean((m.fit(source, y[:1500], X_target=target).predict(test) - y[3000:]) ** 2)
                for m in (TwoWayEstimator(base, n_draws=k, random_state=0) for k in (1, 3))
            ]
        )
    one, three = np.mean(errors, axis=0)
    assert three < one


def test_calibration_around_is_told_to_go_inside(shifted):
    source, y, _ = shifted
    with pytest.warns(UserWarning, match=r"Nothing is adapted.*CalibratedClassifierCV.*put it inside, as the base"):
        CalibratedClassifierCV(TwoWayEstimator(LogisticRegression()), cv=2).fit(source, y > 15)


@kinds
def test_frames_reach_the_base_as_frames(kind, shifted):
    source, y, target = shifted
    frames = [pd.DataFrame(A, columns=["a", "b", "c"]) for A in (source, target)]
    model = kind(LinearRegression(), n_draws=2, random_state=0).fit(frames[0], y, X_target=frames[1])
    assert [list(member.feature_names_in_) for member in model.estimators_] == [["a", "b", "c"]] * 2
    plain = kind(LinearRegression(), n_draws=2, random_state=0).fit(source, y, X_target=target)
    np.testing.assert_allclose(model.predict(frames[1]), plain.predict(target))
