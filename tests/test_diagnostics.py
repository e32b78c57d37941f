"""The tests of UCAR: right size, power against what breaks it, and blame where it belongs."""

import dataclasses
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dams import _ucar_statistics, apply_missingness, check_ucar
from dams._ucar_statistics import MIN_EXPECTED, Checks, all_checks, judge, make_domains
from dams.diagnostics import _cover, prepare_check

NAMES = ["flag", "rare", "count", "value", "tail"]


def clean(n, rng):
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "flag": (z + rng.normal(size=n) > 0).astype(float),
            "rare": (rng.random(n) < 0.1).astype(float),
            "count": rng.poisson(np.exp(z / 2)).astype(float),
            "value": z + rng.normal(size=n),
            "tail": np.exp(2 * rng.normal(size=n) + z),
        }
    )


def shifted(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = clean(2 * n, rng)
    source = apply_missingness(X[:n], rng.uniform(0, 0.6, 5), random_state=rng)
    target = apply_missingness(X[n:], rng.uniform(0, 0.6, 5), random_state=rng)
    return source, target, X[n:]


def test_the_level_is_kept_under_ucar():
    p = np.array([check_ucar(*shifted(1500, seed)[:2], n_bootstrap=200, random_state=0).p_value for seed in range(80)])
    # 5 % ± 3 standard errors, and p-values that are neither bunched up nor far from uniform.
    assert (p < 0.05).mean() < 0.125
    assert 0.3 < (p < 0.5).mean() < 0.68


def test_missingness_that_depends_on_another_feature_is_found_and_blamed():
    source, target, X = shifted()
    z = (X["value"] - X["value"].mean()) / X["value"].std()
    lost = np.random.default_rng(9).random(len(X)) < 1 / (1 + np.exp(-z))
    target["count"] = np.where(lost, 0, X["count"])
    report = check_ucar(source, target, random_state=0)
    assert report.rejected and report.p_by_family["pairs"] < 0.05
    assert report.suspects == ["count"]
    assert "UCAR is rejected" in str(report) and "Suspect: count" in str(report)


def test_another_law_of_the_values_is_found():
    source, target, _ = shifted()
    target["tail"] *= 1.5
    report = check_ucar(source, target, random_state=0)
    assert report.rejected and report.p_by_family["values"] < 0.05
    assert report.suspects[0] == "tail"


def test_impossible_probabilities_are_found():
    rng = np.random.default_rng(0)
    always = (rng.random(4000) < 0.3).astype(float)
    source = np.column_stack([always, always])
    target = np.column_stack([np.ones(4000), (rng.random(4000) < 0.3).astype(float)])
    report = check_ucar(source, target, random_state=0)
    assert report.p_by_family["bounds"] < 0.05
    assert (report.checks.query("kind == 'bounds'").statistic > 1).any()


def test_nothing_to_report_reads_so():
    source, target, _ = shifted(seed=3)
    text = str(check_ucar(source, target, random_state=0))
    assert text.startswith("Nothing speaks against UCAR (p = ") and "3,000 source" in text
    assert "which does not prove it. It looks at covariates alone: loss that depends on the outcome" in text


def test_a_report_shows_its_verdict_and_still_compares():
    report = check_ucar(*shifted(200)[:2], random_state=0)
    assert repr(report) == str(report)
    assert report == dataclasses.replace(report)
    assert report != dataclasses.replace(report, alpha=0.01)


def test_too_little_to_check():
    X = np.zeros((100, 2))
    X[0] = 1
    report = check_ucar(X, X)
    assert report.p_value == 1 and not report.rejected and report.suspects == []
    assert str(report).startswith("UCAR could not be checked")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("flag", "any share of nonzeros fits a single column with one nonzero value"),
        ("values", "too few nonzero values are observed to compare their laws"),
        ("constants", "too few values are observed together, or they never vary"),
    ],
)
def test_nothing_to_check_says_why(kind, why):
    rng = np.random.default_rng(0)
    X = {
        "flag": (rng.random((5000, 1)) < 0.5).astype(float),
        "values": np.vstack([rng.normal(size=(9, 1)), np.zeros((91, 1))]),
        "constants": np.vstack([np.ones((100, 2)), np.zeros((1, 2))]),
    }
    report = check_ucar(X[kind], X[kind])
    assert report.checks.empty
    assert str(report).startswith(f"UCAR could not be checked: {why}")


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 20), (0.01, 100), (0.03, 33)])
def test_too_few_draws_to_reject_are_refused(alpha, least):
    source, target, _ = shifted(1000)
    target["tail"] *= 10
    with pytest.raises(ValueError, match=f"at least {least} for a verdict at alpha={alpha}, got {least - 1}"):
        check_ucar(source, target, alpha=alpha, n_bootstrap=least - 1)
    assert 1 / least >= alpha > 1 / (least + 1)
    assert check_ucar(source, target, alpha=alpha, n_bootstrap=least, random_state=0).rejected


def test_variances_under_the_null_are_those_of_repeated_samples():
    estimates, errors = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = clean(1200, rng).to_numpy()
        source = apply_missingness(X[:600], [0.2, 0.0, 0.3, 0.4, 0.1], random_state=rng)
        target = apply_missingness(X[600:], [0.4, 0.0, 0.1, 0.2, 0.3], random_state=rng)
        found = {checks.kind: checks for checks in all_checks(*make_domains(source, target))}
        for checks, pair in [(found["pairs"], (0, 2)), (found["values"], (4, -1))]:
            first = np.flatnonzero((checks.first == pair[0]) & (checks.second == pair[1]))[0]
            estimates.append(checks.estimate[first])
            errors.append(checks.error[first])
    spread = np.std(np.reshape(estimates, (-1, 2)), axis=0)
    np.testing.assert_allclose(spread, np.mean(np.reshape(errors, (-1, 2)), axis=0), rtol=0.2)


def checks_of(source, target, kind):
    found = [check for check in all_checks(*make_domains(source, target)) if check.kind == kind]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("n", [625, 3000])
def test_the_order_of_rows_does_not_matter_to_the_statistics(n):
    """625 rows make 250 blocks of two sizes."""
    source, target, _ = shifted(n)
    shuffled = target.sample(frac=1, random_state=5)
    for kind in ("pairs", "values"):
        one, other = (checks_of(source.to_numpy(), X.to_numpy(), kind) for X in (target, shuffled))
        np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(one.z, other.z, rtol=1e-4, atol=1e-4)


def test_pairs_are_what_they_are_called():
    source, target, _ = shifted(3001)
    check = checks_of(source.to_numpy(), target.to_numpy(), "pairs")
    # Flags have no ranks, so their one check is that of their presences.
    (which,) = np.flatnonzero((check.first == 0) & (check.second == 1))
    present = [(X[["flag", "rare"]] != 0).to_numpy() for X in (source, target)]
    ratios = [X.all(axis=1).mean() / X.mean(axis=0).prod() for X in present]
    assert check.estimate[which] == pytest.approx(ratios[1] - ratios[0], rel=1e-6)


def test_shares_of_values_have_the_z_of_two_proportions():
    source, target, _ = shifted()
    check = checks_of(source.to_numpy(), target.to_numpy(), "values")
    values = [X["value"].to_numpy() for X in (source, target)]
    values = [v[v != 0] for v in values]
    limit = np.quantile(np.concatenate(values), 0.1)
    hits, counts = np.array([(v < limit).sum() for v in values]), np.array([len(v) for v in values])
    pooled = hits.sum() / counts.sum()
    expected = np.diff(hits / counts) / np.sqrt(pooled * (1 - pooled) * (1 / counts).sum())
    assert check.z[check.first == NAMES.index("value")][0] == pytest.approx(expected.item(), rel=0.02)


def test_influences_are_what_a_block_moves_the_estimate_by():
    """The joint law of all checks rests on them: compared with leaving a block out."""
    rng = np.random.default_rng(6)
    source, target = (apply_missingness(clean(5000, rng), 0.3, random_state=rng).to_numpy() for _ in range(2))
    whole = checks_of(source, target, "pairs")
    blocks = range(0, _ucar_statistics.N_BLOCKS, 10)
    moved = [
        whole.estimate - _pairs(source, np.delete(target, np.s_[g :: _ucar_statistics.N_BLOCKS], 0)) for g in blocks
    ]
    for check in range(len(whole.estimate)):
        influence = whole.influence[1][list(blocks), check]
        assert np.corrcoef(influence, np.array(moved)[:, check])[0, 1] > 0.98


def _pairs(source, target):
    """Estimates of all pairs, whatever the order of rows."""
    return checks_of(source, target, "pairs").estimate


def test_a_feature_may_have_an_empty_name():
    source, target, X = shifted()
    target["count"] = np.where(X["value"] > 0.5, 0, X["count"])
    named = check_ucar(source, target, random_state=0)
    for name in ("value", "count"):
        other = {name: ""}
        found = check_ucar(source.rename(columns=other), target.rename(columns=other), random_state=0)
        position = NAMES.index(name)
        assert found.suspects == [f"column {position}" if s == name else s for s in named.suspects]


def test_without_a_zero_nothing_is_missing():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.warns(UserWarning, match="Neither source nor target holds a zero") as caught:
        check_ucar(X, X, random_state=0)
    assert caught[0].filename == __file__


def test_pooled_ranks_are_midranks():
    source, target = np.array([[1.0], [0.0], [5.0]]), np.array([[1.0], [9.0], [0.0]])
    tables = [np.vstack([table, np.zeros((1, 1))]) for table in (source, target)]
    domains = make_domains(*tables)
    # Four rows are two blocks: rows 0 and 2, rows 1 and 3.
    first, third = 2 * (1.5 - 0.5) / 4 - 1, 2 * (3 - 0.5) / 4 - 1
    np.testing.assert_allclose(domains[0].ranks[0], [[first, third], [0, 0]])
    np.testing.assert_allclose(domains[1].ranks[0], [[first, 0], [2 * (4 - 0.5) / 4 - 1, 0]])
    assert domains[0].present(0).tolist() == [[True, True], [False, False]]


def test_a_few_blocks_at_a_time_give_what_all_give(monkeypatch):
    source, target, X = shifted(1999)
    target["count"] = np.where(X["value"] > 0.5, 0, target["count"])
    known = {"always_recorded": ["flag"], "column_groups": [["tail", "rare"]]}
    source["flag"], target["flag"] = np.ones(1999), np.arange(1999) % 3
    source.iloc[::2, 0] = 0
    whole = check_ucar(source, target, random_state=0, **known)
    monkeypatch.setattr("dams._ucar_domains.BYTES_AT_ONCE", 2_000)
    parts = check_ucar(source, target, random_state=0, **known)
    assert parts.p_value == whole.p_value and parts.suspects == whole.suspects
    keys = ["kind", "feature", "other", "feature_by_value", "other_by_value", "statistic"]
    sorted_z = [report.checks.sort_values(keys)["z"].to_numpy() for report in (whole, parts)]
    np.testing.assert_allclose(sorted_z[1], sorted_z[0], rtol=1e-4, atol=1e-4)


def test_reading_takes_less_than_the_memory_of_the_tables():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(20_000, 60)) * (rng.random((20_000, 60)) < 0.7) for _ in range(2)]
    nothing = dict.fromkeys(("always_recorded", "column_groups", "groups", "groups_target"))
    tracemalloc.start()
    prepared = prepare_check(*tables, **nothing)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert prepared.n_with_values == 60
    assert peak < 0.85 * sum(table.nbytes for table in tables)


def test_arrays_sparse_and_frames_agree():
    source, target, _ = shifted(500)
    frame = check_ucar(source, target[["tail", "value", "count", "rare", "flag"]], random_state=0)
    array = check_ucar(source.to_numpy(), target.to_numpy(), random_state=0)
    matrix = check_ucar(sparse.csr_array(source.to_numpy()), sparse.csr_array(target.to_numpy()), random_state=0)
    assert frame.p_value == array.p_value == matrix.p_value
    assert set(frame.checks["feature"]) <= set(NAMES)
    assert set(array.checks["feature"]) <= {f"column {j}" for j in range(5)}


def test_same_seed_same_report():
    source, target, _ = shifted(500)
    first, second = (check_ucar(source, target, random_state=4) for _ in range(2))
    pd.testing.assert_frame_equal(first.checks, second.checks)


def test_checks_come_most_significant_first():
    source, target, _ = shifted(500)
    assert check_ucar(source, target, random_state=0).checks["p_value"].is_monotonic_increasing


def test_a_feature_never_seen_in_the_target_is_left_out():
    source, target, _ = shifted(500)
    target["value"] = 0.0
    checks = check_ucar(source, target, random_state=0).checks
    assert "value" not in set(checks["feature"]) | set(checks["other"])


def test_messages():
    source, target, _ = shifted(100)
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1, got 2"):
        check_ucar(source, target, alpha=2)
    with pytest.raises(ValueError, match=f"X_target needs at least {2 * MIN_EXPECTED} rows for a test, got 10"):
        check_ucar(source, target[:10])
    with pytest.raises(ValueError, match="X_target is None: give a table"):
        check_ucar(source, None)
    with pytest.raises(ValueError, match="same columns as the source"):
        check_ucar(source, target.drop(columns="flag"))


def one_sided(influence, z):
    """One check with these influences by source block, z standard errors off."""
    column, index = (influence - influence.mean())[:, None], np.zeros(1, dtype=int)
    check = Checks("bounds", index, index, np.zeros(1), (column, np.zeros_like(column)))
    return Checks("bounds", index, index, z * check.error, check.influence)


def test_the_bootstrap_knows_that_rare_counts_are_skewed():
    counts = np.repeat([0.0, 1.0, 3.0], [20, 8, 2])
    p = [judge([one_sided(sign * counts, 3.0)], 200_000, np.random.default_rng(0))[1]["bounds"] for sign in (1, -1)]
    # A normal law would have 0.00135 on both sides.
    assert p[0] > 0.003
    assert p[1] < 0.0008


def test_batches_of_checks_leave_no_trace(monkeypatch):
    source, target, _ = shifted(500)
    whole = check_ucar(source, target, random_state=0)
    monkeypatch.setattr(_ucar_statistics, "AT_ONCE", 7)
    pd.testing.assert_frame_equal(check_ucar(source, target, random_state=0).checks, whole.checks)


def test_of_two_features_of_one_check_the_one_that_is_off_elsewhere_is_blamed():
    rows = [("pairs", "cause", "lost", 6.0, 0.001), ("pairs", "cause", "x", 0.1, 1.0), ("pairs", "lost", "x", 2.5, 0.4)]
    checks = pd.DataFrame(rows, columns=["kind", "feature", "other", "z", "p_value"])
    assert _cover(checks, 0.05) == ["lost"]
    assert _cover(checks, 0.5) == ["lost"]
    assert _cover(checks, 0.0001) == []


def test_features_that_are_hardly_ever_lost_raise_no_alarm():
    rng = np.random.default_rng(0)
    X = np.ones((21_000, 10))
    reports = [
        check_ucar(
            apply_missingness(X[:1000], 0.02, random_state=rng),
            apply_missingness(X[1000:], 0.05, random_state=rng),
            n_bootstrap=99,
            random_state=0,
        )
        for _ in range(12)
    ]
    assert sum(report.rejected for report in reports) <= 2


def test_the_effect_is_the_ratio_to_what_ucar_expects():
    rng = np.random.default_rng(0)
    X = (rng.random((40_000, 2)) < 0.5).astype(float)
    # Where the first is present, the target keeps three fifths of the second, elsewhere all: four fifths on the whole.
    kept = (X[20_000:, 0] == 0) | (rng.random(20_000) < 0.6)
    target = X[20_000:] * np.column_stack([np.ones(20_000), kept])
    report = check_ucar(X[:20_000], target, random_state=0)
    pair = report.checks.query("kind == 'pairs'").iloc[0]
    assert pair.effect == pytest.approx(0.6 / 0.8, abs=0.03)
    assert pair.effect_lower < 0.6 / 0.8 < pair.effect_upper
    assert "The largest departure: presence of column 0 given column 1 is 0.7" in str(report)
    assert report.largest_departure.effect == pair.effect


def test_the_effect_by_values_is_that_at_the_highest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(60_000) + 1, rng.random(60_000) < 0.5]).astype(float)
    source, target = apply_missingness(X[:30_000], [0.1, 0.2], random_state=1), X[30_000:].copy()
    # Kept with a probability that goes from .9 to .3 with the rank: .6 on the whole, half of it at the highest.
    target[rng.random(30_000) > 0.9 - 0.6 * (target[:, 0] - 1), 1] = 0
    report = check_ucar(source, target, random_state=0)
    worst = report.checks.iloc[0]
    assert (worst.feature, worst.feature_by_value, worst.other_by_value) == ("column 0", True, False)
    assert worst.effect == pytest.approx(0.5, abs=0.05)
    assert "presence of column 1 at the highest values of column 0 is 0.5" in str(report)


def test_a_harmless_rejection_has_a_small_effect():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(200_000) < 0.5, rng.random(200_000) < 0.5]).astype(float)
    target = X[100_000:].copy()
    target[(target[:, 0] != 0) & (rng.random(100_000) < 0.03), 1] = 0
    report = check_ucar(X[:100_000], target, random_state=0)
    assert report.rejected
    assert 0.95 < report.largest_departure.effect < 1.05


def test_p_values_by_family():
    report = check_ucar(*shifted(500)[:2], random_state=0)
    assert list(report.p_by_family) == ["pairs", "values", "bounds", "absences", "together", "population"]
    assert report.p_by_family["together"] == report.p_by_family["population"] == 1
    # Fewer checks, a smaller p-value: that of the family with the most significant check is below that of all.
    assert min(report.p_by_family.values()) <= report.p_value == report.checks["p_value"].min()
