"""The risk in the target where loss, and the population, depend on always-recorded columns."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, compare_target_risk, target_risk
from dams._risk_measure import Part, combine, terms_of_linear
from dams._risk_study import read_tables
from tests.anchored_laws import anchored_law


class Line:
    """A linear predictor that `target_risk` knows to be one."""

    def __init__(self, coef, intercept):
        self.coef_, self.intercept_ = np.array(coef), intercept

    def predict(self, X):
        return np.asarray(X) @ self.coef_ + self.intercept_


class Curved:
    """No linear model, and not additive either."""

    def predict(self, X):
        X = np.asarray(X)
        return X[:, 1] * X[:, 2] - 0.3 * X[:, 0] + 0.2


LINE = Line([0.3, 0.8, -0.2], 0.1)


@pytest.mark.parametrize("model", [LINE, Curved()], ids=["linear", "curved"])
@pytest.mark.parametrize("older", [True, False])
def test_it_is_the_risk_of_the_law(model, older):
    """Tables in exact proportion: the estimate is the target's own mean loss, up to the penalty of the regressions."""
    (X, y), (X_target, y_target), _, _ = anchored_law(older=older)
    truth = np.mean((y_target - model.predict(X_target)) ** 2)
    found = target_risk(model, X, y, X_target, anchors=[0], method="signed", random_state=0)
    plain = target_risk(model, X, y, X_target, always_recorded=[0], method="signed", random_state=0)
    assert found.estimate == pytest.approx(truth, abs=0.002)
    assert abs(plain.estimate - truth) > 5 * abs(found.estimate - truth)


def simulate(n, seed, older=0.5):
    """An age, and two columns that are lost by age with opposite signs in the two places."""
    rng = np.random.default_rng(seed)
    tables = []
    for domain in (0, 1):
        age = rng.normal(size=n) + older * domain
        clean = (0.5 * age[:, None] + rng.normal(size=(n, 2)) > -0.5) * rng.integers(1, 3, (n, 2))
        y = clean @ [1.0, 2.0] + clean[:, 0] * clean[:, 1] + 0.5 * age + rng.normal(size=n)
        kept = rng.random((n, 2)) < 1 / (1 + np.exp(-1 - (2 * domain - 1) * 0.7 * age[:, None]))
        tables.append((np.column_stack([50 + 10 * age, clean * kept]), y))
    return tables


LINE_OF_AGE = Line([0.05, 1.0, 1.5], 0.0)


class CurvedInAge:
    def predict(self, X):
        X = np.asarray(X)
        return X[:, 1] * X[:, 2] + 0.05 * X[:, 0]


@pytest.mark.filterwarnings("ignore:The signed estimate is too noisy:UserWarning")
@pytest.mark.parametrize("model", [LINE_OF_AGE, CurvedInAge()], ids=["linear", "curved"])
def test_standard_errors_are_the_spread_over_samples(model):
    found = []
    for seed in range(100):
        (X, y), (X_target, _) = simulate(800, [5, seed])
        found.append(target_risk(model, X, y, X_target, anchors=[0], method="signed", random_state=seed))
    spread = np.std([one.estimate for one in found], ddof=1)
    assert spread == pytest.approx(np.mean([one.standard_error for one in found]), rel=0.2)
    X, y = simulate(200_000, 6)[1]
    truth = np.mean((y - model.predict(X)) ** 2)
    inside = np.mean([low < truth < high for low, high in (one.interval for one in found)])
    assert inside >= 0.9


def measure(X, y, target):
    """The linear risk with nothing taken from the target's rows but r̂(s) and ŵ(s)."""
    known = {"always_recorded": None, "column_groups": None, "anchors": [0]}
    tables = read_tables(X, y, target, known=known, groups=None, groups_target=None)
    part = Part(np.arange(len(X)), [LINE_OF_AGE])
    terms = terms_of_linear([part], tables.source, tables.y, tables.target, tables.domains, tables.unit, 0.0)
    return combine(terms, tables.domains, theta=0.0)


# The basis of a number has quantiles of its own, which move with the source rows.
@pytest.mark.parametrize(("by_level", "alike"), [(True, (0.999, 0.999)), (False, (0.9, 0.99))])
def test_influence_is_what_leaving_rows_out_does(by_level, alike):
    (X, y), (target, _) = simulate(400, 13)
    if by_level:
        for rows in (X, target):
            rows[:, 0] = np.digitize(rows[:, 0], [45, 55])
    found = measure(X, y, target)
    some = np.arange(0, 400, 8)
    without = [measure(np.delete(X, k, 0), np.delete(y, k), target).risk[0] for k in some]
    without_target = [measure(X, y, np.delete(target, k, 0)).risk[0] for k in some]
    pieces = found.influence.source[some, 0], found.influence.target[some, 0]
    for left_out, piece, least in zip((without, without_target), pieces, alike, strict=True):
        moved = found.risk[0] - np.array(left_out)
        assert np.corrcoef(moved, piece)[0, 1] > least
        assert np.median(moved / piece) == pytest.approx(1, abs=0.02)


def test_the_anchored_model_is_chosen():
    (X, y), (X_target, y_target) = simulate(6_000, 21)
    models = {
        "source": LinearRegression(),
        "closed form": ClosedFormRegressor(always_recorded=[0]),
        "anchored": ClosedFormRegressor(anchors=[0]),
    }
    found = compare_target_risk(models, X, y, X_target, cv=5, anchors=[0], random_state=0)
    assert found.choice == "anchored"
    truth = {
        name: np.mean(
            (y_target - model.fit(X, y, **({"X_target": X_target} if name != "source" else {})).predict(X_target)) ** 2
        )
        for name, model in models.items()
    }
    assert min(truth, key=truth.get) == "anchored"
    assert found.table["estimate"].to_dict() == pytest.approx(truth, rel=0.05)


def test_filled_rows_have_weights_too():
    (X, y), (X_target, y_target) = simulate(3_000, 31)
    truth = np.mean((y_target - LINE_OF_AGE.predict(X_target)) ** 2)
    found = target_risk(LINE_OF_AGE, X, y, X_target, anchors=[0], method="filled", random_state=0)
    blind = np.mean((y - LINE_OF_AGE.predict(X)) ** 2)
    assert abs(found.estimate - truth) < 0.5 * abs(blind - truth)
