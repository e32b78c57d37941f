"""Risks in the target without its labels: exact on small laws, honest intervals, the right choice between models."""

import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold

from dams import (
    ClosedFormRegressor,
    FilteredEstimator,
    apply_missingness,
    compare_target_risk,
    target_risk,
    target_risk_scorer,
)
from dams._risk_rows import signed_stand_ins
from dams.identification import corrupt_law, transport_law
from dams.least_squares import LinearFit
from dams.moments import Moments
from tests.risk_laws import CLEAN, LABELS, SOURCE, TARGET, Curved, exact_tables, lose_exactly, simulate


class Chances(Curved):
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.predict(X)))
        return np.column_stack([1 - p, p])


class Hidden:
    """A model that does not show that it is linear."""

    def __init__(self, model):
        self.predict = model.predict


class Line:
    """A linear model by its numbers."""

    def __init__(self, coef, intercept):
        self.coef_, self.intercept_ = np.array(coef), intercept

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


def absolute(y, predicted):
    return np.abs(y - predicted)


TRUTH = {
    "squared": lambda model, X, y: np.mean((y - model.predict(X)) ** 2),
    "brier": lambda model, X, y: np.mean((y - model.predict_proba(X)[:, 1]) ** 2),
    "log": lambda model, X, y: -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y])),
    absolute: lambda model, X, y: np.mean(np.abs(y - model.predict(X))),
}


@pytest.mark.filterwarnings("ignore:The signed estimate is too noisy:UserWarning")
class TestSmallLaws:
    @pytest.mark.parametrize("loss", TRUTH)
    @pytest.mark.parametrize("unit", [(0, 1, 2), (0, 1, 1)])
    def test_every_loss_is_exact_with_either_sign_of_r(self, loss, unit):
        if unit == (0, 1, 1):
            source = lose_exactly(CLEAN, LABELS, SOURCE[:2], np.array(unit))
            target = lose_exactly(CLEAN, LABELS, TARGET[:2], np.array(unit))
            known = {"column_groups": [[1, 2]]}
        else:
            (*source, a, b), known = exact_tables(), {}
            target = a, b
        found = target_risk(Chances(), *source, target[0], loss=loss, method="signed", n_draws=8, **known)
        truth = TRUTH[loss](Chances(), *target)
        assert found.estimate == pytest.approx(truth, rel=1e-10)
        assert found.source_risk == pytest.approx(TRUTH[loss](Chances(), *source), rel=1e-10)
        assert abs(found.source_risk - truth) > 0.01 * truth

    def test_it_is_the_mean_over_the_transported_law(self):
        rng = np.random.default_rng(0)
        law = corrupt_law(rng.integers(1, 5, (3, 2, 2)), SOURCE[:2]) * 16
        moved = transport_law(law, [0.5, -2.0])
        states = np.array(list(np.ndindex(law.shape)), dtype=float)
        source = np.repeat(states, np.rint(law.ravel()).astype(int), axis=0)
        target = np.repeat(states, np.rint(moved.ravel()).astype(int), axis=0)
        assert len(target) == round(moved.sum())

        class Product:
            def predict(self, X):
                return X[:, 0] * (1 + X[:, 1])

        found = target_risk(Product(), source[:, :2], source[:, 2], target[:, :2], method="signed")
        losses = (states[:, 2] - Product().predict(states)) ** 2
        assert found.estimate == pytest.approx(moved.ravel() @ losses / moved.sum(), rel=1e-10)

    def test_linear_models_are_exact_by_moments_and_by_rows(self):
        X, y, target, _ = exact_tables(y=np.arange(6.0))
        model = LinearRegression().fit(X[::3], y[::3])
        by_moments = target_risk(model, X, y, target, method="signed")
        by_rows = target_risk(Hidden(model), X, y, target, method="signed")
        fit = LinearFit(model.coef_[:, None], np.array([model.intercept_]), ())
        expected = fit.mse(Moments.of(X, y[:, None]).moved(np.array([0.5, -2.0, 0.0])))
        assert by_moments.estimate == pytest.approx(expected[0], rel=1e-10)
        assert by_rows.estimate == pytest.approx(by_moments.estimate, rel=1e-10)
        # The gradient is taken from some of the stand-ins.
        assert by_rows.standard_error == pytest.approx(by_moments.standard_error, rel=0.02)
        assert "exact for linear models" in by_moments.reason

    def test_what_is_drawn_is_right_on_average(self):
        X, y, target, labels = exact_tables()
        found = [
            target_risk(Curved(), X, y, target, method="signed", n_draws=1, random_state=seed).estimate
            for seed in range(60)
        ]
        truth = TRUTH["squared"](Curved(), target, labels)
        assert np.std(found) > 1e-3 * truth
        assert abs(np.mean(found) - truth) < 4 * np.std(found) / np.sqrt(60)

    @pytest.mark.parametrize("n_draws", [4, 16, 64])
    def test_rows_with_many_values_are_drawn_in_part(self, n_draws):
        """Without bias, with less noise the more is expanded, and exactly at last."""
        X, unit = np.arange(1.0, 8).repeat(2000).reshape(7, -1).T, np.array([0, 1, 2, 3, 4, 5, 5])
        r = np.array([0.4, -0.8, 0.1, -0.3, -0.05, 0.7])

        def curved(X):
            return np.sqrt(1 + X[:, 0] * X[:, 1] + X[:, 2] * X[:, 6]) + X[:, 3] * X[:, 4]

        exact = 0.0
        for mask in product((0, 1), repeat=6):
            weight = np.prod(np.where(mask, 1 - r, r))
            exact += weight * curved(X[:1] * np.array(mask)[unit])[0]
        found, total = np.zeros(2000), np.zeros(2000)
        for some in signed_stand_ins(X, r, unit, n_draws, np.random.default_rng(0)):
            found += np.bincount(some.row, some.weight * curved(some.X), 2000)
            total += np.bincount(some.row, some.weight, 2000)
        np.testing.assert_allclose(total, 1)
        error = found.std() / np.sqrt(2000)
        assert (error < 1e-12) == (n_draws == 64)
        assert abs(found.mean() - exact) < 4 * error + 1e-9

    def test_columns_that_are_always_recorded_stay(self):
        X, y, target, _ = exact_tables()
        found = target_risk(Curved(), X, y, target, always_recorded=[0, 1, 2], method="signed")
        b = (Curved().predict(X) - y.mean()) ** 2, (Curved().predict(target) - y.mean()) ** 2
        # Populations then differ, as far as it knows, and only b sees it.
        assert min(0, b[1].mean() - b[0].mean()) <= found.estimate - found.source_risk <= max(0, np.ptp(b[1]))


@pytest.mark.filterwarnings("ignore:The signed estimate is too noisy:UserWarning")
class TestErrors:
    @pytest.mark.parametrize("model", [LinearRegression(), Curved()])
    def test_standard_errors_are_the_spread_over_samples(self, model):
        found = []
        for seed in range(150):
            _, held_out, (target, _), _ = simulate(400, [1, seed])
            fitted = model.fit(*simulate(400, 0)[0]) if hasattr(model, "fit") else model
            found.append(target_risk(fitted, *held_out, target, method="signed", random_state=seed))
        spread = np.std([one.estimate for one in found])
        assert spread == pytest.approx(np.mean([one.standard_error for one in found]), rel=0.2)
        if isinstance(model, Curved):
            return
        # r̂ is a good part of it.
        _, (rows, labels), _, _ = simulate(400, 0)
        assert spread > 1.2 * np.std((labels - fitted.predict(rows)) ** 2) / 20

    def test_influence_is_what_leaving_rows_out_does(self):
        """The jackknife knows nothing of r̂ but what it does: here the target has few rows, and r̂ little to go by."""
        X, y = simulate(250, 13)[0]
        target = simulate(120, 14)[2][0]
        model = Line([1.5, 0.5, -1.0], 0.5)

        def estimate(rows, rows_target):
            tables = X[rows], y[rows], target[rows_target]
            return target_risk(model, *tables, method="signed").estimate

        every, every_target = np.arange(250), np.arange(120)
        left_out = [estimate(np.delete(every, row), every_target) for row in every]
        left_out_target = [estimate(every, np.delete(every_target, row)) for row in every_target]
        variance = sum((len(left) - 1) * np.var(left) for left in (left_out, left_out_target))
        found = target_risk(model, X, y, target, method="signed")
        assert found.standard_error == pytest.approx(np.sqrt(variance), rel=0.05)

    def test_rows_that_belong_together_count_once(self):
        (X, y), _, (target, _), _ = simulate(300, 2)
        model = LinearRegression().fit(X, y)
        once = target_risk(model, X, y, target)
        ids = {"groups": np.repeat(np.arange(300), 2), "groups_target": np.repeat(np.arange(300), 2)}
        twice = [np.repeat(values, 2, axis=0) for values in (X, y, target)]
        told, untold = target_risk(model, *twice, **ids), target_risk(model, *twice)
        assert told.estimate == pytest.approx(once.estimate)
        assert told.standard_error == pytest.approx(once.standard_error, rel=1e-6)
        assert untold.standard_error == pytest.approx(once.standard_error / np.sqrt(2), rel=0.01)

    def test_a_skewed_loss_has_a_skewed_interval(self):
        _, held_out, (target, _), _ = simulate(500, 3)
        found = target_risk(Curved(), *held_out, target, method="signed", random_state=0)
        low, high = found.interval
        assert high - found.estimate > 1.05 * (found.estimate - low)


class TestMethods:
    def many(self, n=600, d=16):
        rng = np.random.default_rng(5)
        clean = (rng.random((2 * n, d)) < 0.85).astype(float)
        y = clean.sum(axis=1)
        source, target = clean[:n] * (rng.random((n, d)) < 0.4), clean[n:] * (rng.random((n, d)) < 0.9)
        return source, y[:n], target, y[n:]

    def test_a_hopeless_variance_is_told_and_the_hold_out_filled(self):
        X, y, target, labels = self.many()

        class Steps:
            def predict(self, X):
                return 13 + (X.sum(axis=1) > 6) + (X[:, 0] * X[:, 1] * X[:, 2])

        with pytest.warns(UserWarning, match=r"too noisy: .* filled and filtered instead"):
            auto = target_risk(Steps(), X, y, target, random_state=0)
        assert auto.method == "filled" and auto.too_noisy
        truth = np.mean((labels - Steps().predict(target)) ** 2)
        assert abs(auto.estimate - truth) < 0.2 * truth
        with pytest.warns(UserWarning, match="method='filled'"):
            signed = target_risk(Steps(), X, y, target, method="signed", random_state=0)
        assert signed.method == "signed" and signed.too_noisy
        assert signed.standard_error > 3 * auto.standard_error
        filled = target_risk(Steps(), X, y, target, method="filled", random_state=0)
        assert not filled.too_noisy and filled.estimate == pytest.approx(auto.estimate, rel=0.05)

    def test_the_same_seed_gives_the_same_numbers(self):
        _, held_out, (target, _), _ = simulate(300, 4)
        for method in ("signed", "filled"):
            options = {"method": method, "n_draws": 2}
            one, other, third = (
                target_risk(Curved(), *held_out, target, random_state=seed, **options).estimate for seed in (1, 1, 2)
            )
            assert one == other != third

    def test_tables_of_any_kind(self):
        (X, y), held_out, (target, _), _ = simulate(300, 4)
        model = LinearRegression().fit(X, y)
        plain = target_risk(Hidden(model), *held_out, target, random_state=0)
        rows = sparse.csr_array(held_out[0]), held_out[1], sparse.csc_array(target)
        assert target_risk(Hidden(model), *rows, random_state=0).estimate == plain.estimate
        frames = [pd.DataFrame(values, columns=["a", "b", "c"]) for values in (X, held_out[0], target)]
        named = LinearRegression().fit(frames[0], y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = target_risk(Hidden(named), frames[1], held_out[1], frames[2][["c", "a", "b"]], random_state=0)
        assert found.estimate == pytest.approx(plain.estimate)


class Memory(RegressorMixin, BaseEstimator):
    """Knows the labels of the rows that it was fitted on, by their number in the first column."""

    def fit(self, X, y):
        self.known_ = dict(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.known_.get(number, 1e3) for number in X[:, 0]])


class TestCrossFitting:
    def tables(self):
        (X, y), _, (target, _), _ = simulate(200, 6)
        number = np.arange(1.0, 201)
        return np.column_stack([number, X]), y, np.column_stack([number + 1000, target])

    def test_no_row_is_judged_by_a_model_that_saw_it(self):
        X, y, target = self.tables()
        options = {"always_recorded": [0], "loss": absolute, "method": "signed"}
        found = target_risk(Memory(), X, y, target, cv=4, random_state=0, **options)
        assert found.source_risk == pytest.approx(np.abs(y - 1e3).mean())
        assert target_risk(Memory().fit(X, y), X, y, target, **options).source_risk == 0

    def test_groups_stay_together_and_the_target_reaches_fit(self):
        X, y, target = self.tables()
        ids = np.repeat(np.arange(100), 2)
        X[:, 0] = ids + 1
        options = {"always_recorded": [0], "loss": absolute, "method": "signed", "groups": ids}
        found = target_risk(Memory(), X, y, target, cv=KFold(5), **options)
        assert found.source_risk == pytest.approx(np.abs(y - 1e3).mean())
        found = target_risk(Memory(), X, y, target, cv=5, random_state=0, **options)
        assert found.source_risk == pytest.approx(np.abs(y - 1e3).mean())
        model = ClosedFormRegressor()
        with warnings.catch_warnings():
            # "Nothing is adapted", if the target did not reach fit.
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "The signed estimate is too noisy")
            target_risk(model, X[:, 1:], y, target[:, 1:], cv=3, groups=ids, random_state=0)

    def test_cross_fitted_and_held_out_agree(self):
        (X, y), held_out, (target, _), truth = simulate(3000, 7)
        model = LinearRegression().fit(X, y)
        true = np.mean((truth[1] - model.predict(truth[0])) ** 2)
        for found in (
            target_risk(model, *held_out, target),
            target_risk(LinearRegression(), *held_out, target, cv=5, random_state=0),
        ):
            assert abs(found.estimate - true) < 3 * found.standard_error


class TestChoice:
    def test_the_source_is_wrong_about_the_order_and_the_comparison_right(self):
        (X, y), held_out, (target, _), truth = simulate(4000, 8)
        models = {
            "source": LinearRegression().fit(X, y),
            "filtered": FilteredEstimator(LinearRegression(), random_state=0),
            "closed form": ClosedFormRegressor(),
        }
        with pytest.warns(UserWarning, match="deleting source values cannot reproduce"):
            models["filtered"].fit(X, y, X_target=target)
        models["closed form"].fit(X, y, X_target=target)
        found = compare_target_risk(models, *held_out, target, random_state=0)
        true = {name: np.mean((truth[1] - model.predict(truth[0])) ** 2) for name, model in models.items()}
        table = found.table
        assert found.best == min(true, key=true.get) == "closed form" == found.choice
        assert table["source_risk"].idxmin() == "source"
        for name in ("filtered", "closed form"):
            low, high = table.loc[name, ["difference_lower", "difference_upper"]]
            assert low < true[name] - true["source"] < high
        # What is random is shared.
        alone = np.hypot(*table.loc[["source", "closed form"], "standard_error"])
        assert table.loc["closed form", "difference_standard_error"] < 0.6 * alone
        assert "Take 'closed form'" in str(found) and "less than 'source'" in str(found)
        assert "closed form" in found._repr_html_() and "<table" in found._repr_html_()
        assert found.differences.loc["source", "closed form"] == -table.loc["closed form", "difference"]
        alone = target_risk(models["source"], *held_out, target)
        assert alone.estimate == table.loc["source", "estimate"] and "squared loss" in str(alone)
        assert "<table" in alone._repr_html_()

    def test_without_a_clear_winner_the_reference_stays(self):
        (X, y), held_out, (target, _), _ = simulate(300, 9)
        model = LinearRegression().fit(X, y)
        twins = compare_target_risk({"a": model, "b": model}, *held_out, target)
        assert twins.table.loc["b", ["difference", "difference_standard_error"]].tolist() == [0, 0]
        assert twins.choice == "a" and "Keep 'a'" in str(twins)
        nearly = LinearRegression().fit(X[:290], y[:290])
        found = compare_target_risk({"a": model, "b": nearly, "none": Curved()}, *held_out, target, reference="b")
        assert found.choice == "b" and found.rivals

    def test_classifiers_by_brier_score_and_log_loss(self):
        (X, y), held_out, (target, _), truth = simulate(3000, 10)
        model = LogisticRegression().fit(X, y > 2)
        for loss, value in (("brier", TRUTH["brier"]), ("log", TRUTH["log"])):
            found = target_risk(model, held_out[0], held_out[1] > 2, target, loss=loss, random_state=0)
            assert abs(found.estimate - value(model, truth[0], (truth[1] > 2).astype(int))) < 3 * found.standard_error
        assert target_risk(model, held_out[0], held_out[1] > 2, target, random_state=0).loss == "brier"


class OneColumn(RegressorMixin, BaseEstimator):
    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X[:, [self.column]], y)
        return self

    def predict(self, X):
        return self.model_.predict(X[:, [self.column]])


def test_the_scorer_chooses_for_the_target():
    rng = np.random.default_rng(11)
    y = rng.normal(size=4000) + 2
    clean = y[:, None] + 0.3 * rng.normal(size=(4000, 2))
    source = apply_missingness(clean[:2000], [0.0, 0.6], random_state=1)
    target = apply_missingness(clean[2000:], [0.6, 0.0], random_state=2)
    chosen = [
        GridSearchCV(OneColumn(), {"column": [0, 1]}, scoring=scoring).fit(source, y[:2000]).best_params_["column"]
        for scoring in ("neg_mean_squared_error", target_risk_scorer(target, random_state=0))
    ]
    assert chosen == [0, 1]
    with pytest.raises(ValueError, match="takes no 'cv'"):
        target_risk_scorer(target, cv=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "squard"}, "did you mean 'squared'"),
        ({"loss": "log"}, "needs probabilities"),
        ({"loss": lambda y, p: 1.0}, "one number per row"),
        ({"method": "sign"}, "'auto', 'signed' or 'filled'"),
        ({"confidence": 1}, "confidence"),
        ({"n_draws": 0}, "n_draws"),
        ({"cv": "five"}, "cv must be"),
        ({"y_source": np.zeros((5, 2))}, "one label per row, 300"),
        ({"y_source": np.full(300, np.nan)}, "no label in 300 rows"),
        ({"model": LinearRegression()}, "is not fitted: .* cv=5"),
    ],
)
def test_mistakes_are_named(change, message):
    _, held_out, (target, _), _ = simulate(300, 12)
    given = {"model": Curved(), "X_source": held_out[0], "y_source": held_out[1], "X_target": target} | change
    with pytest.raises(ValueError, match=message):
        target_risk(**given)


def test_a_comparison_needs_its_reference():
    _, held_out, (target, _), _ = simulate(300, 12)
    with pytest.raises(ValueError, match=r"one of \['a'\], got 'b'"):
        compare_target_risk({"a": Curved()}, *held_out, target, reference="b")
    with pytest.raises(ValueError, match="models is empty"):
        compare_target_risk({}, *held_out, target)


def test_the_committed_measurements_hold_the_bars():
    table = pd.read_csv(Path(__file__).parents[1] / "benchmarks" / "results" / "target_risk.csv")
    assert set(table["family"]) == {"linear", "boosted", "logistic"}

    def mean(column, weight, some=table):
        return np.average(some[column].fillna(0), weights=some[weight])

    narrow = table.assign(narrow_cells=table["narrow"] * table["cells"])
    assert narrow["narrow_cells"].sum() > 300
    assert mean("within_2se", "narrow_cells", narrow) >= 0.9
    assert 0.92 <= mean("covered", "cells") <= 0.98
    large = table[table["n"] == 16_000]
    assert mean("right", "draws", large) >= 0.9 > mean("right_source", "draws", large)


@pytest.mark.parametrize("seed", range(3))
def test_where_columns_are_lost_together_the_targets_rows_decide(seed):
    """Under panels the signed kernel is wrong; of a linear model only Cov(Y, f) is then taken from it."""
    rng = np.random.default_rng(seed)
    n = 8000
    X = (rng.normal(size=(3 * n, 1)) + rng.normal(size=(3 * n, 6)) > 0).astype(float)
    y = X @ [3.0, 2.0, 1.0, 2.0, 3.0, 1.0] + 2 * rng.normal(size=3 * n)
    source, target = X[: 2 * n].copy(), X[2 * n :]
    source[:, :4] *= rng.random((2 * n, 1)) < 0.4  # one mask for four columns
    model = LinearRegression().fit(source[:n], y[:n])
    risk = target_risk(model, source[n:], y[n : 2 * n], target, random_state=0)
    truth = np.mean((y[2 * n :] - model.predict(target)) ** 2)
    assert risk.interval[0] < truth < risk.interval[1]


def recorded_labels(n, seed, follows_what_is_recorded):
    """Two columns that nearly repeat; labels follow the true values, or only what was recorded of them."""
    rng = np.random.default_rng(seed)
    tables = []
    for rates in ([0.1, 0.6], [0.6, 0.1]):
        X = 2 + rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 2))
        lossy = X * (rng.random((n, 2)) >= rates)
        tables.append((lossy, (lossy if follows_what_is_recorded else X).sum(axis=1) + rng.normal(size=n)))
    return tables


def test_a_loss_below_zero_contradicts_the_assumptions():
    models = {"source": LinearRegression(), "closed form": ClosedFormRegressor()}
    (X, y), (target, _) = recorded_labels(4_000, 3, follows_what_is_recorded=True)
    with pytest.warns(UserWarning, match="'closed form' lies below zero, which none can"):
        found = compare_target_risk(models, X, y, target, cv=3, random_state=0)
    assert found.contradicted
    assert found.best == "closed form"
    assert found.choice == "source"
    assert str(found).startswith("Keep 'source'.")
    assert (found.table["upper"] >= found.table["lower"]).all()


def test_true_labels_contradict_nothing():
    models = {"source": LinearRegression(), "closed form": ClosedFormRegressor()}
    (X, y), (target, _) = recorded_labels(4_000, 3, follows_what_is_recorded=False)
    found = compare_target_risk(models, X, y, target, cv=3, random_state=0)
    assert not found.contradicted
    assert found.choice == "closed form"
