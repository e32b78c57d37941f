from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import get_config

from dams.datasets.eicu.simulator import simulate_eicu_table
from dams.datasets.sepsis.ranges import FLAGS
from dams.experiments.eicu.run import run_eicu
from dams.experiments.sepsis.cells import FEWEST, linear_labels, masked_cell, natural_cell, with_frequent_flags
from dams.experiments.sepsis.masks import COLUMNS, gap_closed, run_masks, with_labels
from dams.experiments.sepsis.methods import METHODS, MODELS
from dams.experiments.sepsis.natural import METRICS, check_hospitals, run_natural
from dams.experiments.sepsis.rates import recording_ratios, summarise_recording
from dams.experiments.sepsis.risks import estimate_risks

QUICK = ("oracle", "source", "closed_form", "nonparametric")


@pytest.mark.parametrize("masks", ["transplanted", "ucar"])
@pytest.mark.parametrize("gets", ["target", "source"])
def test_masks_change_the_recording_of_one_side_alone(hospitals, masks, gets):
    cell = masked_cell(hospitals, "A", masks, gets, 0, seed=1)
    here = hospitals.at("A")
    sides = {"source": [cell.source], "target": [cell.target, cell.test]}
    for side, parts in sides.items():
        for rows in parts:
            own = here.X.loc[rows.X.index, rows.X.columns]
            lost = (own.to_numpy() != 0) & (rows.X.to_numpy() == 0)
            assert lost.any() == (side == gets)
            # What is left is the patient's own, and age and sex are never lost.
            assert (rows.X.to_numpy()[~lost] == own.to_numpy()[~lost]).all() and not lost[:, :2].any()
            # Flags of what is not recorded are 0.
            assert not rows.X[rows.flags].to_numpy()[~rows.recorded].any()
    patients = [set(rows.X.index) for rows in (cell.source, cell.target, cell.test)]
    assert sum(map(len, patients)) == len(here.X) == len(set.union(*patients))


def test_transplanted_patterns_are_whole_rows_of_the_other_hospital(hospitals):
    flags = hospitals.flags
    joint = {}
    for masks in ("transplanted", "ucar"):
        cell = masked_cell(hospitals, "A", masks, "target", 0, seed=2)
        kept = pd.DataFrame(cell.target.recorded, columns=cell.target.flags, index=cell.target.X.index)
        joint[masks] = kept["HCO3_low"].mean()
        assert set(kept.columns) == set(flags)
    # The rates are the same for both kinds: A's 0.9 times B's 0.3.
    assert joint == pytest.approx({"transplanted": 0.27, "ucar": 0.27}, abs=0.04)


def test_panels_stay_together_only_if_transplanted(hospitals):
    """Let B record two measurements in the same patients: A's patients then get both or none."""
    recorded = hospitals.recorded.copy()
    recorded["Chloride"] = recorded["HCO3"]
    together = type(hospitals)(hospitals.X, hospitals.y, recorded, hospitals.about, hospitals.counts)
    agree = {}
    for masks in ("transplanted", "ucar"):
        cell = masked_cell(together, "A", masks, "target", 0, seed=3)
        kept = pd.DataFrame(cell.target.recorded, columns=cell.target.flags)
        # A's own Chloride goes with its HCO3 too, so any disagreement comes from the masks.
        agree[masks] = (kept["Chloride_high"] == kept["HCO3_low"]).mean()
    assert agree["transplanted"] == 1 and agree["ucar"] < 0.8


def test_rare_flags_are_left_out(hospitals):
    cell = natural_cell(hospitals, "A", "B", seed=0)
    rare = cell.source.X.copy()
    rare.loc[rare.index[FEWEST - 1 :], "Lactate_high"] = 0.0
    thinned = type(cell)(
        type(cell.source)(rare, cell.source.y, cell.source.recorded, cell.source.about), cell.target, cell.test
    )
    assert "Lactate_high" in cell.source.flags
    found = with_frequent_flags(thinned)
    for rows in (found.source, found.target, found.test):
        assert "Lactate_high" not in rows.flags and rows.recorded.shape == (len(rows.y), len(rows.flags))


def test_halves_of_the_target_have_the_same_share_of_sepsis(hospitals):
    cell = natural_cell(hospitals, "A", "B", seed=0)
    assert abs(cell.target.y.sum() - cell.test.y.sum()) <= 1
    assert not set(cell.target.X.index) & set(cell.test.X.index)


def test_r_against_recording_is_exact_in_its_two_factors(hospitals):
    ratios = recording_ratios(hospitals)
    part = ratios[(ratios["source"] == "A") & (ratios["flag"] == "HCO3_low")].iloc[0]
    assert part["recording"] == pytest.approx(0.3 / 0.9, rel=0.1)
    np.testing.assert_allclose(ratios["kept"], ratios["recording"] * ratios["population"])
    # One population: intervals hold the truth, and the other direction is the inverse.
    assert ratios["covered"].mean() > 0.85
    both = ratios.pivot(index="flag", columns="source", values="kept")
    np.testing.assert_allclose(both["A"] * both["B"], 1)
    summary = summarise_recording(ratios)
    assert (summary["correlation"] > 0.95).all() and (summary["within_quarter"] == 1).all()


def test_masks_are_scored_and_closed_form_closes_the_gap_under_ucar(hospitals):
    records = run_masks(hospitals, splits=2, methods=QUICK, seed=4)
    assert list(records.columns) == COLUMNS and len(records) == 2 * 2 * 2 * 2 * 2 * len(QUICK)
    assert records["score"].notna().all() and (records["failure"] == "").all()
    shares = (
        gap_closed(records).query("labels == 'linear' and masks == 'ucar'").set_index(["gets", "hospital", "method"])
    )
    for hospital in "AB":
        assert shares.loc[("target", hospital, "closed_form"), "share"] > 0.9
        assert shares.loc[("target", hospital, "oracle"), "share"] == pytest.approx(1)
        assert shares.loc[("target", hospital, "source"), "share"] == 0
        assert shares.loc[("target", hospital, "closed_form"), "worst_excess"] < 0


def test_gap_closed_by_hand():
    rows = []
    for split, (source, oracle, method) in enumerate([(1.0, 0.5, 0.75), (0.8, 0.6, 0.9)]):
        scores = {"source": source, "oracle": oracle, "closed_form": method}
        about = {"masks": "ucar", "hospital": "A", "gets": "target", "labels": "linear", "split": split}
        rows += [about | {"method": name, "score": score} for name, score in scores.items()]
    found = gap_closed(pd.DataFrame(rows)).set_index("method").loc["closed_form"]
    assert found["share"] == pytest.approx((0.25 - 0.1) / (0.5 + 0.2))
    assert found["worst_share"] == pytest.approx(-0.5) and found["worst_excess"] == pytest.approx(0.1 / 0.8)
    assert found["score"] == pytest.approx(0.825) and found["lower"] <= found["share"] <= found["upper"]


def test_labels_are_linear_and_those_of_the_split(hospitals):
    first, second = (linear_labels(hospitals.at("A"), seed=0, hospital="A", split=split) for split in (0, 1))
    X = hospitals.at("A").X.to_numpy()
    beta = np.linalg.lstsq(X, first, rcond=None)[0]
    np.testing.assert_allclose(X @ beta, first)
    assert (beta > 0).all() and (beta < 10).all() and not np.allclose(first, second)


def test_natural_shift_is_scored_with_paired_intervals(hospitals):
    scores = run_natural(
        hospitals, methods=("oracle", "source", "closed_form"), models=("linear", "logistic"), replicates=50
    )
    assert set(scores["metric"]) == set(METRICS) and (scores["failure"] == "").all()
    wide = scores.pivot(index=["source", "model", "method"], columns="metric", values="value")
    # Differences are those of the scores, and the source predictor's are 0, without any spread.
    source = wide.xs("source", level="method")
    oracle = wide.xs("oracle", level="method")
    np.testing.assert_allclose(oracle["excess"], oracle["mse"] - source["mse"], atol=1e-12)
    np.testing.assert_allclose(oracle["auroc_gain"], oracle["auroc"] - source["auroc"], atol=1e-12)
    own = scores[(scores["method"] == "source") & (scores["metric"] == "excess")]
    assert (own[["value", "lower", "upper"]] == 0).all().all()
    assert ("A", "logistic", "closed_form") not in wide.index
    assert (scores["lower"] <= scores["value"]).mean() > 0.95


def test_results_do_not_depend_on_processes(hospitals):
    """Of this study and of eICU's: processes take seconds to start, so that both use the same ones."""
    options = {"methods": ("source", "oracle"), "models": ("linear",), "replicates": 20, "seed": 3}
    pd.testing.assert_frame_equal(run_natural(hospitals, **options), run_natural(hospitals, n_jobs=2, **options))
    one, two = (run_masks(hospitals, splits=1, methods=("source", "oracle"), seed=3, n_jobs=n) for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    table = simulate_eicu_table(400, random_state=0)
    one, two = (run_eicu(table, methods=["oracle", "two_way"], replicates=5, n_jobs=n) for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_a_method_that_fails_is_a_row_with_its_reason(hospitals, monkeypatch):
    def fail(cell, model):
        raise ValueError("no stable solution")

    broken = METHODS["closed_form"].__class__("Closed form", fail, ("linear",))
    monkeypatch.setitem(METHODS, "closed_form", broken)
    scores = run_natural(hospitals, methods=("closed_form",), models=("linear",), replicates=10)
    failed = scores[scores["method"] == "closed_form"]
    assert (failed["failure"] == "no stable solution").all() and failed["value"].isna().all()
    records = run_masks(hospitals, splits=1, methods=("oracle", "source", "closed_form"))
    assert (records.loc[records["method"] == "closed_form", "failure"] == "no stable solution").all()
    assert gap_closed(records).set_index("method").loc["closed_form", "splits"].eq(0).all()


# Adjustments warn of what they can't follow here.
warned = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def few(hospitals):
    """A cell of 600 patients a part, and what it is without target labels, without known losses, without both."""
    cell = natural_cell(hospitals, "A", "B", seed=0)
    cell = with_frequent_flags(
        type(cell)(*(rows.take(np.arange(600)) for rows in (cell.source, cell.target, cell.test)))
    )
    rng = np.random.default_rng(0)

    def spoilt(*, y=False, recorded=False):
        parts = []
        for rows in (cell.source, cell.target, cell.test):
            labels = rng.permutation(rows.y) if y and rows is cell.target else rows.y
            known = rng.random(rows.recorded.shape) < 0.5 if recorded else rows.recorded
            parts.append(type(rows)(rows.X, labels, known, rows.about))
        return type(cell)(*parts)

    return cell, spoilt(y=True), spoilt(recorded=True), spoilt(y=True, recorded=True)


@warned
@pytest.mark.parametrize("name", METHODS)
def test_every_method_predicts_and_uses_losses_or_target_labels_only_if_it_says_so(few, name):
    method = METHODS[name]

    def predict(cell):
        return method.predict(cell, MODELS[method.models[0]]()).values

    cell, without_labels, without_losses, without_both = few
    plain = predict(cell)
    assert plain.shape == (600,) and np.isfinite(plain).all()
    if not method.needs:
        assert np.array_equal(predict(without_both), plain)
    for what, other in (("target labels", without_labels), ("known losses", without_losses)):
        if method.needs:
            assert np.array_equal(predict(other), plain) == (method.needs != what), what


@warned
def test_what_the_package_advises(hospitals, monkeypatch):
    """One population: what the risk chooses. Another one: the source predictor, whatever the risk says."""
    cell = masked_cell(hospitals, "A", "ucar", "target", 0, seed=0)
    labels = linear_labels(hospitals.at("A"), seed=0, hospital="A", split=0)
    cell = with_labels(cell, labels)
    found = METHODS["advised"].predict(cell, MODELS["linear"]())
    assert found.choice in ("nonparametric", "two_way", "closed_form")
    np.testing.assert_array_equal(found.values, METHODS[found.choice].predict(cell, MODELS["linear"]()).values)

    differ = SimpleNamespace(rejected=True, population_differs=["age"])
    monkeypatch.setattr("dams.experiments.sepsis.methods.check_ucar", lambda *tables, **known: differ)
    found = METHODS["advised"].predict(cell, MODELS["linear"]())
    assert found.choice == "source, as populations differ in age"
    np.testing.assert_array_equal(found.values, METHODS["source"].predict(cell, MODELS["linear"]()).values)


@warned
def test_estimated_risks_stand_beside_the_truth(hospitals):
    methods = ("source", "nonparametric", "two_way", "closed_form")
    scores = run_natural(hospitals, methods=methods, models=("linear",), replicates=10, seed=2)
    risks = estimate_risks(hospitals, scores, models=("linear",), seed=2)
    assert risks["method"].tolist() == [*methods] * 2 and risks.groupby("source")["chosen"].sum().eq(1).all()
    # The made-up hospitals differ in hardly more than what they record: so do the estimates, and the choice is right.
    assert (risks["estimate"] - risks["truth"]).abs().max() < 0.2
    best = risks.loc[risks.groupby("source")["truth"].idxmin()].set_index("source")["truth"]
    chosen = risks[risks["chosen"]].set_index("source")["truth"]
    assert (chosen - best).max() < 0.02


def test_the_hospitals_are_checked(hospitals):
    checks = check_hospitals(hospitals)
    assert len(checks) == 4 and not checks["rejected"].all()
    assert (checks["flags"] == len(FLAGS)).all()


@warned
def test_skadas_methods_leave_the_settings_alone_and_say_where_skada_is_missing(hospitals, monkeypatch):
    cell = masked_cell(hospitals, "A", "ucar", "target", 0, seed=0)
    before = get_config()
    METHODS["coral"].predict(cell, MODELS["linear"]())
    assert get_config() == before
    monkeypatch.setattr("dams.experiments.sepsis.other_methods.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"skada is not installed: `pip install .*skada"):
        METHODS["coral"].predict(cell, MODELS["linear"]())
