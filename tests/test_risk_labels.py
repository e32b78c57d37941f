"""Risks in the target for labels and predictions of any type and shape."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from dams import check_sensitivity, compare_target_risk, target_risk, target_risk_scorer
from tests.risk_laws import Curved, exact_tables, simulate


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, bool])
def test_small_types_of_labels_do_not_wrap_around(dtype):
    """Differences of such labels, and their squares, are beyond what the type holds."""
    _, (X, y), (target, _), _ = simulate(300, 12)
    labels = (y > y.mean()) if dtype is bool else np.clip(np.round(20 * (y - y.min())), 0, 120).astype(dtype)

    class Nearest:
        def predict(self, X):
            return np.resize(labels, len(X))

    found, expected = (
        target_risk(Nearest(), X, kind, target, loss="squared") for kind in (labels, labels.astype(float))
    )
    assert found.estimate == pytest.approx(expected.estimate)
    assert found.source_risk == expected.source_risk


@pytest.mark.parametrize("dtype", [str, "string", "category"])
def test_names_of_classes_are_labels_of_linear_classifiers(dtype):
    _, (X, y), (target, _), _ = simulate(600, 13)
    sick = y > y.mean()
    expected = target_risk(LogisticRegression().fit(X[:300], sick[:300]), X[300:], sick[300:], target, random_state=0)
    names = pd.Series(np.where(sick, "yes", "no")).astype(dtype)
    model = LogisticRegression().fit(X[:300], names[:300])
    found = target_risk(model, X[300:], names[300:], target, random_state=0)
    assert found.estimate == pytest.approx(expected.estimate)


class Shaped(Curved):
    """Predictions of another shape."""

    def __init__(self, columns):
        self.columns = columns

    def predict(self, X):
        return np.tile(super().predict(X)[:, None], self.columns)


@pytest.mark.parametrize("method", ["signed", "filled"])
@pytest.mark.parametrize("loss", ["squared", lambda y, predicted: np.abs(y - predicted)])
def test_predictions_in_one_column_are_those_of_a_vector(method, loss):
    X, y, X_target, _ = exact_tables()
    options = {"loss": loss, "method": method, "random_state": 0}
    column, vector = (target_risk(model, X, y, X_target, **options) for model in (Shaped(1), Curved()))
    assert (column.estimate, column.standard_error, column.source_risk) == (
        vector.estimate,
        vector.standard_error,
        vector.source_risk,
    )


def test_one_column_labels_give_what_a_vector_gives():
    X, y, X_target, _ = exact_tables()
    column, vector = LinearRegression().fit(X, y[:, None]), LinearRegression().fit(X, y)
    both = compare_target_risk({"column": column, "vector": vector}, X, y, X_target).table
    np.testing.assert_allclose(both.loc["column"], both.loc["vector"], rtol=1e-9, atol=1e-12)
    scores = [target_risk_scorer(X_target, random_state=0)(model, X, y) for model in (column, vector)]
    assert scores[0] == pytest.approx(scores[1])
    bounds = check_sensitivity({"column": column, "vector": vector}, X, y, X_target).table
    np.testing.assert_allclose(*(part.iloc[:, 2:6] for _, part in bounds.groupby("model")))


def test_predictions_of_several_labels_are_refused():
    X, y, X_target, _ = exact_tables()
    told = r"Shaped must predict one number or class per row, \(384,\), got an array of shape \(384, 2\)"
    with pytest.raises(ValueError, match=told):
        target_risk(Shaped(2), X, y, X_target)


def test_a_classifier_without_probabilities_is_called_so():
    X, y, X_target, _ = exact_tables()
    named = np.where(y > 0, "case", "none")
    told = "LinearSVC is a classifier without predict_proba, and loss='{}' .* CalibratedClassifierCV"
    for loss, labels in (("auto", named), ("squared", named), ("log", y), ("brier", named)):
        with pytest.raises(ValueError, match=told.format(loss)):
            target_risk(LinearSVC().fit(X, labels), X, labels, X_target, loss=loss)
    wrong = target_risk(LinearSVC().fit(X, named), X, named, X_target, loss=lambda y, guess: (y != guess).astype(float))
    assert 0 < wrong.estimate < 1
    calibrated = CalibratedClassifierCV(LinearSVC()).fit(X, named)
    assert target_risk(calibrated, X, named, X_target, random_state=0).loss == "brier"
