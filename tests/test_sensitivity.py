"""Bounds for loss that depends on the outcome: they hold, are attained, and say when adapting stops paying."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from dams import ClosedFormRegressor, check_sensitivity, target_risk
from dams.identification import corrupt_law

GAMMA = 1.3
# What each place keeps of three 0/1 columns, loss at random.
KEPT = np.array([0.4, 0.8, 0.6]), np.array([0.7, 0.4, 0.5])


def clean_law():
    """P(x, y): three related flags and an event."""
    rng = np.random.default_rng(3)
    law = np.zeros((2, 2, 2, 2))
    for state in np.ndindex(2, 2, 2):
        share = 0.1 + 0.25 * sum(state) - 0.1 * state[0] * state[2]
        mass = rng.uniform(0.5, 1) * (2.0 if len(set(state)) == 1 else 1.0)
        law[state] = mass * (1 - share), mass * share
    return law / law.sum()


def lost_by_outcome(law, kept_if_zero, kept_if_one):
    """The law of what is recorded where each label has rates of its own."""
    parts = [corrupt_law(law[..., [y]], 1 - kept) for y, kept in enumerate((kept_if_zero, kept_if_one))]
    return np.concatenate(parts, axis=-1)


def rows_of(law, n=40_000):
    """A table whose shares are the law's, as far as so many rows allow."""
    states = np.array(list(np.ndindex(law.shape)), dtype=float)
    rows = np.repeat(states, np.rint(law.ravel() * n).astype(int), axis=0)
    return rows[:, :-1], rows[:, -1]


class Line:
    def __init__(self, coef, intercept):
        self.coef_, self.intercept_ = np.array(coef, dtype=float), intercept

    def predict(self, X):
        return X @ self.coef_ + self.intercept_

    def risk(self, law):
        states = np.array(list(np.ndindex(law.shape)), dtype=float)
        return law.ravel() @ (states[:, -1] - self.predict(states[:, :-1])) ** 2


SOURCE_LAW = lost_by_outcome(clean_law(), KEPT[0], KEPT[0])
SOURCE = rows_of(SOURCE_LAW)


def least_squares(law):
    X, y = rows_of(law)
    model = LinearRegression().fit(X, y)
    return Line(model.coef_, model.intercept_)


def share_of_ones(j):
    shown = np.moveaxis(SOURCE_LAW, j, 0)[1]
    return shown[..., 1].sum() / shown.sum()


def target_law(lambdas):
    """A target with these λ and the relative missingness of loss at random: the constructive proof, by hand."""
    p = np.array([share_of_ones(j) for j in range(3)])
    return lost_by_outcome(clean_law(), KEPT[1] * (1 - p * lambdas) / (1 - p), KEPT[1] * lambdas)


MODELS = {
    "source": least_squares(SOURCE_LAW),
    "adapted": least_squares(target_law(np.ones(3))),
    "odd": Line([0.5, -0.4, 0.3], 0.2),
}


def check(law, **options):
    return check_sensitivity(MODELS, *SOURCE, rows_of(law)[0], **options)


def bounds(found, name, gamma=GAMMA):
    return found.table.set_index(["model", "gamma"]).loc[(name, gamma), ["lower", "upper"]]


@pytest.mark.parametrize("seed", range(6))
def test_the_truth_lies_within_at_the_true_gamma(seed):
    lambdas = GAMMA ** np.random.default_rng(seed).uniform(-1, 1, 3)
    law = target_law(lambdas)
    found = check(law, gammas=[1.0, GAMMA])
    for name, model in MODELS.items():
        low, high = bounds(found, name)
        assert low - 3e-4 <= model.risk(law) <= high + 3e-4
    # So do the best linear predictor and what it predicts.
    best = least_squares(law)
    coef = found.coef_bounds(GAMMA)
    assert ((coef["lower"] - 1e-3 <= best.coef_) & (best.coef_ <= coef["upper"] + 1e-3)).all()
    X = rows_of(law)[0][::4_000]
    low, high = found.predict_bounds(X, GAMMA)
    assert ((low - 1e-3 <= best.predict(X)) & (best.predict(X) <= high + 1e-3)).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_bound_is_attained_by_the_loss_that_it_names(name):
    at_random = check(target_law(np.ones(3)), gammas=[GAMMA])
    worst = at_random.worst_case(name, GAMMA)
    assert set(np.round(worst["lambda"], 6)) <= {round(GAMMA, 6), round(1 / GAMMA, 6)}
    kept = [KEPT[0] * worst[column] for column in ("kept_if_zero", "kept_if_one")]
    assert all(((kept_there >= 0) & (kept_there <= 1)).all() for kept_there in kept)
    law = lost_by_outcome(clean_law(), *(kept_there.to_numpy() for kept_there in kept))
    found = check(law, gammas=[GAMMA])
    truth, upper = MODELS[name].risk(law), bounds(found, name)["upper"]
    assert upper == pytest.approx(truth, rel=2e-3)
    # And it is no trivial one.
    assert truth > 1.05 * bounds(check(law, gammas=[1.0]), name, 1.0)["upper"]


def test_loss_at_random_is_the_target_risk():
    law = target_law(np.ones(3))
    found = check(law, gammas=[1.0])
    for name, model in MODELS.items():
        low, high = bounds(found, name, 1.0)
        assert low == high == pytest.approx(model.risk(law), abs=3e-4)
        assert low == pytest.approx(target_risk(model, *SOURCE, rows_of(law)[0], loss="squared").estimate, rel=1e-3)


def test_adapting_stops_paying_where_it_says():
    found = check(target_law(np.ones(3)))
    stops = found.stops["adapted"]
    assert 1.05 < stops < 3 and 1 < found.surely["adapted"] < stops
    assert found.stops["odd"] == 1
    for factor, better in ((0.97, True), (1.03, False)):
        gamma = stops * factor
        line = found._lines["adapted"].minus(found._lines["source"])
        law = target_law(found._corner(line, gamma, largest=True))
        assert (MODELS["adapted"].risk(law) < MODELS["source"].risk(law)) == better
    assert f"unless rows with label 1 have their values kept more than {stops:.2f} times" in str(found)
    assert "'odd' does not beat 'source'" in str(found)
    assert "<table" in found._repr_html_()


def test_limits_hold_with_sampling_error():
    lambdas = np.array([GAMMA, 1 / GAMMA, GAMMA])
    laws = SOURCE_LAW, target_law(lambdas)
    states = [rows_of(law) for law in laws]
    model, held = MODELS["odd"], []
    truth = model.risk(laws[1])
    for seed in range(150):
        rng = np.random.default_rng(seed)
        chosen = [rng.integers(0, len(y), 500) for _, y in states]
        tables = (*(part[chosen[0]] for part in states[0]), states[1][0][chosen[1]])
        found = check_sensitivity({"odd": model}, *tables, gammas=[GAMMA]).table.iloc[0]
        held.append(found["lower_limit"] <= truth <= found["upper_limit"])
    assert np.mean(held) >= 0.93


def test_influence_is_what_leaving_rows_out_does():
    rng = np.random.default_rng(1)
    law = target_law(np.array([GAMMA, 1 / GAMMA, GAMMA]))
    (X, y), target = SOURCE, rows_of(law)[0]
    rows, rows_target = rng.integers(0, len(y), 300), rng.integers(0, len(target), 80)

    def upper(rows, rows_target):
        tables = X[rows], y[rows], target[rows_target]
        return check_sensitivity({"odd": MODELS["odd"]}, *tables, gammas=[GAMMA]).table.iloc[0]

    left_out = [upper(np.delete(rows, row), rows_target)["upper"] for row in range(300)]
    left_out_target = [upper(rows, np.delete(rows_target, row))["upper"] for row in range(80)]
    variance = sum((len(left) - 1) * np.var(left) for left in (left_out, left_out_target))
    found = upper(rows, rows_target)
    # Limits lean to one side, by the skewness.
    assert (found["upper_limit"] - found["upper"]) / 1.96 == pytest.approx(np.sqrt(variance), rel=0.1)


def test_columns_that_are_known():
    law = target_law(np.ones(3))
    free, known = check(law, gammas=[GAMMA]), check(law, gammas=[GAMMA], always_recorded=[1])
    together = check(law, gammas=[GAMMA], column_groups=[[0, 2]])
    assert known.worst_case("odd", GAMMA)["lambda"].iloc[1] == 1
    assert np.ptp(bounds(known, "odd")) < np.ptp(bounds(free, "odd"))
    lambdas = together.worst_case("odd", GAMMA)["lambda"]
    assert lambdas.iloc[0] == lambdas.iloc[2]
    # An event cannot be recorded more often than all there is.
    assert (free.worst_case("odd", 50.0)["kept_if_zero"] >= -1e-3).all()


def simulated(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2 * n, 1)) + 1
    X = pd.DataFrame(z + 0.5 * rng.normal(size=(2 * n, 2)), columns=["a", "b"])
    y = 10 + 2 * z[:, 0] + rng.normal(size=2 * n)
    return X[:n] * (rng.random((n, 2)) < [0.9, 0.4]), y[:n], X[n:] * (rng.random((n, 2)) < [0.4, 0.9])


def test_other_outcomes_are_measured_from_their_mean():
    X, y, target = simulated()
    models = {
        "source": LinearRegression().fit(X[:1500], y[:1500]),
        "closed form": ClosedFormRegressor().fit(X[:1500], y[:1500], X_target=target),
    }
    found = check_sensitivity(models, X[1500:], y[1500:], target[["b", "a"]])
    shifted = {"source": LinearRegression().fit(X[:1500], y[:1500] + 7)}
    shifted["closed form"] = ClosedFormRegressor().fit(X[:1500], y[:1500] + 7, X_target=target)
    other = check_sensitivity(shifted, X[1500:], y[1500:] + 7, target)
    pd.testing.assert_frame_equal(found.table, other.table, rtol=1e-6)
    assert found.stops["closed form"] > 1 and "products of covariates" in str(found)
    assert list(found.worst_case("source", 2).columns) == ["lambda"]
    assert list(found.coef_bounds(1.0).index) == ["a", "b"]


def test_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    axes = check(target_law(np.ones(3))).plot()
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["adapted, at worst", "odd, at worst"]
    assert "risk minus that of source" in axes.get_ylabel()
    assert len(axes.texts) == 1  # only "adapted" crosses zero
    _, own = plt.subplots()
    assert check(target_law(np.ones(3))).plot(axes=own) is own
    plt.close("all")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": {"tree": DecisionTreeRegressor().fit(SOURCE[0][:50], SOURCE[1][:50])}}, "tree .* is not linear"),
        ({"reference": "b"}, "one of .*'source'.* got 'b'"),
        ({"gammas": [0.5]}, "gamma must be at least 1"),
        ({"models": {}}, "models is empty"),
        ({"confidence": 95}, "confidence must lie between 0 and 1, got 95"),
        ({"baseline": "mean"}, "a number or 'auto'"),
        ({"anchors": [0]}, r"anchors names column 0, but check_sensitivity .* target_risk\(..., anchors=...\)"),
        ({"y_source": np.where(SOURCE[1] > 0, "yes", "no")}, "y_source must hold numbers"),
    ],
)
def test_mistakes_are_named(change, message):
    given = {"models": MODELS, "X_source": SOURCE[0], "y_source": SOURCE[1], "X_target": SOURCE[0]} | change
    with pytest.raises(ValueError, match=message):
        check_sensitivity(**given)


def test_gammas_that_can_be_read_once_serve_every_model():
    found = check(target_law(np.ones(3)), gammas=iter([1.0, 2.0]))
    assert found.to_frame().groupby("model")["gamma"].apply(list).to_dict() == {name: [1.0, 2.0] for name in MODELS}


def test_a_single_model_has_bounds_and_no_rival():
    found = check_sensitivity({"source": MODELS["source"]}, *SOURCE, SOURCE[0])
    assert "compared with no other" in str(found)
    assert (found.table["upper"] >= found.table["lower"]).all()


def test_models_fitted_with_anchors_are_named():
    X, y, target = simulated()
    models = {"source": LinearRegression().fit(X, y)}
    models["anchored"] = ClosedFormRegressor(anchors=["a"]).fit(X, y, X_target=target)
    with pytest.warns(UserWarning, match="'anchored': fitted with anchors, and bounded here with one r for all rows"):
        check_sensitivity(models, X, y, target)
    check_sensitivity({"source": models["source"]}, X, y, target, anchors=[])
