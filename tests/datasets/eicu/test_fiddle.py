import gzip
import json
import math
import shutil
import tracemalloc

import numpy as np
import pytest
from fiddle_files import STATIC_NAMES, TIMED_NAMES, N, features, patients, save_coo
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dams.datasets.eicu import coo_npz
from dams.datasets.eicu.coo_npz import CooNpz, write_coo
from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.fiddle import collapse, files_of, is_clinical, is_shared, load_fiddle, read_cohort
from dams.datasets.eicu.fiddle_as_published import (
    join_by_position,
    keep_without_mask_in_name,
    load_fiddle_as_published,
    order_as_a_set,
)


def test_reads_what_sparse_writes(cohort):
    folder, s, X, stays = cohort
    table = load_fiddle(folder, min_either=0, min_both=0)
    kept = [j for j, name in enumerate(TIMED_NAMES) if name not in ("heartrate_mask", TIMED_NAMES[4])]
    assert table.names == [STATIC_NAMES[0], *(TIMED_NAMES[j] for j in kept)]
    np.testing.assert_array_equal(table.X.toarray(), np.column_stack([s[:, 0], X.max(axis=1)[:, kept]]))
    np.testing.assert_array_equal(table.stay, stays["ID"])
    np.testing.assert_array_equal(table.y, stays["mortality_LABEL"])
    np.testing.assert_array_equal(table.hospital, stays["hospitalid"])
    # One number a patient, one patient a number.
    assert len(set(zip(table.groups, stays["uniquepid"], strict=True))) == len(set(table.groups)) == 20
    assert not table.simulated


def test_hospitals_are_rows_of_the_table(cohort):
    folder, _, _, stays = cohort
    table = load_fiddle(folder, min_either=0, min_both=0)
    np.testing.assert_array_equal(table.at(264).stay, stays.loc[stays["hospitalid"] == 264, "ID"])
    np.testing.assert_array_equal(table.prevalence()[1], table.at(264).X.toarray().mean(axis=0))


def test_newer_spelling_of_the_static_features(cohort):
    folder, *_ = cohort
    expected = load_fiddle(folder, min_either=0, min_both=0)
    for suffix in ("npz", "feature_names.json"):
        (features(folder) / f"s.{suffix}").rename(features(folder) / f"S.{suffix}")
    assert load_fiddle(folder, min_either=0, min_both=0).names == expected.names


@pytest.mark.parametrize("newer", [False, True])
def test_the_files_named_are_those_that_are_read(cohort, tmp_path, newer):
    """With them alone the cohort can be read, and without any of them it can't."""
    folder, *_ = cohort
    if newer:
        for suffix in ("npz", "feature_names.json"):
            (features(folder) / f"s.{suffix}").rename(features(folder) / f"S.{suffix}")
    files, alone = list(files_of(folder).values()), tmp_path / "alone"
    for path in files:
        copy = alone / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    assert load_fiddle(alone, min_either=0, min_both=0).names
    for path in files:
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(FileNotFoundError):
            load_fiddle(folder)
        path.write_bytes(content)


def test_files_without_the_member_format_and_in_fortran_order(cohort):
    folder, *_ = cohort
    expected = load_fiddle(folder, min_either=0, min_both=0)
    path = features(folder) / "X.npz"
    with np.load(path) as stored:
        coords = np.asfortranarray(stored["coords"])
        size = stored["data"].size
    save_coo(path, coords=coords, data=np.ones(size, dtype=bool))
    found = load_fiddle(folder, min_either=0, min_both=0)
    assert (found.X != expected.X).nnz == 0


def test_stored_zeros_are_zeros(cohort):
    folder, *_ = cohort
    path = features(folder) / "X.npz"
    with np.load(path) as stored:
        data = np.zeros_like(stored["data"])
    save_coo(path, data=data)
    assert load_fiddle(folder, min_either=0, min_both=0).X[:, 1:].nnz == 0


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_collapse_is_any_over_time_whatever_the_chunks(tmp_path_factory, data):
    shape = tuple(data.draw(st.tuples(*[st.integers(1, 6)] * 3)))
    cells = math.prod(shape)
    dense = np.array(data.draw(st.lists(st.booleans(), min_size=cells, max_size=cells))).reshape(shape)
    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])))
    path = tmp_path_factory.mktemp("coo") / "X.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coo_npz, "CHUNK", data.draw(st.integers(1, 9)))
        write_coo(path, np.nonzero(dense), np.ones(dense.sum(), dtype=int), shape)
    found = collapse(CooNpz(path), rows, chunk=data.draw(st.integers(1, 9)))
    np.testing.assert_array_equal(found.toarray(), dense.any(axis=1)[rows])


def test_memory_stays_that_of_a_chunk(tmp_path):
    shape, nnz = (2_000, 48, 1_000), 1_000_000
    keys = np.arange(nnz) * (np.prod(shape) // nnz) + np.arange(nnz) % 7
    write_coo(tmp_path / "X.npz", np.unravel_index(keys, shape), np.ones(nnz, dtype=np.int8), shape)
    array = CooNpz(tmp_path / "X.npz")
    tracemalloc.start()
    try:
        found = collapse(array, np.arange(0, 2_000, 100), chunk=50_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.shape == (20, 1_000) and found.nnz > 1_000
    assert peak < 10e6, "the whole of it is 32 MB"


@pytest.mark.parametrize(
    ("name", "clinical"),
    [
        ("heartrate_mask", False),
        ("Vital Signs|Heart Rate|Heart Rate_mask", False),
        ("O2 device_value_mask", True),
        ("O2 device_value_non-rebreather mask", True),
        ("heartrate_delta_time_(-0.001, 1.0]", False),
        ("heartrate_delta_time_0", False),
        ("note_value_changed _delta_time_ by hand", True),
        ("hospitalid_value:73__", False),
        ("hospitalid_value__73", False),
        ("wardid_value:236__", False),
        ("age_value:(51.0, 61.0]", True),
        ("noninvasivemean_max_(78.0, 86.0]", True),
    ],
)
def test_which_columns_are_clinical(name, clinical):
    assert is_clinical(name) is clinical


def test_rules_on_prevalence_hold_at_their_limits():
    prevalence = np.array([[0.05, 0.0499, 0.2, 0.2, 0.01], [0.01, 0.0499, 0.0099, 0.01, 0.05]])
    np.testing.assert_array_equal(
        is_shared(prevalence, min_either=0.05, min_both=0.01), [True, False, False, True, True]
    )


def test_prevalence_is_exact_at_five_percent():
    for m in range(1, 80):
        X = csr_matrix((np.arange(20 * m) < m).astype(float)[:, None])
        where = np.zeros(20 * m, dtype=int)
        table = FeatureTable(X, ["f"], where, where, where, where, (0,), True)
        assert table.prevalence()[0, 0] == 0.05


def test_without_hospital_columns_the_alignment_goes_unchecked_aloud(cohort):
    folder, *_ = cohort
    names = [name.replace("hospitalid", "region") for name in STATIC_NAMES]
    (features(folder) / "s.feature_names.json").write_text(json.dumps(names))
    with pytest.warns(UserWarning, match="s.npz has no hospitalid columns, so its rows can't be checked"):
        load_fiddle(folder)


def test_patient_table_is_gzip(cohort):
    with gzip.open(patients(cohort[0]), "rt") as stream:
        assert stream.readline().startswith("patientunitstayid")


def test_published_join_goes_wrong_with_a_shuffled_list(cohort):
    folder, _, _, stays = cohort
    right = load_fiddle(folder, min_either=0, min_both=0)
    in_order = join_by_position(right, stays["ID"].to_numpy())
    np.testing.assert_array_equal(in_order.y, right.y)
    shuffled = stays["ID"].sample(frac=1, random_state=1).to_numpy()
    wrong = join_by_position(right, shuffled)
    np.testing.assert_array_equal(wrong.stay, shuffled)
    np.testing.assert_array_equal(wrong.X.toarray(), right.X.toarray())
    assert (wrong.y != right.y).sum() > 10 and (wrong.hospital != right.hospital).sum() > 10
    with pytest.raises(ValueError, match="names 59 of the cohort's 60 stays"):
        join_by_position(right, shuffled[1:])


def test_published_rule_on_masks_drops_clinical_levels():
    kept = [name for name, keep in zip(TIMED_NAMES, keep_without_mask_in_name(TIMED_NAMES), strict=True) if keep]
    assert "O2 device_value_non-rebreather mask" not in kept
    assert "heartrate_delta_time_(-0.001, 1.0]" in kept
    assert [name for name in TIMED_NAMES if is_clinical(name)] != kept


def test_published_order_depends_on_the_hash_seed():
    names = [f"feature {k}" for k in range(50)]
    first, again, other = (order_as_a_set(names, hash_seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert sorted(first) == list(range(50)) and list(first) != list(range(50)) and list(first) != list(other)


def test_published_table_has_the_same_rows_and_other_columns(cohort):
    folder, _, _, stays = cohort
    table = load_fiddle_as_published(folder, hospital_list=stays.rename(columns={"ID": "patientunitstayid"}))
    right = load_fiddle(folder)
    np.testing.assert_array_equal(table.stay, right.stay)
    np.testing.assert_array_equal(table.y, right.y)
    assert sorted(table.names) != sorted(right.names)
    # By default the list is patient.csv.gz, which here is in another order.
    assert (load_fiddle_as_published(folder).stay != right.stay).any()


def test_cohort_keeps_all_columns(cohort):
    table = read_cohort(cohort[0])
    assert table.names == STATIC_NAMES + TIMED_NAMES and table.X.shape == (N, 10)
