"""What the estimators say to data they can't use: what was expected, what came, and the way out."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from dams import ClosedFormRegressor, FilteredRegressor, MissingnessFilter, TwoWayRegressor

ADJUSTED = [
    ClosedFormRegressor(),
    ClosedFormRegressor(stabilise=False),
    FilteredRegressor(LinearRegression()),
    TwoWayRegressor(LinearRegression()),
]
ALL = [*ADJUSTED, MissingnessFilter()]
every = pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
adjusted = pytest.mark.parametrize("estimator", ADJUSTED, ids=lambda e: type(e).__name__)


@pytest.fixture
def frames():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (80, 3)).astype(float), columns=["age", "dose", "ward"])
    return X[:40], X[:40].to_numpy() @ [1.0, 2.0, 3.0], X[40:]


@every
@pytest.mark.parametrize("kind", ["frame", "array", "list", "objects", "sparse"])
def test_nan_in_the_source(estimator, frames, kind):
    source, y, target = frames
    source = source.assign(dose=np.nan)
    values = source.to_numpy()
    given = {
        "frame": source,
        "array": values,
        "list": values.tolist(),
        "objects": values.astype(object),
        "sparse": sparse.csr_matrix(values),
    }
    where = {"frame": " in column 'dose'", "sparse": ""}.get(kind, " in column 1")
    with pytest.raises(ValueError, match=rf"^X contains NaN{where}\. .*replace NaN by 0.*or impute it"):
        estimator.fit(given[kind], y, X_target=target.to_numpy())


@every
def test_nan_in_the_target(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"X_target contains NaN in columns 'age', 'ward'\. .*replace NaN by 0"):
        estimator.fit(source, y, X_target=target.assign(age=np.nan, ward=np.nan))


@adjusted
def test_nan_in_what_is_to_be_predicted(estimator, frames):
    source, y, target = frames
    fitted = estimator.fit(source, y, X_target=target)
    with pytest.raises(ValueError, match="X contains NaN in column 'dose'"):
        fitted.predict(target.assign(dose=np.nan))


@every
def test_different_columns_are_named_on_both_sides(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"Not in the target: \['dose'\]; only in the target: \['drug'\].*both have"):
        estimator.fit(source, y, X_target=target.rename(columns={"dose": "drug"}))


@adjusted
def test_reordered_columns_are_matched_by_name(estimator, frames):
    source, y, target = frames
    model = FilteredRegressor(LinearRegression(), random_state=0) if "estimator" in vars(estimator) else estimator
    expected = model.fit(source, y, X_target=target).predict(target)
    reordered = model.fit(source, y, X_target=target[["ward", "age", "dose"]]).predict(target)
    np.testing.assert_array_equal(reordered, expected)


ITEMS = [220045, 8867, 51]
PAIRS = pd.MultiIndex.from_tuples([("lab", "k"), ("lab", "na"), ("vital", "hr")])
unnamed = pytest.mark.parametrize("labels", [ITEMS, PAIRS], ids=["numbers", "pairs"])


@every
@unnamed
def test_labels_that_are_no_names_are_matched_too(estimator, labels, frames):
    source, target = (part.set_axis(labels, axis=1) for part in frames[::2])
    expected = clone(estimator).fit(source, frames[1], X_target=target).relative_missingness_
    reordered = clone(estimator).fit(source, frames[1], X_target=target.iloc[:, [2, 0, 1]]).relative_missingness_
    np.testing.assert_array_equal(reordered.r, expected.r)
    assert reordered.feature_names == list(labels)


@every
@unnamed
def test_later_rows_have_the_labels_of_fit(estimator, labels, frames):
    source, target = (part.set_axis(labels, axis=1) for part in frames[::2])
    fitted = clone(estimator).fit(source, frames[1], X_target=target)
    use = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    use(target)
    use(target.to_numpy())
    with pytest.raises(ValueError, match=r"in the same order\. They come in another order\. Reorder"):
        use(target.iloc[:, [2, 0, 1]])
    with pytest.raises(ValueError, match=r"not seen in fit: \['age', 'dose', 'ward'\]"):
        use(frames[2])


@every
def test_labels_are_forgotten_with_the_next_fit(estimator, frames):
    source, target = (part.set_axis(ITEMS, axis=1) for part in frames[::2])
    fitted = clone(estimator).fit(source, frames[1], X_target=target)
    fitted.fit(source.to_numpy(), frames[1], X_target=target.to_numpy())
    use = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    use(target.iloc[:, [2, 0, 1]])


@every
def test_labels_of_several_kinds(estimator, frames):
    source, y, target = frames
    with pytest.raises(TypeError, match=r"all input features have string names.*\['int', 'str'\]"):
        clone(estimator).fit(source.rename(columns={"dose": 7}), y, X_target=target)


@every
def test_a_feature_the_source_never_shows(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"source holds only zeros in column 'ward'.*Drop .* both source and target"):
        estimator.fit(source.assign(ward=0.0), y, X_target=target)
    with pytest.raises(ValueError, match="source holds only zeros in column 2"):
        estimator.fit(source.assign(ward=0.0).to_numpy(), y, X_target=target.to_numpy())


@every
def test_a_feature_the_target_never_shows(estimator, frames):
    source, y, target = frames
    with pytest.warns(UserWarning, match=r"target holds only zeros in column 'ward'.*no use of it"):
        estimator.fit(source, y, X_target=target.assign(ward=0.0))


@every
def test_no_zero_anywhere(estimator, frames):
    source, y, target = frames
    with pytest.warns(
        UserWarning, match=r"Neither source nor target holds a zero.*set what is missing to 0 afterwards"
    ):
        estimator.fit(source + 1, y, X_target=target + 1)
    # One zero is enough to leave it to the user.
    estimator.fit(source + 1, y, X_target=(target + 1).replace({"age": {4.0: 0.0}}))


@adjusted
def test_one_row(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"1 sample.*minimum of 2"):
        estimator.fit(source[:1], y[:1], X_target=target)


@every
def test_one_target_row_is_enough(estimator, frames):
    source, y, _ = frames
    estimator.fit(source, y, X_target=np.ones((1, 3)))


@adjusted
def test_a_constant_label(estimator, frames):
    source, y, target = frames
    with pytest.warns(UserWarning, match=r"label is constant \(7\).*Check that y"):
        fitted = estimator.fit(source, np.full(len(y), 7.0), X_target=target)
    assert np.isfinite(fitted.predict(target)).all()


@every
def test_an_empty_target(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match="X_target has no rows: give at least one"):
        estimator.fit(source, y, X_target=target[:0])


@pytest.mark.parametrize("columns", [["age", "dose", "ward"], ["dose"]], ids=["table", "one column"])
def test_the_target_in_place_of_labels(columns, frames):
    source, target = frames[0][columns], frames[2][columns]
    for fit in (MissingnessFilter().fit, MissingnessFilter().fit_transform):
        with pytest.raises(ValueError, match=r"as many columns as X.*fit\(X_source, X_target=X_target\)"):
            fit(source, target)
    if len(columns) > 1:
        with pytest.raises(ValueError, match=r"Give the target's rows by name"):
            MissingnessFilter().fit(source.to_numpy(), sparse.csr_array(target.to_numpy()))


def test_labels_of_a_filter_are_ignored(frames):
    source, y, target = frames
    for labels in (y, y[:, None], np.column_stack([y, y]), target.add_prefix("label of "), y.tolist()):
        MissingnessFilter().fit(source, labels)
    MissingnessFilter().fit(source, target, X_target=target)


@every
def test_a_vector_in_place_of_a_table(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        estimator.fit(source["age"].to_numpy(), y, X_target=target)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        estimator.fit(source, y, X_target=target["age"].to_numpy())


@adjusted
def test_more_labels_than_rows(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[40, 41\]"):
        estimator.fit(source, np.append(y, 1.0), X_target=target)


@every
def test_another_number_of_columns_in_the_target(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"source's 3 columns, got 2\. Keep the columns that both have"):
        estimator.fit(source.to_numpy(), y, X_target=target.to_numpy()[:, :2])


@adjusted
def test_another_number_of_columns_to_predict(estimator, frames):
    source, y, target = frames
    fitted = estimator.fit(source.to_numpy(), y, X_target=target.to_numpy())
    with pytest.raises(ValueError, match=r"2 features, but .* expecting 3"):
        fitted.predict(target.to_numpy()[:, :2])


@every
def test_infinite_values(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match="X_target contains infinite values in column 'age': give finite ones"):
        estimator.fit(source, y, X_target=target.assign(age=np.inf))
    with pytest.raises(ValueError, match="X contains infinite values in column 'age': give finite ones"):
        # Beside a column of booleans, the table is an array of objects.
        estimator.fit(source.assign(age=np.inf, ward=True), y, X_target=target)


DATES = pd.date_range("2020-01-01", periods=40)


@every
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["low", "med"] * 20, "'low'"),
        ([0, "med"] * 20, "'med'"),
        (["1.5", "2"] * 20, "'1.5'"),
        (pd.Categorical(["low", "med"] * 20), "'low'"),
        (pd.cut(np.arange(40), 2), r"\(-0.039, 19.5\]"),
        (DATES, "2020-01-01"),
        (DATES - DATES[0], "0 days"),
        (DATES.date, "2020-01-01"),
    ],
    ids=["text", "some text", "numbers as text", "categories", "intervals", "dates", "spans", "date objects"],
)
def test_what_is_no_number_is_named(estimator, values, shown, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=rf"^X holds {shown}.*no number, in column 'dose'\. .*get_dummies"):
        estimator.fit(source.assign(dose=values), y, X_target=target)
    with pytest.raises(ValueError, match=rf"^X_target holds {shown}.*no number, in column 'dose'\. .*get_dummies"):
        estimator.fit(source, y, X_target=target.assign(dose=values))
    if isinstance(values, list):
        with pytest.raises(ValueError, match=r"^X holds .* no number, in column 1\. "):
            estimator.fit(source.assign(dose=values).to_numpy(dtype=object), y, X_target=target.to_numpy())


@every
def test_several_columns_of_text(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match="in columns 'age', 'ward'"):
        estimator.fit(source.assign(age="old", ward="A"), y, X_target=target)


@adjusted
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pd.Categorical, lambda y: pd.DataFrame({"y": y})])
def test_text_as_labels_of_a_regressor(estimator, make, frames):
    source, _, target = frames
    with pytest.raises(ValueError, match="y holds 'high', which is no number, and a regressor needs numbers: encode"):
        estimator.fit(source, make(["high", "low"] * 20), X_target=target)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ClosedFormRegressor(gram="both"), "'gram' parameter"),
        (ClosedFormRegressor(stabilise="yes"), "'stabilise' parameter"),
        (FilteredRegressor("linear"), "'estimator' parameter"),
        (MissingnessFilter(random_state="seed"), "'random_state' parameter"),
    ],
)
def test_parameters_of_a_wrong_kind(estimator, message, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=message):
        estimator.fit(source, y, X_target=target)
