"""check_ucar given anchors: silent where these explain the loss, and not where they do not."""

import numpy as np
import pytest

from benchmarks.anchors import Law
from dams import check_ucar
from tests.anchored_laws import anchored_law

KNOWN = ["age", "sex"]


def reports(mechanism, n=2000, draws=8, **options):
    for number in range(draws):
        rng = np.random.default_rng([55, number, *mechanism.encode()])
        law = Law.draw(mechanism, rng)
        source, target = law.sample(0, n, rng)[0], law.sample(1, n, rng)[0]
        yield check_ucar(source, target, n_bootstrap=300, random_state=0, **options), source, target


@pytest.mark.parametrize("mechanism", ["opposite signs, older target", "along a curve"])
def test_loss_that_anchors_explain_is_no_alarm(mechanism):
    """Of 8 draws at level .05, three alarms have a probability of .006; told of no anchors, all raise one."""
    told = [report.rejected for report, *_ in reports(mechanism, anchors=KNOWN)]
    assert sum(told) < 3
    plain = [report.rejected for report, *_ in reports(mechanism, draws=3, always_recorded=KNOWN)]
    assert all(plain)


def test_loss_that_depends_on_more_is_found():
    found = [report for report, *_ in reports("by age and x0", n=5000, draws=2, anchors=KNOWN)]
    assert sum(report.rejected for report in found) >= 1
    assert {name for report in found if report.rejected for name in report.suspects} <= {"x0", "x1", "x2", "x3"}


def test_on_a_discrete_law_every_difference_vanishes():
    (source, _), (target, _), _, _ = anchored_law()
    report = check_ucar(source, target, anchors=[0], random_state=0, n_bootstrap=200)
    assert set(report.checks["kind"]) == {"pairs", "values", "population"}
    of_loss = report.checks[report.checks["kind"] != "population"]
    # Rows as many as a law's probabilities leave nothing to chance, and so nothing to alarms.
    assert of_loss["z"].abs().max() < 0.5
    assert check_ucar(source, target, always_recorded=[0], random_state=0, n_bootstrap=200).rejected


def test_values_that_change_with_an_anchor_are_found():
    rng = np.random.default_rng(0)
    age = rng.normal(size=(2, 4000))
    tables = [np.column_stack([a, 1 + rng.random((4000, 2))]) for a in age]
    tables[1][:, 1] = np.where(age[1] > 1, np.sqrt(tables[1][:, 1]), tables[1][:, 1])
    tables = [table * np.column_stack([np.ones(4000), rng.random((4000, 2)) < 0.7]) for table in tables]
    report = check_ucar(*tables, anchors=[0], random_state=0, n_bootstrap=300)
    assert report.rejected
    assert report.suspects == ["column 1"]


def test_the_verdict_names_the_anchors():
    report, _, _ = next(reports("opposite signs, older target", anchors=KNOWN))
    assert "UCAR given age, sex" in str(report)
    assert report.anchors == ("age", "sex")
    assert "Populations differ in age, which weights by the anchors account for." in str(report)


def test_columns_lost_together_are_checked_within_and_not_across():
    rng = np.random.default_rng(1)
    age = rng.normal(size=(2, 3000))
    tables = []
    for domain in (0, 1):
        values = (rng.random((3000, 3)) < 0.6).astype(float)
        kept = rng.random((3000, 2)) < 1 / (1 + np.exp(-1 - domain * age[domain][:, None]))
        tables.append(np.column_stack([age[domain], values * kept[:, [0, 0, 1]]]))
    report = check_ucar(*tables, anchors=[0], column_groups=[[1, 2]], random_state=0, n_bootstrap=300)
    kinds = report.checks.groupby("kind")
    assert set(kinds.groups) >= {"pairs", "together"}
    assert not report.rejected
    pairs = kinds.get_group("pairs")
    assert not ((pairs["feature"] == "column 1") & (pairs["other"] == "column 2")).any()


def test_wide_tables_are_refused():
    X = np.ones((400, 800))
    X[:, 0] = np.arange(400)
    X[::2, 1:] = 0
    with pytest.raises(ValueError, match="not wide, got 800 columns"):
        check_ucar(X, X[::-1], anchors=[0])


def test_errors_are_those_of_simulations():
    """The error of a check against the spread of its estimate over samples; r̂(s) and ŵ(s) are estimated in each."""
    estimates, errors = [], []
    for seed in range(80):
        rng = np.random.default_rng([3, seed])
        age = rng.uniform(-1.5, 1.5, size=(2, 600))
        age[1] = 3 * np.sqrt((age[1] + 1.5) / 3) - 1.5  # older, within the same limits
        tables = []
        for domain in (0, 1):
            both = rng.random((600, 1)) < 0.7
            kept = rng.random((600, 2)) < 1 / (1 + np.exp(-0.5 - domain * age[domain][:, None]))
            tables.append(np.column_stack([age[domain], both * kept]))
        report = check_ucar(*tables, anchors=[0], random_state=0, n_bootstrap=50)
        (pair,) = report.checks[report.checks["kind"] == "pairs"].itertuples()
        estimates.append(pair.statistic)
        errors.append(pair.statistic / pair.z)
    # The error of a spread over 80 samples is 8 %.
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.2)
