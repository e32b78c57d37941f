"""Summaries that travel in place of rows: the same fit, no small cell, and sentences for other files."""

import json

import numpy as np
import pandas as pd
import pytest

from dams import ClosedFormRegressor, apply_missingness
from dams.two_files.summaries import fit_from_summaries, read_summary, summarise

NAMES = ["a", "b", "c", "sex"]
KNOWN = {"always_recorded": ["sex"], "column_groups": [["b", "c"]]}


def tables(seed, n=3000, *, binary=False):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(2, 1, (2 * n, 3)) + rng.normal(size=(2 * n, 1)), rng.random(2 * n) < 0.5])
    y = X @ [1.0, 2.0, -1.0, 1.5] + rng.normal(size=2 * n)
    y = (y > np.median(y)).astype(float) if binary else y
    X = pd.DataFrame(X, columns=NAMES)
    rates = [0.1, 0.6, 0.6, 0], [0.5, 0.2, 0.2, 0]
    groups = [0, 1, 1, 2]
    source, target = (_lose_together(part, rate, groups, rng) for part, rate in zip((X[:n], X[n:]), rates, strict=True))
    return source, y[:n], target.reset_index(drop=True)


def _lose_together(X, rates, groups, rng):
    lost = rng.random((len(X), max(groups) + 1))
    return X.where(lost[:, groups] >= rates, 0.0)


def assert_same(got, expected, rtol=1e-8):
    np.testing.assert_allclose(got.coef_, expected.coef_, rtol=rtol, atol=1e-10)
    np.testing.assert_allclose(got.intercept_, expected.intercept_, rtol=rtol)
    assert got.choice_ == expected.choice_


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_two_files_give_the_fit_on_the_rows(tmp_path, seed, binary):
    source, y, target = tables(seed, binary=binary)
    for name, X, labels in (("a.json", source, y), ("b.json", target[NAMES[::-1]], None)):
        summarise(X, labels, **KNOWN).write(tmp_path / name)
    here, there = read_summary(tmp_path / "a.json"), read_summary(tmp_path / "b.json")
    assert not here.left_out and not here.pairs_changed
    # Folds follow from the places of columns: those of the target come in another order.
    by_rows = ClosedFormRegressor(**KNOWN).fit(source, y, X_target=target)
    assert_same(fit_from_summaries(here, summarise(target, **KNOWN)), by_rows)
    other_order = fit_from_summaries(here, there)
    assert list(other_order.feature_names_in_) == NAMES
    np.testing.assert_allclose(other_order.coef_, by_rows.coef_, atol=0.1 * np.abs(by_rows.coef_).max())


def test_rows_that_belong_together_are_held_out_together_and_no_id_is_kept(tmp_path):
    source, y, target = tables(1)
    ids = np.arange(len(source)) // 3
    summarise(source, y, groups=ids, **KNOWN).write(tmp_path / "a.json")
    by_rows = ClosedFormRegressor(**KNOWN).fit(source, y, X_target=target, groups=ids, groups_target=ids)
    assert_same(fit_from_summaries(read_summary(tmp_path / "a.json"), summarise(target, groups=ids, **KNOWN)), by_rows)
    assert set(json.loads((tmp_path / "a.json").read_text())["folds"][0]) == {
        *("rows", "counts", "mean", "covariance", "label_mean", "label_variance", "label_covariance")
    }


def test_no_count_of_few_rows_can_be_had_from_the_file():
    """Flags: every moment times the rows is a count."""
    rng = np.random.default_rng(0)
    shares = [0.5, 0.2, 0.05, 0.01, 0.002]
    X = pd.DataFrame((rng.random((3000, 5)) < shares).astype(float), columns=list("abcde"))
    y = (rng.random(3000) < 0.1 + 0.5 * X["a"]).astype(float)
    assert 0 < X["e"].sum() < 10
    found = summarise(X, y)
    assert found.left_out == ("e",)
    assert found.pairs_changed
    folded = found.summary._folded
    totals = np.zeros((5, 5))
    for part, counts in zip(folded.parts, folded.counts, strict=True):
        second = np.block([[part.gram, part.cross], [part.cross.T, part.label_mean[None]]]) * part.n
        totals += second
        np.testing.assert_allclose(counts, np.diagonal(second)[:-1])
        # What is spread over folds is no whole number of rows.
        whole = np.abs(second - second.round()) < 1e-6
        assert not ((second > 0.5) & (second < 9.5) & whole).any()
    truth = np.column_stack([X.iloc[:, :4], y])
    truth = truth.T @ truth
    np.testing.assert_allclose(totals, np.where(truth < 10, 0, truth), atol=1e-6)
    assert ((truth > 0) & (truth < 10)).any()


def test_hidden_cells_change_the_fit_by_little():
    rng = np.random.default_rng(1)
    X = pd.DataFrame((rng.random((8000, 6)) < [0.5, 0.3, 0.2, 0.1, 0.02, 0.01]).astype(float), columns=list("abcdef"))
    y = X.to_numpy() @ [1, 2, -1, 1, 3, 1.0] + rng.normal(size=8000)
    source = apply_missingness(X[:4000], 0.1, random_state=1)
    target = apply_missingness(X[4000:], [0.5, 0.1, 0, 0.4, 0.1, 0.2], random_state=2)
    here, there = summarise(source, y[:4000]), summarise(target)
    assert here.pairs_changed and not here.left_out
    got = fit_from_summaries(here, there)
    by_rows = ClosedFormRegressor().fit(source, y[:4000], X_target=target)
    difference = got.predict(target) - by_rows.predict(target)
    assert np.sqrt(np.mean(difference**2)) < 0.03 * y.std()


def test_columns_that_one_side_leaves_out_are_left_out():
    source, y, target = tables(2)
    target = target.assign(a=np.where(np.arange(len(target)) < 4, target["a"], 0.0))
    there = summarise(target, **KNOWN)
    assert there.left_out == ("a",)
    assert "Left out, as fewer than 10 rows tell of them: a." in str(there)
    model = fit_from_summaries(summarise(source, y, **KNOWN), there)
    assert list(model.feature_names_in_) == ["b", "c", "sex"]


def test_a_column_group_may_lose_a_member():
    source, y, _ = tables(2)
    source = source.assign(b=np.where(np.arange(len(source)) < 5, source["b"], 0.0))
    here = summarise(source, y, **KNOWN)
    assert here.left_out == ("b",) and here.column_groups == ()
    with_group = {**KNOWN, "column_groups": [["a", "b", "c"]]}
    assert summarise(source, y, **with_group).column_groups == (("a", "c"),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format="other"), "no summary"),
        (lambda c: c.update(version=2), "version 2, and this dams reads version 1"),
        (lambda c: c.pop("columns"), "'columns' is missing"),
        (lambda c: c["folds"].pop(), "folds must be 10, got 9"),
        (lambda c: c["folds"][0]["mean"].pop(), "mean must hold 4 numbers"),
        (lambda c: c["folds"][0]["mean"].__setitem__(0, None), "mean must hold finite numbers"),
        (lambda c: c["folds"][0]["mean"].__setitem__(0, "x"), "could not convert"),
        (lambda c: c.update(rows=5), "rows is 5, but the folds have 3000"),
        (lambda c: c["nonzeros"].__setitem__(0, 9000), "counts must lie between"),
        (lambda c: c.update(columns=["a", "a", "c", "sex"]), "columns must be different"),
        (lambda c: c.update(always_recorded=["z"]), "always_recorded names 'z'"),
    ],
)
def test_damage_is_named(tmp_path, change, message):
    source, y, _ = tables(0)
    path = tmp_path / "a.json"
    summarise(source, y, **KNOWN).write(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message) as caught:
        read_summary(path)
    assert str(path) in str(caught.value)


def test_what_is_no_json_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is no summary: it is not JSON"):
        read_summary(path)


def test_summaries_that_do_not_go_together_are_refused():
    source, y, target = tables(0)
    here = summarise(source, y, **KNOWN)
    with pytest.raises(ValueError, match="has no column 'a'"):
        fit_from_summaries(here, summarise(target.rename(columns={"a": "z"}), **KNOWN))
    with pytest.raises(ValueError, match="different always_recorded"):
        fit_from_summaries(here, summarise(target, column_groups=[["b", "c"]]))
    with pytest.raises(ValueError, match="different column_groups"):
        fit_from_summaries(here, summarise(target, always_recorded=["sex"]))
    with pytest.raises(ValueError, match="first summary has no labels"):
        fit_from_summaries(summarise(target, **KNOWN), here)


def test_tables_too_small_to_tell_are_refused():
    source, y, _ = tables(0)
    with pytest.raises(ValueError, match="leave folds of fewer than 10"):
        summarise(source[:60], y[:60])
    assert summarise(source[:60], y[:60], smallest_cell=1).summary.n == 60
    rare = np.where(np.arange(len(y)) < 5, 1.0, 0.0)
    with pytest.raises(ValueError, match="label 'y' has one of its two values in fewer than 10 rows"):
        summarise(source, rare)
    with pytest.raises(ValueError, match="smallest_cell must be a whole number"):
        summarise(source, y, smallest_cell=0)


def test_what_can_not_be_summarised_is_named():
    X, y, _ = tables(0, 300)
    cases = [
        ({"X": X.to_numpy()}, "X must be a DataFrame"),
        ({"y": np.where(y > 0, y, np.nan)}, "Label 'y' is NaN in .* rows: leave these rows out"),
        ({"y": np.where(y > 0, "yes", "no")}, "y holds 'yes', which is no number"),
        ({"column_groups": [["a", "bb"]]}, "column_groups names 'bb', which is no column"),
    ]
    for change, message in cases:
        with pytest.raises((ValueError, TypeError), match=message):
            summarise(**{"X": X, "y": y, **change})
