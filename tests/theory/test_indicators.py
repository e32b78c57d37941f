"""With ξ observed missingness shift is covariate shift; without it is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dams.identification import corrupt_law
from dams.theory.indicators import driven_by_observed, is_missingness_shift, label_law, observed_law, ucar
from dams.theory.laws import DiscreteLaw

SIZES = (2, 3, 2)
M_SOURCE, M_TARGET = np.array([0.1, 0.5, 0.3]), np.array([0.6, 0.2, 0.8])


@pytest.fixture
def law():
    return DiscreteLaw.random(np.random.default_rng(0), SIZES)


def observed_drives(scale):
    """The first feature is never lost and drives the loss of the others."""
    return driven_by_observed(SIZES, [0], lambda x: [0.2 + scale * x, 0.9 - scale * x])


def self_masking(scale):
    """A value is lost depending on itself, which the proposition excludes."""
    keep = np.ones((*SIZES, 3))
    keep[:, 1, :, 1], keep[:, 2, :, 1] = scale, 1 - scale
    return keep


def test_marginal_over_masks_is_the_corrupted_law(law):
    joint = observed_law(law.p, ucar(SIZES, M_SOURCE))
    assert joint.shape == (2, 3, 2, 2, 2, 2, 2)
    assert_allclose(joint.sum(axis=(3, 4, 5)), corrupt_law(law.p, M_SOURCE), atol=1e-12)


def test_marginal_of_the_masks_is_their_law(law):
    masks = observed_law(law.p, ucar(SIZES, M_SOURCE)).sum(axis=(0, 1, 2, 6))
    assert_allclose(masks, np.einsum("i,j,k", *np.stack([M_SOURCE, 1 - M_SOURCE], axis=1)), atol=1e-12)


def test_a_lost_value_reads_zero(law):
    joint = observed_law(law.p, ucar(SIZES, M_SOURCE))
    assert joint[1, :, :, 0].sum() == 0
    assert joint[:, 1:, :, :, 0].sum() == 0


@pytest.mark.parametrize(
    ("source", "target"),
    [(ucar(SIZES, M_SOURCE), ucar(SIZES, M_TARGET)), (observed_drives(0.1), observed_drives(0.6))],
    ids=["ucar", "driven by observed"],
)
def test_with_indicators_the_label_law_is_the_same_in_both_domains(law, source, target):
    assert is_missingness_shift(source, target)
    given_source = label_law(law.p, source, indicators=True)
    assert np.isfinite(given_source).sum() > given_source.size / 8
    assert_allclose(given_source, label_law(law.p, target, indicators=True), atol=1e-12)


@pytest.mark.parametrize(
    ("source", "target"),
    [(ucar(SIZES, M_SOURCE), ucar(SIZES, M_TARGET)), (observed_drives(0.1), observed_drives(0.6))],
    ids=["ucar", "driven by observed"],
)
def test_without_indicators_it_differs(law, source, target):
    difference = label_law(law.p, source, indicators=False) - label_law(law.p, target, indicators=False)
    assert np.nanmax(np.abs(difference)) > 0.01


def test_indicators_do_not_help_where_a_value_drives_its_own_loss(law):
    difference = label_law(law.p, self_masking(0.3), indicators=True) - label_law(
        law.p, self_masking(0.8), indicators=True
    )
    assert np.nanmax(np.abs(difference)) > 0.01


def test_equal_mechanisms_are_no_shift():
    assert not is_missingness_shift(ucar(SIZES, M_SOURCE), ucar(SIZES, M_SOURCE))


def test_mechanism_driven_by_observed():
    keep = observed_drives(0.5)
    assert (keep[..., 0] == 1).all()
    assert_allclose(keep[1, 2, 1], [1, 0.7, 0.4])
    assert_allclose(keep[0, 2, 1], [1, 0.2, 0.9])
