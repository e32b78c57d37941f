"""The predictor to use in the target: adapted where that pays, not where it does not or can't be relied on."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hospitals import COLUMNS, RATES, hospitals

from dams.two_files import adapt
from dams.two_files.adapting import _decide
from dams.two_files.labels import read_further_labels, read_labels
from dams.two_files.recorded_outcome import columns_that_tell_the_label

SAME = {"source": [0.3] * 4, "target": [0.3] * 4}


def run(source, target, **options):
    return adapt(source.drop(columns="y"), source["y"], target, **{"model": "linear", **options})


def squared(found, target, y):
    return float(np.mean((y - found.predict(target)) ** 2))


def test_adapts_where_it_pays_and_says_how_much():
    source, target, y = hospitals()
    found = run(source, target)
    assert found.adapted and found.choice == "linear closed form"
    assert found.why.startswith("Adapted: 'linear closed form' is expected")
    gain, low, high = found.gain
    assert 0 < low < gain < high
    kept = run(source, target, labelled=(target, -y, None))
    # The truth, on as many rows, has an error of its own.
    truth = squared(kept, target, y) - squared(found, target, y)
    assert abs(truth - gain) < high - low
    assert found.sensitivity is not None and "Γ" in str(found)


def test_keeps_the_source_model_where_nothing_differs():
    source, target, _ = hospitals(rates=SAME)
    found = run(source, target)
    assert not found.adapted and found.choice == "linear source"
    assert "nothing that is adapted is expected to be better beyond doubt" in found.why


def test_small_tables_are_cross_fitted():
    source, target, _ = hospitals(600)
    found = run(source, target)
    assert found.comparison.n_source == 600
    assert found.adapted and found.sensitivity is not None


@pytest.mark.parametrize("kind", ["logistic", "boosting"])
def test_two_words_give_probabilities_of_the_later_one(kind):
    source, target, y = hospitals(1500, label="words")
    found = run(source, target, model=kind)
    assert found.classes == ("no", "yes")
    assert list(found.comparison.table.index) == [f"{kind} {name}" for name in ("source", "filtered", "two-way")]
    p = found.predict(target)
    assert ((p >= 0) & (p <= 1)).all()
    assert p[y == "yes"].mean() > p[y == "no"].mean() + 0.1
    assert found.comparison.loss == "brier"


def test_auto_compares_kinds_with_the_best_in_the_source():
    source, target, _ = hospitals(1200, rates={"source": [0.1] * 4, "target": [0.6, 0.1, 0.1, 0.1]})
    found = run(source, target, model="auto")
    names = ["linear source", "linear closed form", "boosting source", "boosting filtered"]
    assert list(found.comparison.table.index) == names
    plain = found.comparison.table["source_risk"][["linear source", "boosting source"]]
    assert found.comparison.reference == plain.idxmin()


def test_a_rejection_keeps_the_source_model_unless_insisted_on():
    source, target, _ = hospitals()
    target = target.assign(b=np.where(target["a"] > 3, 0.0, target["b"]))
    found = run(source, target)
    assert not found.adapted
    assert "values are not lost at random (suspect: b" in found.why
    assert run(source, target, adapt_if_rejected=True).adapted


def test_labelled_target_rows_test_the_choice():
    source, target, y = hospitals()
    given = target[:400], y[:400], None
    found = run(source, target, labelled=given)
    assert found.adapted and found.label_test.bears_out and found.label_test.is_as_expected
    assert "bear out that adapting pays" in str(found)
    wrong = run(source, target, labelled=(target[:400], 8 - y[:400], None))
    assert not wrong.label_test.is_as_expected
    assert "does not agree: loss may depend on the outcome" in str(wrong)


def test_labels_overrule_a_rejection_and_an_expectation():
    source, target, y = hospitals()
    strange = target.assign(b=np.where(target["a"] > 4.5, 0.0, target["b"]))
    assert not run(source, strange).adapted
    assert run(source, strange, labelled=(strange[:1000], y[:1000], None)).adapted
    # Labels that the source's predictor gives.
    plain = run(source, target, labelled=(target, -y, None))
    against = run(source, target, labelled=(target[:500], plain.predict(target[:500]), None))
    assert not against.adapted
    assert "labelled target rows say that 'linear closed form' does harm" in against.why


def test_rows_that_belong_together_widen_the_interval_of_labels():
    source, target, y = hospitals()
    ids = np.repeat(np.arange(100), 4)
    thrice = pd.concat([target[:100]] * 4).sort_index(), y[:100].repeat(4), ids
    once = run(source, target, labelled=(target[:100], y[:100], None)).label_test
    several = run(source, target, labelled=thrice).label_test
    assert several.interval == pytest.approx(once.interval)


def mix(rng, n, place):
    """Sex as two columns that are never lost, more women in the target; nothing depends on it."""
    woman = rng.random(n) < (0.4 if place == "source" else 0.8)
    return {"sex_f": woman.astype(float), "sex_m": (~woman).astype(float)}


def test_levels_that_are_never_lost_are_treated_as_always_recorded():
    source, target, _ = hospitals(extra=mix)
    found = run(source, target)
    assert found.adapted
    assert any(note.startswith("sex_f, sex_m: every row of both tables has exactly one") for note in found.notes)
    r = dict(zip(found.columns, found.relative.r, strict=True))
    assert r["sex_f"] == r["sex_m"] == 0


def test_anchors_are_judged_given_the_anchors():
    rng = np.random.default_rng(3)
    source, target, y = hospitals(4000)
    # The source loses column a of the old, the target of the young; age matters for nothing else.
    for table, old in ((source, True), (target, False)):
        table["age"] = rng.integers(20, 90, len(table)).astype(float)
        table.loc[((table["age"] > 55) == old) & (rng.random(len(table)) < 0.8), "a"] = 0.0
    found = run(source, target, anchors=["age"])
    assert found.adapted and found.report.anchors == ("age",)
    plain = run(source, target, labelled=(target, -y, None), anchors=["age"])
    assert squared(found, target, y) < squared(plain, target, y)


def test_rows_without_label_and_columns_without_values_are_left_out():
    source, target, _ = hospitals()
    source = source.assign(y=source["y"].where(np.arange(len(source)) % 10 > 0), never=0.0)
    source.loc[:4, "never"] = 1.0
    found = run(source, target.assign(never=0.0))
    assert found.columns == COLUMNS
    assert found.notes[:2] == [
        "300 source rows without a label 'y' were left out.",
        "Left out, as hardly a labelled source row shows them: never.",
    ]


def test_results_repeat():
    source, target, _ = hospitals(1200, rates=RATES, label="flags")
    first, second = (run(source, target, model="logistic", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.predict(target), second.predict(target))
    assert first.gain == second.gain


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x", "y", "z"] * 40, "holds text with 3 levels"),
        ([1.0] * 100, "has one value, 1, in all rows"),
        ([1.0, 2.0] * 10, "has 20 values in the source, expected at least 50"),
        ([None, "a"] * 20, "has 20 values in the source"),
    ],
)
def test_labels_that_can_not_be_predicted_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        read_labels(labels, "y")


def test_labels_of_the_target_are_read_as_those_of_the_source():
    words = read_labels(["no", "yes", " yes ", ""] * 30, "y")
    assert words.classes == ("no", "yes")
    np.testing.assert_array_equal(words.values[:4], [0, 1, 1, np.nan])
    np.testing.assert_array_equal(
        read_further_labels(["yes", "", None, "no"], "y", words.classes), [1, np.nan, np.nan, 0]
    )
    numbers = read_labels(["1", "2", "2"] * 30, "y")
    assert numbers.classes == ("1", "2")
    np.testing.assert_array_equal(read_further_labels([2.0, 1.0, np.nan], "y", numbers.classes), [1, 0, np.nan])
    with pytest.raises(ValueError, match="'maybe' in the target, and 'no' and 'yes' in the source"):
        read_further_labels(["maybe"], "y", words.classes)
    with pytest.raises(ValueError, match="text in the target and numbers in the source"):
        read_further_labels(["many"], "y", None)


def test_models_and_labels_that_do_not_go_together_are_refused():
    source, target, _ = hospitals(600)
    with pytest.raises(ValueError, match="A logistic model needs a label with two values"):
        run(source, target, model="logistic")
    with pytest.raises(ValueError, match="model must be 'linear', 'logistic'"):
        run(source, target, model="forest")
    with pytest.raises(ValueError, match="Only 3 target rows have labels, expected at least 10"):
        run(source, target, labelled=(target[:3], [1.0, 2.0, 3.0], None))


@pytest.mark.parametrize(("upper", "taken"), [(-0.1, "linear closed form"), (0.1, "linear source")])
def test_an_adapted_model_must_be_better_by_its_whole_interval(upper, taken):
    row = {
        "estimate": 1.0,
        "standard_error": 0.1,
        "difference": -0.5,
        "difference_lower": -1.0,
        "difference_upper": upper,
    }
    compared = SimpleNamespace(
        table=pd.DataFrame([row], index=["linear closed form"]),
        reference="linear source",
        confidence=0.95,
        loss="squared",
        contradicted=False,
    )
    choice, why = _decide(compared, "linear closed form", None, None, insist=False)
    assert choice == taken
    assert f"0.5 less than 'linear source' (gain with 95 % interval: {-upper:g} to 1)" in why


def test_labels_that_follow_what_was_recorded_keep_the_source_model():
    rng = np.random.default_rng(4)
    tables = []
    for rates in ([0.1, 0.6], [0.6, 0.1]):
        clean = 2 + rng.normal(size=(3_000, 1)) + 0.3 * rng.normal(size=(3_000, 2))
        tables.append(pd.DataFrame(clean * (rng.random((3_000, 2)) >= rates), columns=["a", "b"]))
    source, target = tables
    found = adapt(source, source["a"] + source["b"] + rng.normal(size=3_000), target, model="linear")
    assert not found.adapted
    assert "below zero, which none can" in found.why
    assert not [note for note in found.notes if note.removeprefix("Note: ") in found.why]


def test_a_value_that_hardly_a_row_has_is_not_predicted():
    source, target, _ = hospitals(1500, label="flags")
    rare = (np.arange(len(source)) < 19).astype(int)
    with pytest.raises(ValueError, match="Label 'y' is '1' in 19 rows of the source, expected at least 20 of each"):
        run(source.assign(y=rare), target, model="logistic")
    with pytest.raises(ValueError, match="Label 'y' is 'yes' in 19 rows"):
        run(source.assign(y=np.where(rare, "yes", "no")), target, model="linear")


def test_a_target_without_a_single_label_is_named():
    source, target, _ = hospitals(600)
    with pytest.raises(ValueError, match="Only 0 target rows have labels, expected at least 10"):
        run(source, target, labelled=(target, np.full(len(target), np.nan), None))


def test_an_outcome_that_follows_what_was_recorded_is_doubted():
    """A treatment is decided on the values that are there: adapting does harm, and no covariate shows it."""
    source, target, _ = hospitals(3000)
    rng = np.random.default_rng(1)
    weights = [0.6, -0.4, 0.5, 0.3]

    def treat(X):
        return X[COLUMNS].to_numpy() @ weights + rng.normal(size=len(X))

    followed = source.assign(y=treat(source))
    found = run(followed, target)
    assert found.adapted and found.report is not None and not found.report.rejected
    assert "But in the source 'y' differs between rows that show a, b, c, d and rows that do not." in found.why
    y = treat(target)
    assert squared(found, target, y) > 1.1 * np.mean((y - target[COLUMNS].to_numpy() @ weights) ** 2)
    assert "But in the source" not in run(source, target).why
    tested = run(followed, target, labelled=(target, y, None))
    assert not tested.adapted and "labelled target rows say" in tested.why


def test_the_doubt_knows_of_rows_that_belong_together_and_of_true_zeros():
    rng = np.random.default_rng(0)
    n = 4000
    level = np.repeat(rng.normal(size=40), 100)
    shown = np.repeat(rng.random(40) < 0.5, 100)
    X = pd.DataFrame({"lab": np.where(shown, 3 + rng.random(n), 0.0), "count": rng.poisson(1.0, n).astype(float)})
    y = level + X["count"].to_numpy() + 0.1 * rng.normal(size=n)
    assert columns_that_tell_the_label(X, y, None, ()) == ["lab"]
    assert columns_that_tell_the_label(X, y, None, ["lab"]) == []
    assert columns_that_tell_the_label(X, y, np.arange(n) // 100, ()) == []


def test_rounding_is_no_difference():
    """Files with the same rows have the same predictor, but for the last digits."""
    source, _, _ = hospitals(1200)
    found = run(source, source.drop(columns="y"))
    assert not found.adapted
    assert ", 0 less than 'linear source' (gain with 95 % interval: 0 to 0)." in found.why


def test_tables_and_names_that_do_not_go_together_are_refused():
    source, target, y = hospitals(600)
    X = source.drop(columns="y")
    cases = [
        ({"X_source": X.to_numpy()}, "X_source must be a DataFrame, as columns are matched by name; got ndarray"),
        ({"X_source": X.rename(columns={"a": 0})}, "X_source has a column 0: names must be text"),
        ({"X_target": target.drop(columns="a")}, r"Not in the target: \['a'\]"),
        (
            {"X_target": target.assign(a2=1.0).rename(columns={"a2": "b"})[[*"abcd", "b"]]},
            "X_target has more than one",
        ),
        ({"y_source": source["y"][:500]}, "y_source has 500 labels, expected one per row of X_source, 600"),
        ({"groups": [1, 2]}, "groups"),
        ({"always_recorded": ["aa"]}, "always_recorded names 'aa', which is no column"),
        ({"anchors": ["aa"]}, "anchors names 'aa', which is no column"),
        ({"column_groups": [["a", "bb"]]}, "column_groups names 'bb', which is no column"),
        ({"always_recorded": "a"}, "always_recorded must be a list of columns"),
        ({"labelled": (target.drop(columns="a"), y, None)}, "The table has no column 'a', which the model takes"),
        ({"labelled": (target, y[:100], None)}, "labelled has 100 labels, expected one per row, 600"),
    ]
    given = {"X_source": X, "y_source": source["y"], "X_target": target, "model": "linear"}
    for change, message in cases:
        with pytest.raises((ValueError, TypeError), match=message):
            adapt(**{**given, **change})
    with pytest.raises(ValueError, match="The table has no column 'a', which the model takes"):
        adapt(**given).predict(target.drop(columns="a"))


def test_a_reordered_target_gives_the_same():
    source, target, _ = hospitals(600)
    assert run(source, target[target.columns[::-1]]).why == run(source, target).why


def test_a_doubtful_gain_of_tables_that_reject_names_the_way_out():
    """Panels that nobody named: neither is the gain sure, nor is it the gain of named ones."""
    row = {"estimate": 1.0, "standard_error": 0.1, "difference": -0.01}
    table = pd.DataFrame([{**row, "difference_lower": -0.1, "difference_upper": 0.1}], index=["linear closed form"])
    compared = SimpleNamespace(
        table=table, reference="linear source", loss="squared", confidence=0.95, contradicted=False
    )
    report = SimpleNamespace(rejected=True, suspects=["a", "b"])
    choice, why = _decide(compared, "linear closed form", report, None, insist=False)
    assert choice == "linear source"
    assert "better beyond doubt" in why
    assert "not lost at random (suspect: a, b), so that the gain may be another. Mend or leave out" in why
