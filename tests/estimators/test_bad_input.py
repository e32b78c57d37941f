"""What the estimators say to data they can't use: what was expected, what came, and the way out."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

try:
    import pyarrow as arrow
except ImportError:
    arrow = None

from dams import ClosedFormRegressor, FilteredEstimator, MissingnessFilter, TwoWayEstimator, TwoWayFilter

ADJUSTED = [
    ClosedFormRegressor(),
    ClosedFormRegressor(stabilise=False),
    FilteredEstimator(LinearRegression()),
    TwoWayEstimator(LinearRegression()),
]
FILTERS = [MissingnessFilter(), TwoWayFilter()]
ALL = [*ADJUSTED, *FILTERS]
# Small tables have a column that the target loses less, as they come.
pytestmark = pytest.mark.filterwarnings("ignore:The target records")
every = pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
adjusted = pytest.mark.parametrize("estimator", ADJUSTED, ids=lambda e: type(e).__name__)


def fit(estimator, X, y, **options):
    """Fit, which a filter calls `fit_resample`."""
    if hasattr(estimator, "fit"):
        return estimator.fit(X, y, **options)
    estimator.fit_resample(X, y, **options)
    return estimator


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
        fit(estimator, given[kind], y, X_target=target.to_numpy())


@every
def test_nan_in_the_target(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"X_target contains NaN in columns 'age', 'ward'\. .*replace NaN by 0"):
        fit(estimator, source, y, X_target=target.assign(age=np.nan, ward=np.nan))


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
        fit(estimator, source, y, X_target=target.rename(columns={"dose": "drug"}))


@adjusted
def test_reordered_columns_are_matched_by_name(estimator, frames):
    source, y, target = frames
    model = FilteredEstimator(LinearRegression(), random_state=0) if "estimator" in vars(estimator) else estimator
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
    expected = fit(clone(estimator), source, frames[1], X_target=target).relative_missingness_
    reordered = fit(clone(estimator), source, frames[1], X_target=target.iloc[:, [2, 0, 1]]).relative_missingness_
    np.testing.assert_array_equal(reordered.r, expected.r)
    assert reordered.feature_names == list(labels)


@adjusted
@unnamed
def test_later_rows_have_the_labels_of_fit(estimator, labels, frames):
    source, target = (part.set_axis(labels, axis=1) for part in frames[::2])
    use = clone(estimator).fit(source, frames[1], X_target=target).predict
    use(target)
    use(target.to_numpy())
    with pytest.raises(ValueError, match=r"in the same order\. They come in another order\. Reorder"):
        use(target.iloc[:, [2, 0, 1]])
    with pytest.raises(ValueError, match=r"not seen in fit: \['age', 'dose', 'ward'\]"):
        use(frames[2])


@adjusted
def test_labels_are_forgotten_with_the_next_fit(estimator, frames):
    source, target = (part.set_axis(ITEMS, axis=1) for part in frames[::2])
    fitted = clone(estimator).fit(source, frames[1], X_target=target)
    fitted.fit(source.to_numpy(), frames[1], X_target=target.to_numpy())
    fitted.predict(target.iloc[:, [2, 0, 1]])


@every
def test_labels_of_several_kinds(estimator, frames):
    source, y, target = frames
    with pytest.raises(TypeError, match=r"all input features have string names.*\['int', 'str'\]"):
        fit(clone(estimator), source.rename(columns={"dose": 7}), y, X_target=target)


@every
def test_a_feature_the_source_never_shows(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"source holds only zeros in column 'ward'.*Drop .* both source and target"):
        fit(estimator, source.assign(ward=0.0), y, X_target=target)
    with pytest.raises(ValueError, match="source holds only zeros in column 2"):
        fit(estimator, source.assign(ward=0.0).to_numpy(), y, X_target=target.to_numpy())


@every
def test_a_feature_the_target_never_shows(estimator, frames):
    source, y, target = frames
    with pytest.warns(UserWarning, match=r"target holds only zeros in column 'ward'.*no use of it"):
        fit(estimator, source, y, X_target=target.assign(ward=0.0))


@every
def test_no_zero_anywhere(estimator, frames):
    source, y, target = frames
    with pytest.warns(
        UserWarning, match=r"Neither source nor target holds a zero.*set what is missing to 0 afterwards"
    ):
        fit(estimator, source + 1, y, X_target=target + 1)
    # One zero is enough to leave it to the user.
    fit(estimator, (source + 1).replace({"age": {4.0: 0.0}}), y, X_target=target + 1)


@adjusted
def test_one_row(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"1 sample.*minimum of 2"):
        estimator.fit(source[:1], y[:1], X_target=target)


@every
def test_one_target_row_is_enough(estimator, frames):
    source, y, _ = frames
    fit(estimator, source, y, X_target=np.ones((1, 3)))


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
        fit(estimator, source, y, X_target=target[:0])


@pytest.mark.parametrize("columns", [["age", "dose", "ward"], ["dose"]], ids=["table", "one column"])
@pytest.mark.parametrize("resampler", FILTERS)
def test_the_target_in_place_of_labels(resampler, columns, frames):
    source, target = frames[0][columns], frames[2][columns]
    with pytest.raises(
        ValueError, match=r"as many columns as X.*fit_resample\(X_source, y_source, X_target=X_target\)"
    ):
        resampler.fit_resample(source, target)
    if len(columns) > 1:
        with pytest.raises(ValueError, match=r"Give the target's rows by name"):
            resampler.fit_resample(source.to_numpy(), sparse.csr_array(target.to_numpy()))


@pytest.mark.parametrize("resampler", FILTERS)
def test_a_filter_returns_the_labels_it_was_given(resampler, frames):
    source, y, target = frames
    for labels in (y, np.column_stack([y, y]), target.add_prefix("label of "), y.tolist()):
        for options in ({"X_target": None}, {"X_target": target}):
            np.testing.assert_array_equal(resampler.fit_resample(source, labels, **options)[1], np.asarray(labels))


@every
def test_two_columns_of_one_name(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"^X has more than one column 'age': give every column a name of its own"):
        fit(clone(estimator), source.rename(columns={"ward": "age"}), y, X_target=target)


class Table:
    """What there is of pyarrow's Table: columns that are no names."""

    def __init__(self, frame):
        self.frame, self.column_names, self.shape = frame, list(frame.columns), frame.shape
        self.columns = [frame[name].to_numpy() for name in frame.columns]

    def to_pandas(self):
        return self.frame


@every
def test_an_arrow_table(estimator, frames):
    source, y, target = frames
    for make in (Table, *([arrow.Table.from_pandas] if arrow else [])):
        with pytest.raises(TypeError, match=r"^X is a \w+ Table: give X\.to_pandas\(\)\.$"):
            fit(clone(estimator), make(source), y, X_target=target)
        with pytest.raises(TypeError, match=r"^X_target is a \w+ Table: give X_target\.to_pandas\(\)\.$"):
            fit(clone(estimator), source, y, X_target=make(target))


@every
def test_a_vector_in_place_of_a_table(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        fit(estimator, source["age"].to_numpy(), y, X_target=target)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        fit(estimator, source, y, X_target=target["age"].to_numpy())


@adjusted
def test_more_labels_than_rows(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[40, 41\]"):
        estimator.fit(source, np.append(y, 1.0), X_target=target)


@every
def test_another_number_of_columns_in_the_target(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"source's 3 columns, got 2\. Keep the columns that both have"):
        fit(estimator, source.to_numpy(), y, X_target=target.to_numpy()[:, :2])


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
        fit(estimator, source, y, X_target=target.assign(age=np.inf))
    with pytest.raises(ValueError, match="X contains infinite values in column 'age': give finite ones"):
        # Beside a column of booleans, the table is an array of objects.
        fit(estimator, source.assign(age=np.inf, ward=True), y, X_target=target)


@every
def test_values_whose_squares_are_infinite(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=r"X_target contains values of 1e154 or more in column 'age', whose squares"):
        fit(estimator, source, y, X_target=target.assign(age=-1e154))
    with pytest.raises(ValueError, match=r"X contains values of 1e154 or more in column 'ward', whose squares"):
        fit(estimator, source.assign(ward=1e200), y, X_target=target)
    if type(estimator) is not TwoWayFilter:
        with pytest.raises(ValueError, match="X contains values of 1e154 or more, whose squares are infinite: divide"):
            fit(estimator, sparse.csr_matrix(source.assign(ward=1e200)), y, X_target=target.to_numpy())
    fit(estimator, source * 1e150, y, X_target=target * 1e150)


@every
def test_a_masked_array_that_hides_values(estimator, frames):
    source, y, target = (np.asarray(part) for part in frames)
    hidden = np.ma.masked_equal(source, 2.0)
    with pytest.raises(
        ValueError, match=r"X is a masked array with hidden values: give X\.filled\(0\) if these are lost"
    ):
        fit(estimator, hidden, y, X_target=target)
    with pytest.raises(ValueError, match="X_target is a masked array with hidden values"):
        fit(estimator, source, y, X_target=np.ma.masked_equal(target, 2.0))
    fit(estimator, np.ma.masked_equal(source, 99.0), y, X_target=target)


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
        fit(estimator, source.assign(dose=values), y, X_target=target)
    with pytest.raises(ValueError, match=rf"^X_target holds {shown}.*no number, in column 'dose'\. .*get_dummies"):
        fit(estimator, source, y, X_target=target.assign(dose=values))
    if isinstance(values, list):
        with pytest.raises(ValueError, match=r"^X holds .* no number, in column 1\. "):
            fit(estimator, source.assign(dose=values).to_numpy(dtype=object), y, X_target=target.to_numpy())


@every
def test_several_columns_of_text(estimator, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match="in columns 'age', 'ward'"):
        fit(estimator, source.assign(age="old", ward="A"), y, X_target=target)


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
        (FilteredEstimator("linear"), "'estimator' parameter"),
        (FilteredEstimator(LinearRegression(), n_draws=0), "'n_draws' parameter"),
        (TwoWayEstimator(LinearRegression(), verbose="loud"), "'verbose' parameter"),
        (MissingnessFilter(random_state="seed"), "'random_state' parameter"),
        (TwoWayFilter(n_jobs=0.5), "'n_jobs' parameter"),
    ],
)
def test_parameters_of_a_wrong_kind(estimator, message, frames):
    source, y, target = frames
    with pytest.raises(ValueError, match=message):
        fit(estimator, source, y, X_target=target)
