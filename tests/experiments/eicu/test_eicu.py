import logging
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score, mean_squared_error, roc_auc_score

from dams import ClosedFormRegressor
from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.fiddle import load_fiddle
from dams.datasets.eicu.fiddle_as_published import load_fiddle_as_published
from dams.datasets.eicu.simulator import simulate_eicu, simulate_eicu_table
from dams.experiments.eicu import run as eicu
from dams.experiments.eicu.as_published import (
    broadcast_errors,
    interval_of_169_sigma,
    raw_inverse_coefficients,
    run_eicu_as_published,
    score_as_published,
    shifted_coefficients,
    split_for_the_oracle_alone,
    threshold,
)
from dams.experiments.eicu.run import (
    PAPERS_METHODS,
    PREDICTORS,
    describe_hospitals,
    fit_linear,
    oracle_coefficients,
    predict_hospitals,
    relative_missingness,
    run_eicu,
    split_by_patient,
    summarise_relative_missingness,
    top_features,
)
from dams.experiments.eicu.scores import (
    COLUMNS,
    METRICS,
    paired_differences,
    resample_patients,
    score_with_interval,
    weighted_scores,
)


@pytest.fixture(scope="module")
def table():
    return simulate_eicu_table(random_state=1)


@pytest.fixture(scope="module")
def results(table):
    return run_eicu(table, replicates=300)


def independent(n=2000, d=3, seed=0, hospitals=(73, 264)):
    """Independent features, the first of which bears on the label."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.4).astype(float)
    y = (rng.random(n) < 0.05 + 0.5 * X[:, 0]).astype(int)
    hospital = np.array(hospitals)[np.arange(n) % len(hospitals)]
    names = [f"feature {j}" for j in range(d)]
    return FeatureTable(sparse.csr_matrix(X), names, y, np.arange(n), hospital, np.arange(n), tuple(hospitals), True)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_scores_are_those_of_scikit_learn(data):
    n = data.draw(st.integers(2, 12))
    y = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    prediction = np.array(data.draw(st.lists(st.sampled_from([-0.5, 0.0, 0.1, 0.3, 2.0]), min_size=n, max_size=n)))
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)))
    found = {metric: values[0] for metric, values in weighted_scores(y, prediction, weights[None]).items()}
    rows = np.repeat(np.arange(n), weights)
    assert found["mse"] == pytest.approx(mean_squared_error(y[rows], prediction[rows]))
    if len(set(y[rows])) == 2:
        assert found["auroc"] == pytest.approx(roc_auc_score(y[rows], prediction[rows]))
        assert found["auprc"] == pytest.approx(average_precision_score(y[rows], prediction[rows]))
    else:
        assert np.isnan(found["auroc"]) and np.isnan(found["auprc"])


def test_patients_are_resampled_with_all_their_stays():
    groups = np.array([7, 7, 7, 2, 9, 9])
    weights = resample_patients(groups, 400, np.random.default_rng(0))
    assert (weights[:, 0] == weights[:, 1]).all() and (weights[:, 4] == weights[:, 5]).all()
    patients = weights[:, [0, 3, 4]]
    assert (patients.sum(axis=1) == 3).all() and patients.std() > 0.5


def test_interval_of_patients_is_wider_than_that_of_their_stays():
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, 2, 60), 10)
    prediction = np.repeat(rng.random(60), 10)
    patients, rows = np.repeat(np.arange(60), 10), np.arange(600)
    wide, narrow = (
        score_with_interval(y, prediction, resample_patients(groups, 500, rng), 0.95)["auroc"]
        for groups in (patients, rows)
    )
    assert wide.mean == narrow.mean and wide.upper - wide.lower > 2 * (narrow.upper - narrow.lower)


def test_ninety_five_percent_intervals_cover():
    """The MSE of a fixed predictor, over samples of a known population."""
    rng = np.random.default_rng(1)
    truth = 0.5 * sum(0.3 * (1 - p) ** 2 + 0.7 * p**2 for p in (0.1, 0.4))
    covered = 0
    for _ in range(120):
        y = (rng.random(200) < 0.3).astype(int)
        prediction = np.where(rng.random(200) < 0.5, 0.1, 0.4)
        interval = score_with_interval(y, prediction, resample_patients(np.arange(200), 200, rng), 0.95)["mse"]
        covered += interval.lower <= truth <= interval.upper
    assert 107 <= covered <= 119


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (np.zeros((4, 1)), r"Predictions must have the labels' shape \(4,\), got \(4, 1\)"),
        (np.array([0.0, np.nan, 0.0, 0.0]), "Predictions must be finite"),
    ],
)
def test_scores_refuse_what_they_would_get_wrong(prediction, message):
    with pytest.raises(ValueError, match=message):
        score_with_interval(np.array([0, 1, 0, 1]), prediction, np.ones((2, 4)), 0.95)


def test_split_keeps_patients_together_and_the_share_of_deaths(table):
    part = table.at(73)
    train, test = split_by_patient(part, np.random.default_rng(0))
    assert not set(train.groups) & set(test.groups)
    assert sorted([*train.stay, *test.stay]) == sorted(part.stay)
    assert abs(len(test.y) / len(part.y) - 0.2) < 0.03 and abs(test.y.mean() - train.y.mean()) < 0.03


def test_results_hold_every_method_and_direction(results):
    assert list(results.columns) == COLUMNS
    assert (results["failure"] == "").all() and (results["variant"] == "corrected").all()
    assert tuple(results["method"].unique()) == PAPERS_METHODS
    assert set(PREDICTORS) == {*PAPERS_METHODS, "two_way"}
    for method in ("source", "imputed", "closed_form", "nonparametric"):
        rows = results[results["method"] == method]
        assert {(s, t) for s, t in zip(rows["source"], rows["target"], strict=True)} == {("H1", "H2"), ("H2", "H1")}
    assert (results[results["method"] == "oracle"]["source"] == results[results["method"] == "oracle"]["target"]).all()
    assert set(results["metric"]) == set(METRICS) and len(results) == 3 * (2 + 2 * 4)
    assert ((results["lower"] <= results["value"]) & (results["value"] <= results["upper"])).all()


def test_one_test_fold_for_every_method(results):
    for _, rows in results.groupby("target"):
        assert len(set(rows["n_test"])) == 1 and rows["n_test"].iloc[0] < 110


def test_differences_are_paired_by_patient(table, results):
    """Their values are differences of scores; their intervals are those of the same patients, so narrower than two."""
    predicted = predict_hospitals(table)
    differences = paired_differences(predicted, replicates=300)
    wide = results[results["method"] != "oracle"].set_index(["source", "target", "method", "metric"])
    for row in differences.query("method == 'closed_form' and minus == 'source'").to_dict("records"):
        names = (row["method"], row["minus"])
        ours, theirs = (wide.loc[(row["source"], row["target"], name, row["metric"])] for name in names)
        assert row["value"] == pytest.approx(ours["value"] - theirs["value"])
        widths = [end["upper"] - end["lower"] for end in (ours, theirs)]
        assert row["upper"] - row["lower"] < sum(widths)
    back = differences.query("method == 'source' and minus == 'closed_form'")
    there = differences.query("method == 'closed_form' and minus == 'source'")
    np.testing.assert_allclose(back["value"].to_numpy(), -there["value"].to_numpy())
    oracle = differences.query("method == 'oracle'")
    assert (oracle["source"] != oracle["target"]).all()


def test_the_cohort_is_described(table):
    found = describe_hospitals(table)
    assert found["H1"]["stays"] == len(table.at(73).y)
    assert found["H2"]["mortality"] == pytest.approx(table.at(264).y.mean())


def test_same_seed_same_results(table, results):
    pd.testing.assert_frame_equal(run_eicu(table, replicates=300), results)


def test_imputed_is_the_label_mean(results):
    rows = results[results["method"] == "imputed"].set_index(["target", "metric"])["value"]
    assert rows[("H1", "auroc")] == rows[("H2", "auroc")] == 0.5


def test_imputation_of_binary_columns_leaves_only_ones():
    """Why no forest is grown: whatever regressor fills in the zeros of a 0/1 column has seen ones only."""
    X = (np.random.default_rng(0).random((50, 3)) < 0.5).astype(float)
    for j in range(3):
        known = X[:, j] == 1
        model = LinearRegression().fit(np.delete(X, j, axis=1)[known], X[known, j])
        assert model.predict(np.delete(X, j, axis=1)[~known]) == pytest.approx(1)


def test_stays_of_test_patients_elsewhere_are_not_learnt_from(monkeypatch):
    table = independent(400)
    # Every patient has a stay in each hospital, so a method that saw all of the source would know every test patient.
    table = replace(table, groups=np.arange(400) // 2)
    seen = {}

    def spy(source, train, test, rng):
        seen[len(seen)] = (set(source.groups), set(test.groups))
        return np.zeros(len(test.y))

    monkeypatch.setitem(PREDICTORS, "source", spy)
    run_eicu(table, replicates=20)
    assert len(seen) == 2 and all(not known & tested and known for known, tested in seen.values())


def test_a_fit_that_fails_is_a_row_with_its_reason(table, monkeypatch):
    def fail(*args):
        raise np.linalg.LinAlgError("no solution")

    monkeypatch.setitem(PREDICTORS, "closed_form", fail)
    found = run_eicu(table, replicates=20)
    failed = found[found["failure"] != ""]
    assert set(failed["method"]) == {"closed_form"} and set(failed["failure"]) == {"no solution"}
    assert failed["value"].isna().all() and len(found) == 30 and found["value"].notna().sum() == 24


def test_rank_and_condition_are_logged(table, caplog):
    caplog.set_level(logging.INFO)
    fit = fit_linear(table.at(73), "oracle")
    # Complete one-hot groups such as gender are told by the others and the intercept.
    X = table.at(73).X.toarray()
    assert fit.rank == np.linalg.matrix_rank(X - X.mean(axis=0)) < len(table.names)
    assert f"oracle: rank {fit.rank} of {len(table.names)}, condition " in caplog.text


def test_which_gram_matrix_the_closed_form_used_is_logged(table, caplog):
    caplog.set_level(logging.INFO)
    here, there = table.at(73), table.at(264)
    PREDICTORS["closed_form"](here, there, there, np.random.default_rng(0))
    model = ClosedFormRegressor(gram="target").fit(here.X, here.y.astype(float), X_target=there.X)
    assert f"weight of the target's Gram matrix {model.weight_:g}, " in caplog.text


def test_adjustment_helps_where_its_assumption_holds():
    methods = ("oracle", "source", "closed_form")
    found = run_eicu(simulate_eicu_table(5_000), methods=methods, replicates=20)
    found = found.set_index(["target", "method", "metric"])["value"]
    for target in ("H1", "H2"):
        oracle, source, adjusted = (found[(target, m, "mse")] for m in methods)
        assert adjusted < source and adjusted < 1.05 * oracle


def test_coefficients_stay_with_their_names():
    table = independent()
    coefficients = oracle_coefficients(table)
    assert coefficients.index.tolist() == table.names
    assert coefficients["beta_1"].abs().idxmax() == "feature 0" == coefficients["beta_2"].abs().idxmax()
    assert coefficients.loc["feature 0", "beta_1"] == pytest.approx(0.5, abs=0.08)
    first, second = table.at(73).X.toarray(), table.at(264).X.toarray()
    np.testing.assert_allclose(coefficients["beta_1"], LinearRegression().fit(first, table.at(73).y).coef_, atol=1e-10)
    np.testing.assert_allclose(coefficients["ratio"], second.mean(axis=0) / first.mean(axis=0))


def test_top_features_are_the_largest_of_either_oracle():
    frame = pd.DataFrame({"beta_1": [0.1, -5, 2, 0, 0.2], "beta_2": [3, 0.1, 0.2, 0.3, -4]}, index=list("abcde"))
    assert top_features(frame, 2).index.tolist() == ["a", "b", "c", "e"]
    assert top_features(frame, 1).index.tolist() == ["b", "e"]


def test_relative_missingness_and_its_summary(table):
    frame = relative_missingness(table)
    q_1, q_2 = table.prevalence()
    forth = frame[(frame["source"] == "H1") & (frame["target"] == "H2")]
    assert forth["feature"].tolist() == table.names
    np.testing.assert_allclose(forth["r"], 1 - q_2 / q_1)
    assert (forth["excludes_zero"] == ~((forth["lower"] <= 0) & (forth["upper"] >= 0))).all()
    summary = summarise_relative_missingness(frame).set_index(["source", "target"])
    assert summary.loc[("H1", "H2"), "negative"] == pytest.approx((q_2 > q_1).mean())
    assert summary.loc[("H2", "H1"), "negative"] == pytest.approx((q_1 > q_2).mean())
    assert summary.loc[("H1", "H2"), "clearly_negative"] == summary.loc[("H2", "H1"), "clearly_positive"]
    assert 0.1 < summary.loc[("H1", "H2"), "clearly_negative"] < summary.loc[("H1", "H2"), "negative"]
    assert (summary["features"] == len(table.names)).all()


def test_broadcast_error_forgets_whether_predictions_fit():
    rng = np.random.default_rng(0)
    y = (rng.random(500) < 0.2).astype(int)
    prediction = 0.8 * y + 0.05
    errors = broadcast_errors(prediction[:, None], y)
    assert errors.shape == (500, 500)
    bias = prediction.mean() - y.mean()
    assert errors.mean() == pytest.approx(prediction.var() + y.var() + bias**2)
    shuffled = broadcast_errors(rng.permutation(prediction)[:, None], y)
    assert shuffled.mean() == pytest.approx(errors.mean())
    assert np.mean((prediction - y) ** 2) < 0.1 * errors.mean()


def test_thresholded_scores_lose_the_ranking():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.1).astype(int)
    prediction = 0.3 * y + 0.1 * rng.random(2000)
    scores, cut = (weighted_scores(y, p, np.ones((1, 2000)))["auroc"][0] for p in (prediction, threshold(prediction)))
    assert scores == 1.0 and cut == 0.5


def test_interval_of_169_sigma_covers_ninety_one_percent():
    interval = interval_of_169_sigma(0.2, 0.1)
    assert (interval.lower, interval.upper) == (pytest.approx(0.031), pytest.approx(0.369))
    assert norm.cdf(1.69) - norm.cdf(-1.69) == pytest.approx(0.909, abs=1e-3)


def test_published_coefficients_are_one_feature_off():
    table = independent()
    right, shifted = oracle_coefficients(table), shifted_coefficients(table)
    np.testing.assert_allclose(shifted["beta_1"].to_numpy()[1:], right["beta_1"].to_numpy()[:-1], atol=1e-8)
    assert shifted["beta_1"].abs().idxmax() == "feature 1" != right["beta_1"].abs().idxmax()
    np.testing.assert_allclose(shifted["q_1"], right["q_1"])


def test_published_split_is_for_the_oracle_alone_and_parts_patients(table):
    train, held_out = split_for_the_oracle_alone(table.at(73), np.random.default_rng(0))
    assert set(train.groups) & set(held_out.groups)
    assert len(held_out.y) == 104
    published = run_eicu_as_published(table, replicates=50)
    tested = published[published["target"] == "H1"].groupby("method")["n_test"].first()
    assert tested["oracle"] == 104 and (tested.drop("oracle") == 520).all()


def test_raw_inverse_divides_by_rounding_noise():
    table = independent(600)
    X = table.X.toarray()
    # A one-hot group that adds up to the intercept's column.
    table = replace(
        table, X=sparse.csr_matrix(np.column_stack([X, 1 - X[:, 0]])), names=[*table.names, "not feature 0"]
    )
    here, there = table.at(73), table.at(264)
    stable = ClosedFormRegressor(gram="target", stabilise=False).fit(here.X, here.y.astype(float), X_target=there.X)
    assert stable.rank_ == 3 and np.abs(stable.coef_).max() < 1
    # The adjusted cross-moment leaves the range of the target's Gram matrix: divided by a singular value of 1e-17.
    try:
        raw = np.abs(raw_inverse_coefficients(here, there)).max()
    except np.linalg.LinAlgError:
        raw = np.inf
    assert raw > 1e6


def test_raw_inverse_is_least_squares_where_the_gram_matrix_has_full_rank():
    here = independent().at(73)
    expected = LinearRegression().fit(here.X.toarray(), here.y)
    np.testing.assert_allclose(raw_inverse_coefficients(here, here), [expected.intercept_, *expected.coef_], atol=1e-8)


def test_published_scores_differ_where_the_slips_bite():
    table = independent(1000)
    y, prediction = table.y, (0.05 + 0.5 * table.X[:, [0]].toarray()) * 0.9
    rng = np.random.default_rng(0)
    right = score_as_published("source", prediction, y, 200, rng)
    wrong = score_as_published("nonparametric", prediction, y, 200, rng)
    assert right["mse"].mean == pytest.approx(np.mean((prediction.ravel() - y) ** 2))
    assert wrong["mse"].mean > 1.3 * right["mse"].mean
    assert wrong["auroc"].mean == 0.5 < right["auroc"].mean - 0.2


def test_both_variants_side_by_side(tmp_path):
    simulate_eicu(tmp_path, size="test", random_state=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corrected = run_eicu(load_fiddle(tmp_path), replicates=50)
        published = run_eicu_as_published(load_fiddle_as_published(tmp_path), replicates=50)
    both = pd.concat([corrected, published], ignore_index=True)
    keys = ["source", "target", "method", "metric"]
    assert set(map(tuple, corrected[keys].to_numpy())) == set(map(tuple, published[keys].to_numpy()))
    wide = both.pivot(index=keys, columns="variant", values="value")
    assert (wide["corrected"] != wide["as_published"]).mean() > 0.8


def test_labels_of_hospitals(table):
    assert [eicu.hospital_label(table, h) for h in table.hospitals] == ["H1", "H2"]


def test_two_way_is_scored_where_asked_for():
    table = simulate_eicu_table(400, random_state=0)
    results = run_eicu(table, methods=["oracle", "two_way"], replicates=5)
    assert list(results["method"].unique()) == ["oracle", "two_way"]
    assert results["value"].notna().all()
