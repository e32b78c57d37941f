"""Exact scores of the scenarios: against formulas, against large samples, and where they must be what they are."""

import numpy as np
import pytest

from dams.datasets.synthetic import sample_confounded, sample_redundant
from dams.missingness import delete_at_random
from dams.rates import OpposingRates
from dams.theory.scenarios import exact_scores, scores_of

SAMPLERS = {"redundant": sample_redundant, "confounded": sample_confounded}


def fitted_score(X_train, y_train, X_test, y_test):
    design = np.column_stack([np.ones(len(X_train)), X_train])
    beta = np.linalg.lstsq(design, y_train, rcond=None)[0]
    return np.mean((y_test - beta[0] - X_test @ beta[1:]) ** 2) / y_test.var()


@pytest.mark.parametrize("scenario", SAMPLERS)
@pytest.mark.parametrize("labels", ["stated", (3.0, 7.0)])
def test_large_samples_come_close(scenario, labels):
    rng = np.random.default_rng(0)
    covariates, own = SAMPLERS[scenario](200_000, rng)
    X = covariates.to_numpy()
    y = own if labels == "stated" else X @ labels
    stated = exact_scores(scenario, 0.1, "structural")
    exact = stated if labels == "stated" else scores_of(scenario, 0.1, np.array(labels)[:, None])
    m_source, m_target = OpposingRates(0.1).sample(2, rng)
    # The target keeps 0.1 and 0.9 of its values, the source the other way round: the filter deletes in column 2 alone.
    filtered = 1 - (1 - m_source) * np.minimum((1 - m_target) / (1 - m_source), 1)
    test = delete_at_random(X, m_target, rng)
    for method, rates in (("oracle", m_target), ("source", m_source), ("nonparametric", filtered)):
        assert fitted_score(delete_at_random(X, rates, rng), y, test, y) == pytest.approx(exact[method], rel=0.02)
    assert exact["closed_form"] == exact["oracle"]


def test_redundant_features_do_not_depend_on_beta():
    """So its linear oracle at ε = 0.1 is one number, 0.180, and Y = 2Z(β₁ + β₂)/2 is as good as any."""
    scores = scores_of("redundant", 0.1, np.array([[1.0, 3.0, 0.1], [0.0, 4.0, 9.0]]))["oracle"]
    np.testing.assert_allclose(scores, [0.18] * 3, atol=1e-12)
    assert exact_scores("redundant", 0.1)["nonparametric"] == pytest.approx(0.5)


def test_the_mean_over_beta_is_the_mean_over_beta():
    rng = np.random.default_rng(1)
    drawn = scores_of("confounded", 0.1, rng.uniform(0, 10, (2, 40_000)))
    for method, value in exact_scores("confounded", 0.1).items():
        sampled = drawn[method]
        assert abs(sampled.mean() - value) < 4 * sampled.std() / np.sqrt(len(sampled))


def test_without_shift_all_are_the_oracle():
    for scenario in SAMPLERS:
        assert len({round(score, 12) for score in exact_scores(scenario, 0.5).values()}) == 1
