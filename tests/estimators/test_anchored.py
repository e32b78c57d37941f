"""With anchors the closed form and the filters reach the target's optimum where loss depends on these."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.anchors import Law, scores
from dams import ClosedFormRegressor, FilteredEstimator, MissingnessFilter, Summary, TwoWayEstimator, TwoWayFilter
from dams.anchors import AnchoredRows
from dams.estimators import anchored
from dams.estimators._label_curves import LabelSums
from dams.estimators.anchored import MOST, AnchoredSystem, SourceRows, TargetRows, move_rows
from dams.estimators.folds import assign_folds
from dams.estimators.systems import Setting
from dams.least_squares import least_squares
from dams.missingness import delete_at_random
from dams.moments import Moments
from dams.relative import estimate_relative_missingness
from tests.anchored_laws import anchored_law

KNOWN = ["age", "sex"]


@pytest.fixture(scope="module")
def by_level():
    return anchored_law()


@pytest.fixture(scope="module")
def shifted():
    """Source, target and their labels; loss of opposite signs by age, and an older target."""
    rng = np.random.default_rng(3)
    law = Law.draw("opposite signs, older target", rng)
    return *law.sample(0, 3000, rng), *law.sample(1, 3000, rng)


def test_moments_of_a_discrete_law_are_the_targets(by_level):
    (source, y), (target, y_target), _, _ = by_level
    rates = estimate_relative_missingness(source, target, anchors=[0]).anchored
    moved, true = move_rows(source, y[:, None], rates, None), Moments.of(target, y_target[:, None])
    np.testing.assert_allclose(moved.mean, true.mean, atol=2e-3)
    np.testing.assert_allclose(moved.covariance, true.covariance, atol=5e-3)
    np.testing.assert_allclose(moved.label_mean, true.label_mean, atol=2e-3)
    np.testing.assert_allclose(moved.cross, true.cross, atol=2e-3)
    np.testing.assert_allclose(moved.label_variance, true.label_variance, atol=2e-3)


@pytest.mark.parametrize("stabilise", [True, False])
@pytest.mark.parametrize("gram", ["pooled", "target", "source"])
def test_a_discrete_law_gives_the_targets_optimum(by_level, gram, stabilise):
    (source, y), (target, y_target), _, _ = by_level
    optimum = LinearRegression().fit(target, y_target)
    found = ClosedFormRegressor(gram=gram, stabilise=stabilise, anchors=[0]).fit(source, y, X_target=target)
    np.testing.assert_allclose(found.coef_, optimum.coef_, atol=3e-3)
    assert found.intercept_ == pytest.approx(optimum.intercept_, abs=3e-3)
    plain = ClosedFormRegressor(gram=gram, stabilise=stabilise, always_recorded=[0]).fit(source, y, X_target=target)
    assert np.abs(plain.coef_ - optimum.coef_).max() > 0.03


def trimmed_system(source, y, target, *, wrong_labels=False, groups=None):
    """The system of all rows, with curves of y or of something else."""
    together = None if groups is None else [np.flatnonzero(groups == number) for number in np.unique(groups)]
    known = {"anchors": [0], "column_groups": together}
    rates = estimate_relative_missingness(source, target, **known).anchored
    tables = AnchoredRows.like(rates, source, target)
    rows, others = SourceRows.of(source, y[:, None], tables.B[0], rates), TargetRows(target, tables.B[1])
    curves = LabelSums(
        rates.basis,
        (source, 1 - y[:, None] if wrong_labels else y[:, None], tables.B[0]),
        assign_folds(source, y[:, None]),
        np.array([1, 2]),
    ).curves()
    return AnchoredSystem(rows, others, rates, curves, Setting(True, groups))


def test_trimmed_moments_of_a_discrete_law_are_the_targets():
    (source, y), (target, y_target), r, _ = anchored_law(scarce=True)
    assert (1 - r).max() > 3 * MOST
    system = trimmed_system(source, y, target)
    kept = (1 - system.r) * system.trimmed.k
    assert kept.max() <= MOST + 1e-12 and (1 - system.r).max() > 3 * MOST
    true = Moments.of(target, y_target[:, None])
    np.testing.assert_allclose(system.whole.mean, true.mean, atol=2e-3)
    np.testing.assert_allclose(system.whole.covariance, true.covariance, atol=5e-3)
    np.testing.assert_allclose(system.whole.cross, true.cross, atol=2e-3)
    # The part of the target rows is there, and needs the curves.
    wrong = trimmed_system(source, y, target, wrong_labels=True)
    assert np.abs(wrong.whole.cross - true.cross).max() > 0.02


def test_what_is_lost_together_is_trimmed_once():
    """Two columns with one mask, one of them twice the other: all their moments are known from one."""
    (source, y), (target, y_target), _, _ = anchored_law(scarce=True)
    source, target = (np.column_stack([table[:, :2], 2 * table[:, 1]]) for table in (source, target))
    system = trimmed_system(source, y, target, groups=np.array([0, 1, 1]))
    true = Moments.of(target, y_target[:, None])
    np.testing.assert_allclose(system.whole.covariance, true.covariance, atol=5e-3)
    np.testing.assert_allclose(system.whole.cross, true.cross, atol=4e-3)


def test_one_r_and_weights_of_one_are_the_plain_moments():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 4)) + 1, rng.normal(size=(200, 2))
    X *= rng.random(X.shape) < 0.7
    r, groups = np.array([0.0, 0.5, -0.3, -0.3]), np.array([0, 1, 2, 2])
    rows = SourceRows(X, Y, np.ones((200, 1)), np.array([0.4, 0, 0, 0]))
    for together in (None, groups):
        moved = rows.move(np.tile(r, (200, 1)), np.full(200, 3.0), together)
        plain = Moments.of(X, Y).moved(r, groups=together)
        for name in ("mean", "covariance", "label_mean", "label_covariance", "label_variance"):
            np.testing.assert_allclose(getattr(moved, name), getattr(plain, name), atol=1e-12)


@pytest.mark.parametrize("mechanism", ["target loses by age", "opposite signs", "opposite signs, older target"])
def test_held_out_laws(mechanism):
    """A slice of benchmarks/anchors.py, with a bar at a third where that has one at a fifth over 40 laws."""
    drawn = []
    for number in range(3):
        rng = np.random.default_rng([99, number, *mechanism.encode()])
        drawn.append(scores(Law.draw(mechanism, rng), 4000, rng))
    table = pd.DataFrame(drawn)
    excess = table.sub(table["oracle"], axis=0).mean()
    assert excess["anchored"] < excess["closed form"] / 3
    assert (table["anchored"] < 1.1 * table["source"]).all()


@pytest.mark.filterwarnings("ignore:The source has a value in")
def test_columns_of_a_handful_of_values_do_no_harm():
    """The source shows two columns in some 20 of 4000 rows, the target in most."""
    for number in range(3):
        rng = np.random.default_rng([97, number])
        law = Law.draw("opposite signs", rng)
        law.base[0, [0, 5]] = -5.5
        found = scores(law, 4000, rng)
        assert found["anchored"] < 1.1 * found["source"]


def test_units_of_the_label_do_not_matter(shifted):
    source, y, target, _ = shifted
    ids = {"groups": np.arange(len(source)), "groups_target": np.arange(len(target))}
    one, other = (
        ClosedFormRegressor(anchors=KNOWN).fit(source, labels, X_target=target, **ids)
        for labels in (y, 1e-9 * (5 - 3 * y))
    )
    np.testing.assert_allclose(1e9 * other.predict(target), 5 - 3 * one.predict(target), rtol=1e-6, atol=1e-6)


def test_the_sources_gram_matrix_takes_nothing_from_target_rows(shifted, monkeypatch):
    source, y, target, _ = shifted
    monkeypatch.setattr(anchored, "LabelSums", None)
    ClosedFormRegressor(gram="source", anchors=KNOWN).fit(source, y, X_target=target)
    with pytest.raises(TypeError):
        ClosedFormRegressor(anchors=KNOWN).fit(source, y, X_target=target)


def test_under_ucar_nothing_is_lost():
    rng = np.random.default_rng([98, *b"UCAR"])
    found = scores(Law.draw("UCAR", rng), 4000, rng)
    assert found["anchored"] < found["closed form"] + 0.003
    assert found["effective"] > 0.99


def test_an_empty_list_of_anchors_changes_nothing(shifted):
    source, y, target, _ = shifted
    plain = ClosedFormRegressor(always_recorded=KNOWN).fit(source, y, X_target=target)
    empty = ClosedFormRegressor(always_recorded=KNOWN, anchors=[]).fit(source, y, X_target=target)
    np.testing.assert_array_equal(empty.coef_, plain.coef_)


def test_sparse_rows_and_several_labels_give_the_same(shifted):
    source, y, target, _ = shifted
    Y = np.column_stack([y, y - 3 * source["age"]])
    both = ClosedFormRegressor(anchors=[0, 1]).fit(source.to_numpy(), Y, X_target=target.to_numpy())
    one = ClosedFormRegressor(anchors=[0, 1]).fit(source.to_numpy(), y, X_target=target.to_numpy())
    np.testing.assert_allclose(both.coef_[0], one.coef_, rtol=1e-7)
    csr = sparse.csr_array(source.to_numpy()), sparse.csr_array(target.to_numpy())
    found = ClosedFormRegressor(anchors=[0, 1]).fit(csr[0], y, X_target=csr[1])
    np.testing.assert_allclose(found.coef_, one.coef_, rtol=1e-7)


def test_units_of_an_anchor_do_not_matter(shifted):
    source, y, target, _ = shifted
    ids = {"groups": np.arange(len(source)), "groups_target": np.arange(len(target))}
    one = ClosedFormRegressor(anchors=KNOWN).fit(source, y, X_target=target, **ids)
    in_days = source.assign(age=365.25 * source["age"] + 1e5), target.assign(age=365.25 * target["age"] + 1e5)
    other = ClosedFormRegressor(anchors=KNOWN).fit(in_days[0], y, X_target=in_days[1], **ids)
    np.testing.assert_allclose(other.predict(in_days[1]), one.predict(target), rtol=1e-5, atol=1e-5)


def test_summaries_and_wide_tables_are_refused(shifted):
    source, y, target, _ = shifted
    with pytest.raises(ValueError, match="anchors need the rows"):
        ClosedFormRegressor(anchors=KNOWN).fit_summaries(Summary.of(source, y), Summary.of(target))
    wide = np.ones((300, 501))
    wide[::2, 1:] = 0
    wide[:, 0] = np.arange(300) % 2
    with pytest.raises(ValueError, match="at most 500 columns, got 501"):
        ClosedFormRegressor(anchors=[0]).fit(wide, wide[:, 1] + np.arange(300), X_target=wide[::-1])


def test_rates_by_row_are_those_of_every_form():
    rates = np.column_stack([np.linspace(0, 1, 40_000), np.full(40_000, 0.25)])
    for X in (np.ones((40_000, 2)), pd.DataFrame(np.ones((40_000, 2))), sparse.csr_array(np.ones((40_000, 2)))):
        kept = delete_at_random(X, rates, np.random.default_rng(0))
        kept = np.asarray(kept.toarray() if sparse.issparse(kept) else kept)
        assert kept[:4000, 0].mean() == pytest.approx(0.95, abs=0.02)
        assert kept[-4000:, 0].mean() == pytest.approx(0.05, abs=0.02)
        assert kept[:, 1].mean() == pytest.approx(0.75, abs=0.02)
    together = delete_at_random(
        np.ones((4000, 2)), rates[:, [0, 0]][:4000], np.random.default_rng(0), groups=np.zeros(2, int)
    )
    np.testing.assert_array_equal(together[:, 0], together[:, 1])


def test_filtered_rows_of_a_discrete_law_have_the_targets_rates(by_level):
    (source, y), (target, _), r, w = by_level
    filtered = MissingnessFilter(anchors=[0], random_state=0)
    with pytest.warns(UserWarning, match="The target records"):
        rows, _ = filtered.fit_resample(source, y, X_target=target)
    assert filtered.rates_.shape == source.shape
    for level in range(3):
        here, there = (table[table[:, 0] == level, 1:] != 0 for table in (source, target))
        kept = rows[rows[:, 0] == level, 1:] != 0
        proper = r[level] >= 0
        np.testing.assert_allclose(kept.mean(axis=0)[proper], there.mean(axis=0)[proper], atol=0.01)
        np.testing.assert_array_equal(kept.mean(axis=0)[~proper], here.mean(axis=0)[~proper])
    np.testing.assert_allclose(np.unique(filtered.weights_), np.sort(w), rtol=2e-3)


def test_two_way_rows_have_the_targets_law_at_every_level(by_level):
    (source, y), (target, y_target), _, _ = by_level
    some = np.random.default_rng(0).permutation(len(source))[:20_000]
    source, y = source[some], y[some]
    rows, labels = TwoWayFilter(anchors=[0], random_state=0).fit_resample(source, y, X_target=target)
    for level in range(3):
        made, true = (table[:, 0] == level for table in (rows, target))
        np.testing.assert_allclose((rows[made] != 0).mean(axis=0), (target[true] != 0).mean(axis=0), atol=0.02)
        # Together with the label too.
        cross = rows[made].T @ labels[made] / made.sum(), target[true].T @ y_target[true] / true.sum()
        np.testing.assert_allclose(*cross, atol=0.05)


def test_estimators_use_rates_and_weights(shifted):
    source, y, target, y_target = shifted
    best = LinearRegression().fit(target, y_target).score(target, y_target)
    model = TwoWayEstimator(LinearRegression(), anchors=KNOWN, n_draws=2, random_state=0)
    plain = TwoWayEstimator(LinearRegression(), always_recorded=KNOWN, n_draws=2, random_state=0)
    anchored, unanchored = (m.fit(source, y, X_target=target).score(target, y_target) for m in (model, plain))
    assert best - anchored < (best - unanchored) / 2
    assert model.filter_.weights_ is not None and plain.filter_.weights_ is None


@pytest.mark.filterwarnings("ignore:The target records")
def test_sample_weights_are_multiplied_and_their_lack_is_said(shifted):
    source, y, target, _ = shifted
    given = np.where(np.arange(len(y)) < 1500, 1.0, 0.0)
    model = FilteredEstimator(LinearRegression(), anchors=KNOWN, random_state=0)
    model.fit(source, y, X_target=target, sample_weight=given)
    rows, labels = MissingnessFilter(anchors=KNOWN, random_state=0).fit_resample(source, y, X_target=target)
    expected = LinearRegression().fit(rows, labels, sample_weight=given * model.filter_.weights_)
    np.testing.assert_allclose(model.coef_, expected.coef_)
    with pytest.warns(
        UserWarning, match="KNeighborsRegressor takes no sample_weight, and the target's law of the anch"
    ):
        FilteredEstimator(KNeighborsRegressor(), anchors=KNOWN).fit(source, y, X_target=target)


def test_the_printed_formula_is_least_squares_on_moved_moments(shifted):
    source, y, target, _ = shifted
    model = ClosedFormRegressor(gram="source", anchors=KNOWN, stabilise=False).fit(source, y, X_target=target)
    moved = move_rows(source.to_numpy(), y[:, None], model.relative_missingness_.anchored, None)
    np.testing.assert_allclose(model.coef_, least_squares(moved).coef[:, 0])
