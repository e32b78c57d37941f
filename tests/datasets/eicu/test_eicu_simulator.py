import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sparse
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, FilteredEstimator, FreeRates, apply_missingness
from dams.datasets.eicu.catalogue import catalogue
from dams.datasets.eicu.cohort import Cohort, draw_cohort, planted_counts
from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.fiddle import is_clinical, load_fiddle, read_cohort
from dams.datasets.eicu.files import describe_truth, static_columns
from dams.datasets.eicu.names import MECHANISMS
from dams.datasets.eicu.simulator import COHORTS, simulate_eicu, simulate_eicu_table, table_of
from dams.experiments.eicu.run import fit_linear
from dams.relative import estimate_relative_missingness

FEATURES = "FIDDLE_eicu/features/mortality_48h"


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclass(frozen=True)
class Small:
    folder: Path
    everything: FeatureTable
    table: FeatureTable


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    simulate_eicu(folder, size="test")
    return Small(folder, read_cohort(folder), load_fiddle(folder))


@dataclass(frozen=True)
class Large:
    cohort: Cohort
    truth: dict
    everything: FeatureTable
    table: FeatureTable


@pytest.fixture(scope="module")
def large():
    """The cohort of the default size without its files, which take longer than all else: those of `small` are read."""
    cohort = draw_cohort("default", COHORTS["default"], "ucar", None, 1.0, random_state=0, with_hours=True)
    everything, table = (table_of(cohort, min_either=e, min_both=b) for e, b in ((0, 0), (0.05, 0.01)))
    return Large(cohort, describe_truth(cohort), everything, table)


def test_same_seed_same_bytes(small, tmp_path):
    folder = small.folder
    simulate_eicu(tmp_path / "again", size="test")
    simulate_eicu(tmp_path / "other", size="test", random_state=1)
    files = digests(folder)
    assert files == digests(tmp_path / "again")
    other = digests(tmp_path / "other")
    assert files.keys() == other.keys()
    assert files[f"{FEATURES}/X.npz"] != other[f"{FEATURES}/X.npz"]
    assert files[f"{FEATURES}/X.feature_names.json"] == other[f"{FEATURES}/X.feature_names.json"]


def test_files_are_those_that_a_user_has(small):
    folder = small.folder
    named = [f"{FEATURES}/{array}.{part}" for array in "sX" for part in ("feature_names.json", "feature_aliases.json")]
    arrays = [f"{FEATURES}/{array}.npz" for array in "sX"]
    others = ["FIDDLE_eicu/population/mortality_48h.csv", "eicu-crd/2.0/patient.csv.gz", "truth.json"]
    assert set(digests(folder)) == {*named, *arrays, *others}


def test_sparse_reads_the_arrays(small):
    folder = small.folder
    population = pd.read_csv(folder / "FIDDLE_eicu/population/mortality_48h.csv")
    assert list(population.columns) == ["ID", "mortality_LABEL"] and len(population) == 1200
    assert population["ID"].is_monotonic_increasing
    for name, ndim in (("s", 2), ("X", 3)):
        array = sparse.load_npz(folder / FEATURES / f"{name}.npz")
        names = json.loads((folder / FEATURES / f"{name}.feature_names.json").read_text())
        assert array.ndim == ndim and array.shape[0] == 1200 and array.shape[-1] == len(names) == len(set(names))
        assert array.coords.dtype == array.data.dtype == np.int64 and set(array.data) == {1} and array.fill_value == 0
        keys = np.ravel_multi_index(array.coords, array.shape)
        assert (np.diff(keys) > 0).all()
        with np.load(folder / FEATURES / f"{name}.npz", allow_pickle=False) as stored:
            assert stored["coords"].flags.c_contiguous and stored["coords"].shape == (ndim, array.nnz)
    assert array.shape[1] == 48


def test_loader_agrees_with_sparse_and_pandas(small):
    folder = small.folder
    s, X = (sparse.load_npz(folder / FEATURES / f"{name}.npz") for name in "sX")
    names = [json.loads((folder / FEATURES / f"{name}.feature_names.json").read_text()) for name in "sX"]
    table = np.concatenate([s.todense(), X.max(axis=1).todense()], axis=1)
    frame = pd.DataFrame(table, columns=names[0] + names[1])
    population = pd.read_csv(folder / "FIDDLE_eicu/population/mortality_48h.csv")
    patients = pd.read_csv(folder / "eicu-crd/2.0/patient.csv.gz").set_index("patientunitstayid")
    hospital = patients["hospitalid"].reindex(population["ID"]).to_numpy()
    means = pd.DataFrame({h: frame[hospital == h].mean() for h in (73, 264)})
    shared = (means.max(axis=1) >= 0.05) & (means.min(axis=1) >= 0.01)
    kept = [name for name in frame if shared[name] and is_clinical(name)]
    found = small.table
    rows = np.isin(hospital, (73, 264))
    assert found.names == kept and found.simulated
    np.testing.assert_array_equal(found.X.toarray(), frame.loc[rows, kept])
    np.testing.assert_array_equal(found.stay, population["ID"][rows])
    np.testing.assert_array_equal(found.y, population["mortality_LABEL"][rows])


# Whether losses are independent of the values, and between features, and whether there is one population.
HOLDS = {
    "ucar": (True, True, True),
    "block_ucar": (True, False, True),
    "hourly": (False, False, True),
    "population": (True, True, False),
    "mar": (False, False, True),
    "mnar": (False, False, True),
}


@pytest.mark.parametrize("scenario", MECHANISMS)
def test_table_is_what_the_files_hold_and_the_truth_states_what_holds(tmp_path, scenario):
    truth = simulate_eicu(tmp_path, size="test", scenario=scenario, random_state=3)
    assert json.loads((tmp_path / "truth.json").read_text()) == truth and truth["scenario"] == scenario
    keys = ("loss_independent_of_values", "loss_independent_between_features", "same_population")
    assert tuple(truth["assumptions"][key] for key in keys) == HOLDS[scenario]
    files, table = load_fiddle(tmp_path), simulate_eicu_table(scenario=scenario, random_state=3)
    assert files.names == table.names and files.hospitals == table.hospitals
    assert (files.X != table.X).nnz == 0
    for field in ("y", "groups", "hospital", "stay"):
        np.testing.assert_array_equal(getattr(files, field), getattr(table, field))


def test_default_cohort_has_the_stated_counts(large):
    truth, table = large.truth, large.table
    assert [len(table.at(h).y) for h in (73, 264)] == [3006, 2663]
    assert [table.at(h).y.sum() for h in (73, 264)] == [292, 266]
    assert [round(table.at(h).y.mean(), 3) for h in (73, 264)] == [0.097, 0.100]
    assert 400 <= len(table.names) <= 500
    for hospital, (stays, deaths) in COHORTS["default"].items():
        assert truth["hospitals"][str(hospital)]["stays"] == stays
        assert truth["hospitals"][str(hospital)]["deaths"] == deaths
    _, static_names = static_columns(large.cohort)
    assert 140 <= len(static_names) <= 160 and 2300 <= len(large.cohort.cat.timed_names) <= 2500
    assert sum(stays for stays, _ in COHORTS["default"].values()) == 8600


def test_small_cohort_is_small(small):
    table = small.table
    assert 60 <= len(table.names) <= 80 and len(table.y) == 980


def test_noninvasive_mean_pressure_matches_public_figures(large):
    cohort, truth = large.cohort, large.truth
    names = cohort.cat.timed_names
    mask = names.index("noninvasivemean_mask")
    ever = cohort.timed[cohort.hospital < 2, mask].mean()
    density = (cohort.hours % len(names) == mask).sum() / (8600 * 48)
    assert abs(ever - 0.96) < 0.01 and abs(density - 0.81) < 0.01
    bins = [name for name in names if name.startswith("noninvasivemean_max_")]
    assert [re.findall(r"[\d.]+", name)[0] for name in bins[1:]] == ["71.0", "79.0", "87.0", "98.0"]
    clean = [truth["features"][name]["clean_prevalence"] for name in bins]
    assert min(clean) >= 0.75 and max(clean) <= 0.91


def test_order_and_patterns_of_names(large):
    names = large.cohort.cat.timed_names
    vitals = [v.name for v in catalogue("default").vitals]
    assert names[: len(vitals)] == [f"{v}_mask" for v in vitals]
    per_vital = names[names.index(f"{vitals[0]}_delta_time_(-0.001, 1.0]") :]
    kinds = [re.sub(r"_\(.*", "", name) for name in per_vital]
    expected = [f"{v}_{kind}" for v in vitals for kind in ("delta_time", "value", "min", "max", "mean")]
    assert list(dict.fromkeys(kinds)) == expected
    others = names[len(vitals) : -len(per_vital)]
    assert "lactate_value_" in "".join(others) and any("|dosage_(" in name for name in others)
    assert any("non-rebreather mask" in name for name in others)
    _, static = static_columns(large.cohort)
    assert {"age_value:(51.0, 61.0]", "age_value:> 89", "gender_value:Female", "hospitalid_value:73__"} <= set(static)
    assert {"wardid_value:236__", "unittype_value:Med-Surg ICU"} <= set(static)


def test_patient_table_has_excluded_stays_and_repeat_patients(small):
    folder = small.folder
    patients = pd.read_csv(folder / "eicu-crd/2.0/patient.csv.gz")
    population = pd.read_csv(folder / "FIDDLE_eicu/population/mortality_48h.csv")
    assert (
        patients.shape[1] == 29 and patients.columns[0] == "patientunitstayid" and patients.columns[-1] == "uniquepid"
    )
    inside = patients["patientunitstayid"].isin(population["ID"])
    assert inside.sum() == 1200 and (~inside).sum() == 150
    assert (patients.loc[~inside, "unitdischargeoffset"] < 48 * 60).all()
    assert (patients.loc[inside, "unitdischargeoffset"] > 48 * 60).all()
    repeats = patients[inside].groupby("uniquepid")["hospitalid"].agg(["size", "nunique"])
    assert (repeats["size"] > 1).sum() > 50 and (repeats["nunique"] == 1).all()
    died = patients.set_index("patientunitstayid")["hospitaldischargestatus"].reindex(population["ID"]) == "Expired"
    np.testing.assert_array_equal(died, population["mortality_LABEL"] == 1)


@pytest.mark.parametrize("cohort", ["small", "large"])
def test_planted_features_lie_on_both_sides_of_the_rules(cohort, request):
    everything, kept = (getattr(request.getfixturevalue(cohort), name) for name in ("everything", "table"))
    planted = [name for name in everything.names if name.startswith("zz planted")]
    sizes = [len(everything.at(h).y) for h in (73, 264)]
    for name, counts in zip(planted, planted_counts(*sizes), strict=True):
        column = everything.names.index(name)
        assert tuple(int(everything.at(h).X[:, [column]].sum()) for h in (73, 264)) == counts
    assert [name in kept.names for name in planted] == [True, True, True, False, False, False]


def test_estimated_relative_missingness_is_the_truth_under_ucar(large):
    truth, table = large.truth, large.table
    estimate = estimate_relative_missingness(table.at(73).X, table.at(264).X, confidence=0.999)
    lossy = [j for j, name in enumerate(table.names) if name in truth["features"]]
    r = np.array([truth["features"][table.names[j]]["relative_missingness"] for j in lossy])
    outside = (r < estimate.lower[lossy]) | (r > estimate.upper[lossy])
    assert len(lossy) > 300 and outside.sum() <= 3
    assert (r < -0.2).any() and (r > 0.2).any()
    never_lost = np.setdiff1d(np.arange(len(table.names)), lossy)
    assert ((estimate.lower[never_lost] <= 0) & (estimate.upper[never_lost] >= 0)).all()


def test_nested_rates_are_nested(tmp_path):
    truth = simulate_eicu(tmp_path, size="test", mechanism="nested")
    rates = [f["rates"] for name, f in truth["features"].items() if not name.startswith("zz planted")]
    assert all(rate["73"] <= rate["264"] for rate in rates) and truth["assumptions"]["nested_rates"]


def lactate(table):
    """Columns of one variable, all its bins."""
    return table.X[:, [j for j, name in enumerate(table.names) if name.startswith("lactate_value")]].toarray()


def test_bins_vanish_together_in_block_ucar():
    # How often a stay has some bins of a variable: a block is lost whole, so the rest has as many bins as before.
    clean, block, single = (
        lactate(simulate_eicu_table(10_000, scenario=scenario, strength=strength))
        for scenario, strength in (("ucar", 0.0), ("block_ucar", 1.0), ("ucar", 1.0))
    )
    bins_if_any = [X.sum(axis=1)[X.any(axis=1)].mean() for X in (clean, block, single)]
    assert block.any(axis=1).mean() < 0.9 * clean.any(axis=1).mean()
    assert abs(bins_if_any[1] - bins_if_any[0]) < 0.05 < bins_if_any[0] - bins_if_any[2]


def test_hourly_loss_depends_on_the_clean_value():
    clean, lossy = (simulate_eicu_table(10_000, scenario="hourly", strength=strength) for strength in (0.0, 1.0))
    name = "noninvasivemean_max_(79.0, 87.0]"
    middle, extreme = (
        lossy.prevalence()[0, lossy.names.index(n)] / clean.prevalence()[0, clean.names.index(n)]
        for n in (name, "noninvasivemean_max_(98.0, 206.0]")
    )
    # One rate for all bins of the variable, yet those that a stay visits often survive better.
    assert extreme < middle - 0.02


def test_severity_is_taken_for_missingness():
    def estimates(strength):
        table = simulate_eicu_table(12_000, scenario="population", mechanism="severity", strength=strength)
        return pd.Series(estimate_relative_missingness(table.at(73).X, table.at(264).X).r, table.names)

    plain, shifted, further = (estimates(strength) for strength in (0.0, 1.0, 2.0))
    assert 0.02 < (shifted - plain).abs().mean() < (further - plain).abs().mean()


def target_errors(table, source, target):
    """MSE/Var(Y) of the closed form and the non-parametric adjustment above the oracle's, on held-out target stays."""
    here, there = table.at(source), table.at(target)
    half = len(there.y) // 2
    known, X, y = there.X[:half].toarray(), there.X[half:].toarray(), there.y[half:]
    labels = here.y.astype(float)
    models = (
        LinearRegression().fit(known, there.y[:half]),
        ClosedFormRegressor(gram="target").fit(here.X, labels, X_target=there.X[:half]),
        FilteredEstimator(LinearRegression(), safeguard=False, random_state=0).fit(
            here.X.toarray(), labels, X_target=known
        ),
    )
    oracle, *adjusted = (np.mean((model.predict(X) - y) ** 2) / y.var() for model in models)
    return np.array(adjusted) - oracle


def both_ways(table):
    return target_errors(table, 73, 264) + target_errors(table, 264, 73)


@pytest.fixture(scope="module")
def unviolated():
    table = simulate_eicu_table(12_000, scenario="population", strength=0.0)
    return table, both_ways(table)


# That the filter cannot follow is part of what it costs.
@pytest.mark.filterwarnings("ignore:The target records")
@pytest.mark.parametrize(
    ("scenario", "mechanism"), [("population", None), ("mar", None), ("mnar", "severity"), ("mnar", "outcome")]
)
def test_violated_assumptions_cost_more_the_further_they_are_violated(unviolated, scenario, mechanism):
    plain, once, twice = (
        simulate_eicu_table(12_000, scenario=scenario, mechanism=mechanism, strength=strength)
        for strength in (0.0, 1.0, 2.0)
    )
    # Without any strength the scenarios are one, and what adjustment costs there is found once.
    table, cost = unviolated
    assert plain.names == table.names and (plain.X != table.X).nnz == 0 and (plain.y == table.y).all()
    excess = [cost, both_ways(once), both_ways(twice)]
    assert (np.diff(excess, axis=0) > 0.005).all(), excess


@pytest.mark.parametrize("draw", range(4))
def test_closed_form_finds_the_oracle_of_the_same_stays(large_population, draw):
    """Stays recorded twice: coefficients of the features that death depends on agree within 5 %, whatever the rates."""
    rng = np.random.default_rng(draw)
    rates = FreeRates().sample(len(large_population.names), rng)
    here, there = (
        large_population.with_values(apply_missingness(large_population.X, m, random_state=rng)) for m in rates
    )
    oracle, others = oracle_and_others(here, there)
    distance = {name: np.linalg.norm(coef - oracle) / np.linalg.norm(oracle) for name, coef in others.items()}
    assert max(distance["printed"], distance["stabilised"]) < 0.05 < distance["source"]


@pytest.fixture(scope="module")
def large_population():
    """100,000 stays of which nothing was lost, with the six features that death depends on."""
    return of_causes(simulate_eicu_table(100_000, scenario="ucar", strength=0.0))


def of_causes(table):
    cat = catalogue("test")
    causes = {cat.timed_names[j] for j in cat.effects}
    chosen = table.select(np.flatnonzero([name in causes for name in table.names]))
    assert len(chosen.names) == 6
    return chosen


@pytest.fixture(scope="module")
def two_large_hospitals():
    """The scenario as it is by default, with 200,000 stays in each hospital."""
    return simulate_eicu_table(400_000, scenario="ucar")


CLOSED_FORMS = {
    "printed": ClosedFormRegressor(gram="target", stabilise=False),
    "stabilised": ClosedFormRegressor(gram="target"),
}


def oracle_and_others(here, there, methods=tuple(CLOSED_FORMS)):
    """Coefficients of the oracle, and by method those learnt elsewhere."""
    labels = here.y.astype(float)
    others = {name: CLOSED_FORMS[name].fit(here.X, labels, X_target=there.X).coef_ for name in methods}
    return fit_linear(there, "oracle").coef[:, 0], others | {"source": fit_linear(here, "source").coef[:, 0]}


def test_closed_form_finds_the_oracle_under_ucar(two_large_hospitals):
    """Coefficients of the features that death depends on agree within 5 %, where the source's do not by far."""
    table = of_causes(two_large_hospitals)
    for source, target in ((73, 264), (264, 73)):
        oracle, others = oracle_and_others(table.at(source), table.at(target))
        distance = {name: np.linalg.norm(coef - oracle) / np.linalg.norm(oracle) for name, coef in others.items()}
        assert max(distance["printed"], distance["stabilised"]) < 0.05 < 0.12 < distance["source"]


def test_all_that_parts_closed_form_and_oracle_under_ucar_is_noise(two_large_hospitals):
    """The same on the whole table, where two oracles of 200,000 stays each differ by more than 5 %.

    The mean of d = β − β_oracle over cohorts holds the systematic part and noise; how d scatters tells the noise.
    """
    table, cohorts = without_collinear_levels(two_large_hospitals), 8
    for source, target in ((73, 264), (264, 73)):
        gaps, oracles = [], []
        here, there = table.at(source), table.at(target)
        for k in range(cohorts):
            parts = (part.take(np.arange(k, len(part.y), cohorts)) for part in (here, there))
            oracle, others = oracle_and_others(*parts, methods=["printed"])
            oracles.append(oracle)
            gaps.append([others["printed"] - oracle, others["source"] - oracle])
        noise = np.var(gaps, axis=0, ddof=1).sum(axis=1) / cohorts
        systematic = np.square(np.mean(gaps, axis=0)).sum(axis=1) - noise
        printed, plain = systematic / np.square(np.mean(oracles, axis=0)).sum()
        assert printed < 0.05**2 < 0.12**2 < plain


def without_collinear_levels(table):
    """Leave out the commonest level of each static variable: all of them add up to one."""
    share = table.prevalence()[0]
    groups = [
        [j for j, name in enumerate(table.names) if name.startswith(variable.prefix)]
        for variable in catalogue("test").static
    ]
    left_out = [max(levels, key=share.__getitem__) for levels in groups]
    return table.select(np.setdiff1d(np.arange(len(table.names)), left_out))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": "huge"}, "size must be one of default, test, got 'huge'"),
        ({"scenario": "mcar"}, "scenario must be one of ucar, block_ucar, hourly, population, mar, mnar, got 'mcar'"),
        ({"mechanism": "outcome"}, "mechanism of 'ucar' must be one of mixed, nested, got 'outcome'"),
        ({"strength": 1.5}, r"strength of 'ucar' must lie in \[0, 1\], got 1.5"),
        ({"scenario": "mar", "strength": -1}, "strength of 'mar' must lie at or above 0, got -1"),
        ({"n_stays": 30}, "n_stays must be at least 200"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        simulate_eicu_table(**arguments)
