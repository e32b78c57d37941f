"""The wrappers fit on the source rows where adjusting would do harm, and only there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from dams import FilteredEstimator, TwoWayEstimator, apply_missingness

SOURCE = "fitted on the source rows as they are"
IMPROPER = "ignore:The target records"


def places(n, rng, *, together):
    """Twelve flags of one severity; the source loses nine of them, together or one by one, and the target nothing.

    Together, a row shows all of a panel or nothing of it: what is filled in column by column goes to the wrong rows.
    """
    severity = rng.normal(size=(2 * n, 1))
    X = (severity + 1.5 * rng.normal(size=(2 * n, 12)) > 0.8).astype(float)
    y = X @ np.append(rng.uniform(0, 10, 11), 60)
    source, target = X[:n].copy(), X[n:]
    draws = np.repeat(rng.random((n, 1)), 9, axis=1) if together else rng.random((n, 9))
    source[:, :9] *= draws < 0.15
    return (source, y[:n]), (target, y[n:])


def ratio(model, source, target):
    """Target error of a model over that of the same estimator fitted on the source."""
    plain = LinearRegression().fit(*source)
    return np.mean((model.predict(target[0]) - target[1]) ** 2) / np.mean((plain.predict(target[0]) - target[1]) ** 2)


@pytest.mark.filterwarnings(IMPROPER)
@pytest.mark.parametrize("seed", range(4))
def test_a_filter_that_cannot_follow_does_no_harm(seed):
    rng = np.random.default_rng(seed)
    source, target = places(3000, rng, together=False)
    target[0][:, 9:] *= rng.random((3000, 3)) < 0.5  # something to delete, so that the filter does anything
    with pytest.warns(UserWarning, match=SOURCE):
        safe = FilteredEstimator(LinearRegression(), random_state=0).fit(*source, X_target=target[0])
    assert safe.choice_ == "source" and len(safe.estimators_) == 1
    assert ratio(safe, source, target) == pytest.approx(1)


def test_where_the_assumption_holds_everything_is_adjusted():
    for seed in range(4):
        source, target = places(3000, np.random.default_rng(seed), together=False)
        model = TwoWayEstimator(LinearRegression(), random_state=0).fit(*source, X_target=target[0])
        assert model.choice_ == "adjusted" and ratio(model, source, target) < 0.7


@pytest.mark.parametrize("seed", range(3))
def test_what_panels_that_nobody_named_do_to_the_two_way_adjustment_is_noticed(seed):
    source, target = panels(np.random.default_rng(seed))
    bold = TwoWayEstimator(LinearRegression(), random_state=0, safeguard=False).fit(*source, X_target=target[0])
    assert ratio(bold, source, target) > 1.1
    with pytest.warns(UserWarning, match=SOURCE):
        safe = TwoWayEstimator(LinearRegression(), random_state=0).fit(*source, X_target=target[0])
    assert safe.choice_ == "source" and ratio(safe, source, target) == pytest.approx(1)


def panels(rng, n=6000):
    return places(n, rng, together=True)


def test_classes_tables_and_ids():
    rng = np.random.default_rng(0)
    source, target = places(2000, rng, together=False)
    names = [f"f{j}" for j in range(12)]
    tables = [pd.DataFrame(rows, columns=names) for rows in (source[0], target[0])]
    labels = np.array(["well", "ill"])[(source[1] > np.median(source[1])).astype(int)]
    model = TwoWayEstimator(LogisticRegression(max_iter=500), n_draws=2, random_state=0)
    model.fit(tables[0], labels, X_target=tables[1], groups=np.arange(2000) // 2, groups_target=np.arange(2000) // 2)
    assert model.choice_ == "adjusted" and set(model.classes_) == {"ill", "well"}


def test_a_population_that_differs_in_what_is_always_recorded_is_no_evidence_against_the_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(8000) < np.repeat([0.2, 0.8], 4000), rng.normal(size=(8000, 2)) + 3])
    y = X @ [6.0, 1.0, 2.0] + rng.normal(size=8000)
    source = apply_missingness(X[:4000], [0, 0.5, 0.1], random_state=1)
    target = apply_missingness(X[4000:], [0, 0.1, 0.4], random_state=2)
    model = TwoWayEstimator(LinearRegression(), always_recorded=[0], random_state=0)
    assert model.fit(source, y[:4000], X_target=target).choice_ == "adjusted"


def flags(n_source, n_target, rng, *, most=0.5, worse=0.0, noise=0.1):
    """Twenty flags, each lost at a rate up to `most`, `worse` more of each in the target; 20,000 rows to test on."""
    n = n_source + n_target + 20_000
    X = (rng.normal(size=(n, 4)) @ rng.normal(size=(4, 20)) + rng.normal(size=(n, 20)) > 1).astype(float)
    y = X @ rng.uniform(0, 10, 20)
    y += noise * y.std() * rng.normal(size=n)
    m = rng.uniform(0, most, 20)
    source = apply_missingness(X[:n_source], m, random_state=rng)
    rest = apply_missingness(X[n_source:], 1 - (1 - m) * (1 - worse), random_state=rng)
    return (source, y[:n_source]), rest[:n_target], (rest[n_target:], y[n_source + n_target :])


@pytest.mark.filterwarnings(IMPROPER)
@pytest.mark.parametrize("estimator", [FilteredEstimator, TwoWayEstimator])
def test_where_rates_do_not_clearly_differ_nothing_is_adjusted(estimator):
    """Values would be deleted at rates that are noise: a model that explains much loses a lot by it."""
    ratios = []
    for seed in range(8):
        source, target, test = flags(1000, 1000, np.random.default_rng(seed), most=0.0)
        model = estimator(LinearRegression(), random_state=0).fit(*source, X_target=target)
        bold = estimator(LinearRegression(), random_state=0, safeguard=False).fit(*source, X_target=target)
        assert bold.choice_ == "adjusted"
        ratios.append((ratio(model, source, test), ratio(bold, source, test)))
    safe, bold = np.array(ratios).T
    # By chance some rate differs in one table of fourteen.
    assert np.isclose(safe, 1).sum() >= 6 and safe.max() < 1.05
    assert np.median(bold) > 1.3


@pytest.mark.filterwarnings("ignore:The target holds only zeros")
def test_many_small_losses_are_clear_together():
    """Of forty rows no column tells by itself that a third of its values are lost."""
    adjusted, ratios = 0, []
    for seed in range(8):
        source, target, test = flags(5000, 40, np.random.default_rng(seed), worse=0.4, noise=0.5)
        model = FilteredEstimator(LinearRegression(), random_state=0).fit(*source, X_target=target)
        adjusted += model.choice_ == "adjusted"
        ratios.append(ratio(model, source, test))
    assert adjusted >= 6 and np.mean(ratios) < 0.9


@pytest.mark.parametrize("groups", [12, 3000])
def test_few_groups_of_rows_do_not_switch_it_off(groups):
    source, target = panels(np.random.default_rng(1))
    ids = np.arange(6000) % groups
    with pytest.warns(UserWarning, match=SOURCE):
        safe = TwoWayEstimator(LinearRegression(), random_state=0).fit(
            *source, X_target=target[0], groups=ids, groups_target=ids
        )
    assert safe.choice_ == "source"


def test_weights_do_not_switch_it_off():
    source, target = panels(np.random.default_rng(1))
    model = TwoWayEstimator(LinearRegression(), random_state=0)
    with pytest.warns(UserWarning, match=SOURCE):
        model.fit(*source, X_target=target[0], sample_weight=np.ones(6000))
    assert model.choice_ == "source"


@pytest.mark.filterwarnings(IMPROPER, "ignore:The source has a value in")
def test_what_was_not_adjusted_is_not_called_so():
    source, _ = places(500, np.random.default_rng(0), together=False)
    model = FilteredEstimator(LinearRegression(), random_state=0)
    assert model.fit(*source, X_target=None).choice_ == "source"
    assert model.fit(*source, X_target=source[0]).choice_ == "source"
    # The target has more of everything, and a filter can only delete.
    model.fit(*source, X_target=np.ones((500, 12)))
    assert model.choice_ == "source"


def test_another_mix_of_what_is_never_lost_is_no_loss():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        (X, y), X_target, _ = flags(1000, 1000, rng, most=0.0)
        tables = [np.column_stack([rng.random(1000) < share, part]) for share, part in ((0.3, X), (0.9, X_target))]
        told = TwoWayEstimator(LinearRegression(), n_draws=1, always_recorded=[0], random_state=0)
        assert told.fit(tables[0], y, X_target=tables[1]).choice_ == "source"
