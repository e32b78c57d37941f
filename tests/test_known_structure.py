"""Columns that are always recorded, columns that are lost together, rows that belong together: r and its test."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from benchmarks.known_structure import RATES, by_panel, by_patient, by_sex, lose, measure, one_by_one
from dams import ClosedFormRegressor, check_ucar, estimate_relative_missingness
from dams._rows import tally
from dams.estimators._base import compare_with_target, read_rows
from dams.relative import from_counts

DRAWS = 99


def simulate(draw, n, *, seed, told=True):
    """Reports and estimates of n draws of a design of the benchmark."""
    found = []
    for run in range(n):
        rng = np.random.default_rng([seed, run])
        source, target, r, known = draw(rng)
        known = known if told else {}
        relative = estimate_relative_missingness(source, target, **known)
        found.append((check_ucar(source, target, n_bootstrap=DRAWS, random_state=rng, **known), relative, r))
    return found


def rejected(found):
    return np.mean([report.rejected for report, _, _ in found])


def covered(found):
    return np.mean([(e.lower <= r) & (r <= e.upper) for _, e, r in found])


def standard_error(n, level=0.05):
    return np.sqrt(level * (1 - level) / n)


def test_the_committed_measurements_keep_their_levels():
    table = pd.read_csv(Path(__file__).parents[1] / "docs" / "check_ucar_known.csv", index_col="design")
    assert (table["simulations"] >= 400).all()
    level = [
        "1 row per patient",
        "2 rows per patient",
        "4 rows per patient",
        "8 rows per patient",
        "8 rows, 100 patients",
    ]
    level += ["sex, unrelated to the rest", "panels"]
    assert table.loc[level, "rejected_told"].between(0.02, 0.08).all()
    assert table.loc[level, "covered_told"].between(0.92, 0.98).all()
    assert table.loc[level, "least_covered_told"].between(0.92, 0.98).all()
    assert table.loc[level, "all_covered_told"].between(0.92, 0.98).all()
    assert (table.loc[["sex, unrelated to the rest", "panels"], "rejected_untold"] > 0.99).all()
    assert table.loc["1 row per patient", "rejected_untold"] == table.loc["1 row per patient", "rejected_told"]


class TestRowsThatBelongTogether:
    @pytest.mark.parametrize("rows", [2, 8])
    def test_levels_hold_with_groups_and_not_without(self, rows):
        told = simulate(lambda rng: by_patient(200, rows, rng), 60, seed=1)
        assert rejected(told) < 0.05 + 3 * standard_error(60)
        assert abs(covered(told) - 0.95) < 0.035
        if rows == 8:
            untold = simulate(lambda rng: by_patient(200, rows, rng), 30, seed=1, told=False)
            assert rejected(untold) > 0.5
            assert covered(untold) < 0.75

    def test_ids_of_single_rows_change_nothing(self):
        source, target, _, _ = by_patient(300, 1, np.random.default_rng(0))
        ids = {"groups": np.arange(300)[::-1], "groups_target": [f"p{i}" for i in range(300)]}
        plain, grouped = (estimate_relative_missingness(source, target, **known) for known in ({}, ids))
        pd.testing.assert_frame_equal(plain.to_frame(), grouped.to_frame())
        plain, grouped = (check_ucar(source, target, random_state=0, **known) for known in ({}, ids))
        pd.testing.assert_frame_equal(plain.checks, grouped.checks)

    def test_copied_rows_are_worth_one_each(self):
        """Each row four times, as groups: nothing more is known than from the rows themselves."""
        source, target, _, _ = by_patient(400, 1, np.random.default_rng(0))
        once = estimate_relative_missingness(source, target)
        ids = np.repeat(np.arange(400), 4)
        copied = [np.repeat(part, 4, axis=0) for part in (source, target)]
        grouped = estimate_relative_missingness(*copied, groups=ids, groups_target=ids)
        np.testing.assert_allclose(grouped.worth[0].independent, 400, rtol=0.01)
        np.testing.assert_allclose(grouped.lower, once.lower, atol=0.01)
        np.testing.assert_allclose(grouped.upper, once.upper, atol=0.01)
        report = check_ucar(*copied, groups=ids, groups_target=ids, random_state=0)
        plain = check_ucar(source, target, random_state=0)
        assert len(report.checks) == len(plain.checks)
        key = ["kind", "feature", "other", "feature_by_value", "other_by_value", "statistic"]
        z = [r.checks.assign(statistic=r.checks["statistic"].round(6)).sort_values(key)["z"] for r in (report, plain)]
        # 200 blocks of rows by chance in another order estimate how much copies vary.
        np.testing.assert_allclose(z[0].to_numpy(), z[1].to_numpy(), rtol=0.35, atol=0.05)

    @pytest.mark.parametrize("method", ["delta", "bootstrap", "hoeffding"])
    def test_every_method_is_wider_with_groups(self, method):
        source, target, _, known = by_patient(300, 4, np.random.default_rng(0))
        plain, grouped = (
            estimate_relative_missingness(source, target, method=method, random_state=0, **k) for k in ({}, known)
        )
        np.testing.assert_array_equal(plain.r, grouped.r)
        widths = [estimate.upper - estimate.lower for estimate in (grouped, plain)]
        # A real number is only zero where it is lost, which happens row by row.
        assert (widths[0] > 0.97 * widths[1]).all() and (np.delete(widths[0] / widths[1], 3) > 1.2).all()
        if method == "bootstrap":
            delta = estimate_relative_missingness(source, target, **known)
            np.testing.assert_allclose(grouped.upper, delta.upper, atol=0.03)

    def test_few_groups_are_covered(self):
        """Six patients in each domain: by the normal law 93 %."""
        r, ids, inside = (1 - (1 - RATES[1]) / (1 - RATES[0]))[[0, 4]], np.repeat(np.arange(6), 30), []
        for seed in range(150):
            rng = np.random.default_rng([10, seed])
            tables = [lose(measure(6, 30, rng, shared=0.5), rates, rng)[:, [0, 4]] for rates in RATES]
            relative = estimate_relative_missingness(*tables, groups=ids, groups_target=ids)
            inside.append((relative.lower <= r) & (r <= relative.upper))
        assert np.mean(inside) > 0.94

    def test_groups_of_very_unequal_sizes_are_covered(self):
        """Most patients have one or two rows and a few have dozens; the intervals hold for all features at once."""
        q, r = np.array([0.3, 0.5, 0.7, 0.4, 0.6, 0.2]), np.array([0.5, -0.4, 0.0, 0.3, -0.2, -0.5])
        inside = []
        for seed in range(300):
            rng = np.random.default_rng([11, seed])
            tables, ids = [], []
            for shares in (q, q * (1 - r)):
                sizes = np.ceil(rng.pareto(1.5, 300) + 0.5).astype(int)
                ids.append(np.repeat(np.arange(300), sizes)[:300])
                # Half of the rows show what their patient shows, the others what they like.
                shown, of_patient = (rng.random((300, 6)) < shares for _ in range(2))
                tables.append(np.where(rng.random((300, 6)) < 0.5, of_patient[ids[-1]], shown).astype(float))
            relative = estimate_relative_missingness(*tables, groups=ids[0], groups_target=ids[1])
            inside.append(((relative.simultaneous_lower <= r) & (r <= relative.simultaneous_upper)).all())
        assert np.mean(inside) > 0.9

    def test_errors_of_groups_of_unequal_sizes_are_unbiased(self):
        """Shares of groups, each one value throughout: the estimated variance is that of q̂ over many samples."""
        sizes, shares, estimates = np.array([60, 20, 10, 5, 5]), [], []
        ids, rng = np.repeat(np.arange(5), sizes), np.random.default_rng(0)
        for _ in range(4000):
            shown = rng.random(5) < 0.5
            found = tally(shown[ids][:, None].astype(float), np.zeros(1, dtype=int), ids)
            shares.append(found.q[0])
            # Samples of one value throughout show no spread.
            varies = shown.any() and not shown.all()
            estimates.append(found.q[0] * (1 - found.q[0]) / found.independent[0] if varies else 0)
        assert np.mean(estimates) == pytest.approx(np.var(shares), rel=0.05)

    def test_hoeffding_counts_groups_by_their_sizes(self):
        source, target, _, _ = by_patient(100, 1, np.random.default_rng(0))
        ids = np.repeat(np.arange(50), 2)
        grouped = estimate_relative_missingness(source, target, method="hoeffding", groups=ids, groups_target=ids)
        shares = grouped.q_source, grouped.q_target
        few = from_counts(*(50 * q for q in shares), 50, 50, method="hoeffding")
        np.testing.assert_allclose(grouped.lower, few.lower)
        np.testing.assert_allclose(grouped.upper, few.upper)

    def test_a_column_without_a_zero_is_as_sure_as_its_groups(self):
        ids = np.repeat(np.arange(5), 200)
        source, target = np.ones((1000, 1)), np.ones((1000, 1))
        source[::4] = 0
        grouped = estimate_relative_missingness(source, target, groups_target=ids)
        few = from_counts(np.array([750]), np.array([5]), 1000, 5)
        np.testing.assert_allclose(grouped.upper, few.upper, rtol=0.05)

    def test_a_proper_filter_is_called_so_at_the_level(self):
        rng = np.random.default_rng(3)
        ids, proper = np.repeat(np.arange(200), 8), {"told": [], "untold": []}
        for _ in range(150):
            tables = [lose(measure(200, 8, rng), RATES[0], rng) for _ in range(2)]
            for name, known in (("told", {"groups": ids, "groups_target": ids}), ("untold", {})):
                proper[name].append(estimate_relative_missingness(*tables, **known).is_proper)
        assert np.mean(proper["told"]) > 0.95 - 3 * standard_error(150)
        assert np.mean(proper["untold"]) < 0.8

    def test_one_feature_recorded_better_is_found(self):
        source, target, r, known = by_patient(500, 4, np.random.default_rng(0))
        relative = estimate_relative_missingness(source, target, **known)
        assert r.min() < -0.4 and not relative.is_proper
        assert "2,000 source rows in 500 groups and 2,000 target rows in 500 groups" in str(relative)

    def test_sparse_equals_dense(self):
        source, target, _, known = by_patient(300, 2, np.random.default_rng(0))
        known |= {"column_groups": [[0, 2]]}
        matrices = [sparse.csr_array(part) for part in (source, target)]
        dense, thin = (estimate_relative_missingness(*p, **known).to_frame() for p in ((source, target), matrices))
        pd.testing.assert_frame_equal(dense, thin)
        assert check_ucar(source, target, random_state=0, **known).p_value == (
            check_ucar(*matrices, random_state=0, **known).p_value
        )

    @pytest.mark.parametrize(
        ("ids", "told"),
        [
            (np.arange(9), "groups must hold one id per row, 100, got 9"),
            (np.zeros((100, 1)), r"one id per row, 100, got an array of shape \(100, 1\)"),
            (np.append(np.nan, np.arange(99)), "groups has no id in 1 rows"),
            (np.zeros(100), "groups puts all 100 rows into one group"),
        ],
    )
    def test_what_are_no_ids_is_refused(self, ids, told):
        X = np.eye(100, 2)
        for ask in (estimate_relative_missingness, check_ucar):
            with pytest.raises(ValueError, match=told):
                ask(X, X, groups=ids)

    def test_too_few_groups_are_refused(self):
        X = np.eye(100, 2)
        with pytest.raises(ValueError, match="X_target needs at least 40 groups of rows for a test, got 20"):
            check_ucar(X, X, groups_target=np.arange(100) // 5)


class TestAlwaysRecorded:
    def test_a_complete_one_hot_group_of_another_mix_is_exposed(self):
        # Untold, it is found in every single one.
        untold, told = (simulate(lambda rng: by_sex(1000, rng), n, seed=2, told=n > 10) for n in (10, 40))
        assert rejected(untold) == 1
        assert rejected(told) < 0.05 + 3 * standard_error(40)
        worst = untold[0][0].checks.iloc[0]
        assert (worst.kind, worst.feature, worst.other) == ("absences", "column 0", "column 1")
        assert worst.effect == pytest.approx(0.75 / 0.52, rel=0.15)
        assert "column 0 would be observed in more than all rows without column 1" in str(untold[0][0])
        assert told[0][0].population_differs == ["column 0", "column 1"]
        assert "Populations differ in column 0, column 1, always recorded" in str(told[0][0])
        assert told[0][0].p_by_family["population"] < 0.05 < told[0][0].p_value

    def test_many_levels_are_exposed_too(self):
        rng = np.random.default_rng(0)
        sites = [rng.choice(5, 2000, p=p) for p in ([0.2] * 5, [0.3, 0.25, 0.15, 0.15, 0.15])]
        tables = [np.column_stack([np.eye(5)[s], lose(measure(2000, 1, rng), RATES[0], rng)]) for s in sites]
        report = check_ucar(*tables, random_state=0)
        assert report.rejected and report.p_by_family["absences"] < 0.05
        assert "column 0" in report.suspects
        assert not check_ucar(*tables, random_state=0, always_recorded=range(5)).rejected

    def test_the_same_mix_raises_no_alarm(self):
        p = []
        for seed in range(150):
            rng = np.random.default_rng([4, seed])
            female = (rng.random(2000) < 0.52).astype(float)
            X = np.column_stack([female, 1 - female, rng.random((2000, 2)) < 0.5]).astype(float)
            p.append(check_ucar(X[:1000], X[1000:], n_bootstrap=DRAWS, random_state=rng).p_by_family["absences"])
        # Which of the two levels is seen more often in the target is chance, and counted as such.
        assert np.mean(np.array(p) < 0.2) < 0.2 + 3 * standard_error(150, 0.2)

    def test_few_rows_that_all_have_a_feature_by_chance_raise_no_alarm(self):
        """Some 30 of 1,000 rows lack one of 30 features, and the target records the first better."""
        alarms = 0
        for seed in range(40):
            rng = np.random.default_rng([5, seed])
            rates = np.append(0.15, np.full(30, 0.03)), np.append(0.01, np.full(30, 0.03))
            source, target = (lose(np.ones((1000, 31)), m, rng) for m in rates)
            alarms += check_ucar(source, target, n_bootstrap=DRAWS, random_state=rng).rejected
        assert alarms / 40 < 0.05 + 3 * standard_error(40)

    @pytest.mark.parametrize("coded", [[0, 1], [1, 2], [1, 5]])
    def test_loss_that_depends_on_sex_is_found_whatever_the_mix_and_the_code(self, coded):
        found = []
        for depends in (False, True):
            rng = np.random.default_rng(6)
            tables = []
            for share, rates in zip((0.52, 0.75), RATES, strict=True):
                female = rng.random(3000) < share
                X = lose(measure(3000, 1, rng), rates, rng)
                if depends and share == 0.75:
                    X[female & (rng.random(3000) < 0.3), 0] = 0
                tables.append(np.column_stack([np.where(female, coded[1], coded[0]), X]))
            found.append(check_ucar(*tables, random_state=0, always_recorded=[0]))
        assert not found[0].rejected
        assert found[1].rejected and found[1].suspects == ["column 1"]
        worst = found[1].checks.iloc[0]
        assert (worst.kind, worst.feature, worst.other) == ("pairs", "column 1", "column 0")

    def test_loss_that_depends_on_age_is_found_by_quintile(self):
        rng = np.random.default_rng(7)
        tables = []
        for older, rates in zip((0, 5), RATES, strict=True):
            age = 50 + older + 15 * rng.normal(size=4000)
            X = lose(measure(4000, 1, rng), rates, rng)
            tables.append(np.column_stack([age, X]))
        known = {"always_recorded": [0], "random_state": 0}
        report = check_ucar(*tables, **known)
        assert not report.rejected and report.population_differs == ["column 0"]
        tables[1][(tables[1][:, 0] > 70) & (rng.random(4000) < 0.4), 4] = 0
        report = check_ucar(*tables, **known)
        assert report.rejected and report.suspects == ["column 4"]

    def test_r_is_zero_and_the_shares_are_told(self):
        source, target, _, known = by_sex(1000, np.random.default_rng(0))
        relative = estimate_relative_missingness(source, target, **known)
        for name in ("r", "lower", "upper", "simultaneous_lower", "simultaneous_upper"):
            np.testing.assert_array_equal(getattr(relative, name)[:2], 0)
        np.testing.assert_allclose(relative.q_target[0], 0.75, atol=0.05)
        np.testing.assert_array_equal(relative.always_recorded, [True] * 2 + [False] * 7)
        assert not relative.improper[:2].any()
        assert "2 are always recorded" in str(relative)
        plain = estimate_relative_missingness(source, target)
        np.testing.assert_array_equal(relative.lower[2:], plain.lower[2:])
        # Fewer estimates, narrower simultaneous intervals.
        assert (relative.simultaneous_lower[2:] > plain.simultaneous_lower[2:]).all()

    def test_it_is_proper_where_only_an_always_recorded_column_is_seen_more_often(self):
        counts = np.array([520, 500]), np.array([750, 300])
        assert not from_counts(*counts, 1000, 1000).is_proper
        assert from_counts(*counts, 1000, 1000, always_recorded=np.array([True, False])).is_proper

    def test_a_level_that_is_missing_in_one_place_is_no_reason_to_refuse(self):
        X = np.column_stack([np.zeros(100), np.arange(100) % 3 == 0, np.arange(100) % 2]).astype(float)
        other = X.copy()
        other[:, 0], other[:, 1] = 1, 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            relative = estimate_relative_missingness(X, other, always_recorded=[0, 1])
        np.testing.assert_array_equal(relative.r[:2], 0)

    def test_a_column_without_a_zero_counts_as_recorded_but_not_as_known(self):
        X = np.column_stack([np.ones(100), np.arange(100) % 2]).astype(float)
        relative = estimate_relative_missingness(X, X)
        np.testing.assert_array_equal(relative.always_recorded, [True, False])
        assert relative.lower[0] < 0 < relative.upper[0]

    def test_where_nothing_is_lost_there_is_nothing_to_check(self):
        X = np.eye(100, 2) + np.arange(100)[:, None] % 2
        text = str(check_ucar(X, X, always_recorded=[0, 1]))
        assert text.startswith("UCAR could not be checked: every column is always recorded")
        assert "0 show no clear difference; 2 are always recorded" in str(
            estimate_relative_missingness(X, X, always_recorded=[0, 1])
        )

    def test_true_zeros_do_not_hide_that_nothing_is_lost(self):
        X = np.column_stack([np.arange(100) % 2, np.ones(100)]).astype(float)
        with pytest.warns(UserWarning, match="Neither source nor target holds a zero"):
            estimate_relative_missingness(X, X, always_recorded=[0])

    def test_estimators_hand_their_keywords_on(self):
        source, target, _, known = by_sex(500, np.random.default_rng(0))
        model = ClosedFormRegressor()
        X = read_rows(model, source)
        _, relative = compare_with_target(model, X, target, **known, column_groups=[[2, 4]], groups=np.arange(500) // 2)
        np.testing.assert_array_equal(relative.r[:2], 0)
        assert relative.r[2] == relative.r[4]
        assert relative.worth[0].n_groups == 250 and relative.worth[1].n_groups == 500


class TestColumnsLostTogether:
    def test_levels_hold_when_told_and_not_otherwise(self):
        told, untold = (simulate(lambda rng: by_panel(1000, rng), n, seed=8, told=n > 20) for n in (60, 20))
        assert rejected(untold) > 0.9
        assert rejected(told) < 0.05 + 3 * standard_error(60)
        assert abs(covered(told) - 0.95) < 0.04

    def test_a_group_has_one_r_which_is_more_precise(self):
        source, target, _, known = by_panel(2000, np.random.default_rng(0))
        joint = estimate_relative_missingness(source, target, **known)
        alone = estimate_relative_missingness(source, target)
        assert len(set(joint.r[:4])) == 1
        anything = [(X[:, :4] != 0).any(axis=1).mean() for X in (source, target)]
        assert joint.r[0] == pytest.approx(1 - anything[1] / anything[0])
        np.testing.assert_array_equal(joint.q_source, alone.q_source)
        np.testing.assert_array_equal(joint.r[12:], alone.r[12:])
        # One column of each panel is never zero but where it is lost: it alone says as much as all.
        widths = [(estimate.upper - estimate.lower)[:12] for estimate in (joint, alone)]
        assert (widths[0] <= widths[1]).all() and (widths[0] < 0.8 * widths[1]).sum() >= 8
        np.testing.assert_array_equal(joint.column_groups, np.append(np.repeat([0, 1, 2], 4), [3, 4, 5]))

    def test_any_nonzero_is_more_precise_than_pooled_counts(self):
        ratios = {"any": [], "pooled": []}
        for seed in range(200):
            source, target, _, known = by_panel(400, np.random.default_rng([9, seed]))
            relative = estimate_relative_missingness(source, target, **known)
            ratios["any"].append(1 - relative.r[0])
            ratios["pooled"].append(relative.q_target[:4].sum() / relative.q_source[:4].sum())
        assert np.std(ratios["any"]) < 0.9 * np.std(ratios["pooled"])
        assert np.mean(ratios["any"]) == pytest.approx(np.mean(ratios["pooled"]), rel=0.03)

    def test_columns_that_are_not_lost_together_are_found(self):
        source, target, _, known = one_by_one(2000, np.random.default_rng(0))
        report = check_ucar(source, target, random_state=0, **known)
        assert report.rejected and report.p_by_family["together"] < 0.05
        assert "where any of its group is recorded" in str(report)

    def test_a_column_cannot_be_both(self):
        X = np.eye(50, 3)
        for ask in (estimate_relative_missingness, check_ucar):
            with pytest.raises(ValueError, match="column 1: named in always_recorded and in column_groups"):
                ask(X, X, always_recorded=[1], column_groups=[[0, 1]])

    def test_a_column_of_a_group_may_be_unseen_in_the_target(self):
        source = np.column_stack([np.arange(100) % 2, np.arange(100) % 3 == 0]).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            relative = estimate_relative_missingness(source, source * [1, 0], column_groups=[[0, 1]])
        assert 0 < relative.r[1] < 1


class TestSimultaneousIntervals:
    def test_they_hold_all_r_at_once(self):
        rng = np.random.default_rng(0)
        inside, jointly = [], []
        for _ in range(400):
            counts = rng.binomial(1000, 0.5, 30), rng.binomial(1000, 0.4, 30)
            e = from_counts(*counts, 1000, 1000)
            inside.append(((e.lower <= 0.2) & (e.upper >= 0.2)).all())
            jointly.append(((e.simultaneous_lower <= 0.2) & (e.simultaneous_upper >= 0.2)).all())
        assert np.mean(inside) < 0.5
        assert abs(np.mean(jointly) - 0.95) < 0.035

    @pytest.mark.parametrize("method", ["delta", "bootstrap", "hoeffding"])
    def test_they_hold_the_pointwise_ones(self, method):
        counts = np.array([500, 20, 1000]), np.array([300, 500, 1000])
        e = from_counts(*counts, 1000, 1000, method=method, random_state=0)
        assert ((e.simultaneous_lower < e.lower) | (e.lower == -np.inf)).all()
        assert (e.simultaneous_upper > e.upper).all()
        one = from_counts(counts[0][:1], counts[1][:1], 1000, 1000, method=method, random_state=0)
        if method != "bootstrap":
            np.testing.assert_array_equal(one.simultaneous_lower, one.lower)

    def test_the_sentence_about_all_features_uses_them(self):
        # The second interval lies below zero on its own, and not among four.
        counts = np.array([500, 500, 500, 500]), np.array([100, 546, 505, 700])
        e = from_counts(*counts, 1000, 1000)
        assert e.improper[1] and e.simultaneous_upper[1] > 0
        assert "1 more often than the source and 2 less often" in str(e)
        assert "Intervals that hold for all at once leave 1 more often and 1 less often." in str(e)
        assert "all at once" not in str(from_counts(counts[0][:1], counts[1][:1], 1000, 1000))
