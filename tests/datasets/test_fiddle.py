import gzip
import json
import math
import shutil
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sparse
from fiddle_files import STATIC_NAMES, TIMED_NAMES, N, features, patients, population, save_coo, write_cohort
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dams.datasets.coo_npz import CooNpz, write_coo
from dams.datasets.feature_table import FeatureTable
from dams.datasets.fiddle import collapse, files_of, is_clinical, is_shared, load_fiddle, read_cohort
from dams.datasets.fiddle_as_published import (
    join_by_position,
    keep_without_mask_in_name,
    load_fiddle_as_published,
    order_as_a_set,
)
from dams.datasets.raw import RawDataError


@pytest.fixture
def cohort(tmp_path):
    return tmp_path, *write_cohort(tmp_path)


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


def drop_file(relative):
    return lambda folder: (folder / relative).unlink()


def set_coords(change):
    def spoil(folder):
        path = features(folder) / "X.npz"
        with np.load(path) as stored:
            coords = stored["coords"]
        save_coo(path, coords=change(coords))

    return spoil


def set_data(value):
    def spoil(folder):
        path = features(folder) / "s.npz"
        with np.load(path) as stored:
            size = stored["data"].size
        save_coo(path, data=np.full(size, value))

    return spoil


def change_csv(path, change):
    def spoil(folder):
        frame = pd.read_csv(path(folder))
        change(frame).to_csv(path(folder), index=False)

    return spoil


def truncate(folder):
    path = features(folder) / "X.npz"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    path.write_bytes(content)


def pickled(folder):
    with np.load(features(folder) / "X.npz") as stored:
        data = stored["data"].astype(object)
    save_coo(features(folder) / "X.npz", data=data)


def save_as_gcxs(folder):
    path = features(folder) / "s.npz"
    sparse.save_npz(path, sparse.load_npz(path).asformat("gcxs"))


def say_gcxs(folder):
    save_coo(features(folder) / "s.npz", format=np.array("gcxs"))


def swap_columns(coords):
    return coords[:, ::-1]


def repeat_first(coords):
    coords[:, 1] = coords[:, 0]
    return coords


def beyond(coords):
    coords[2, -1] = len(TIMED_NAMES)
    return coords


def misalign(folder):
    path = features(folder) / "s.npz"
    sparse.save_npz(path, sparse.COO(np.roll(sparse.load_npz(path).todense(), 1, axis=0)))


def short_gzip(folder):
    path = patients(folder)
    path.write_bytes(path.read_bytes()[:-60])


BAD = {
    "no X": (drop_file("FIDDLE_eicu/features/mortality_48h/X.npz"), "X.npz does not exist.*docs/eicu.md"),
    "no s": (drop_file("FIDDLE_eicu/features/mortality_48h/s.npz"), "s.npz does not exist"),
    "no names": (
        drop_file("FIDDLE_eicu/features/mortality_48h/X.feature_names.json"),
        "X.feature_names.json does not exist. FIDDLE writes it beside X.npz",
    ),
    "no population": (drop_file("FIDDLE_eicu/population/mortality_48h.csv"), "mortality_48h.csv does not exist"),
    "no patients": (drop_file("eicu-crd/2.0/patient.csv.gz"), "patient.csv.gz does not exist"),
    "no zip": (lambda f: (features(f) / "X.npz").write_text("<html>"), "X.npz is not an npz archive. Download"),
    "wrong keys": (
        lambda f: save_coo(features(f) / "X.npz", drop="coords"),
        "X.npz lacks the arrays coords; it holds data, fill_value, shape.*sparse.save_npz",
    ),
    "damaged": (truncate, "X.npz is damaged|X.npz: the array .* ends early|no readable header"),
    "pickled": (pickled, "X.npz: the array data holds pickled Python objects.*never loaded"),
    "unsorted": (set_coords(swap_columns), r"X.npz: the coordinate \(.*\) is not in lexicographic order. Save"),
    "duplicate": (set_coords(repeat_first), r"X.npz: the coordinate \(.*\) repeats the one before it. Save"),
    "outside": (set_coords(beyond), r"X.npz: some coordinates lie outside the shape \(60, 8, 6\)"),
    "coords of another shape": (set_coords(lambda c: c[:2]), r"X.npz: data \(\d+,\) and coords \(2, \d+\) do not fit"),
    "float coords": (set_coords(lambda c: c.astype(float)), "X.npz: coords must be integers, got float64"),
    "text data": (set_data("a"), "s.npz: data must be numbers, got <U1"),
    "fill": (lambda f: save_coo(features(f) / "X.npz", fill_value=np.array(1)), "X.npz: fill_value must be 0, got 1"),
    "gcxs": (save_as_gcxs, "s.npz lacks the arrays coords"),
    "other format": (say_gcxs, "s.npz is stored as 'gcxs'. Save it as COO"),
    "too few names": (
        lambda f: (features(f) / "X.feature_names.json").write_text(json.dumps(TIMED_NAMES[:-1])),
        "X.feature_names.json names 5 features, but .*X.npz has 6 columns.*same run",
    ),
    "names no list": (
        lambda f: (features(f) / "X.feature_names.json").write_text('{"a": 1}'),
        "X.feature_names.json must hold a list of strings",
    ),
    "another population": (
        change_csv(population, lambda p: p.iloc[:-1]),
        r"s.npz has the shape \(60, 4\); expected 2 dimensions and 59 rows",
    ),
    "IDs descend": (
        change_csv(population, lambda p: p.iloc[::-1]),
        "mortality_48h.csv: IDs must ascend without repeats; 1174 follows 1177. FIDDLE sorts the rows of X",
    ),
    "ID repeats": (change_csv(population, lambda p: p.assign(ID=p["ID"].replace(1003, 1000))), "1000 follows 1000"),
    "no IDs": (change_csv(population, lambda p: p.assign(ID="x")), "ID must hold whole numbers"),
    "odd label": (
        change_csv(population, lambda p: p.assign(mortality_LABEL=p["mortality_LABEL"] * 2)),
        "mortality_48h.csv: mortality_LABEL must be 0 or 1, got 2",
    ),
    "no label": (
        change_csv(population, lambda p: p.drop(columns="mortality_LABEL")),
        "mortality_48h.csv lacks the columns mortality_LABEL",
    ),
    "unknown stay": (
        change_csv(patients, lambda p: p[p["patientunitstayid"] != 1003]),
        "1 stays of the population, first 1003, are not in patient.csv.gz. Use the patient table",
    ),
    "stay repeats": (
        change_csv(patients, lambda p: pd.concat([p, p.tail(1)])),
        "patient.csv.gz: patientunitstayid must be unique, but 7 repeats",
    ),
    "short gzip": (short_gzip, "patient.csv.gz can't be read as CSV.*Download"),
    "rows of s rolled": (
        misalign,
        "s.npz: the column 'hospitalid_value:73__' disagrees with patient.csv.gz in 60 of 60 stays",
    ),
    "one class": (
        change_csv(population, lambda p: p.assign(mortality_LABEL=(p["ID"] == 1000).astype(int))),
        "all 30 stays of hospital 264 have the label 0; nothing can be learnt",
    ),
    "fractions": (
        set_data(0.5),
        "s.npz holds values that are not 0, 1, 2, …; features must be indicators. Run FIDDLE with discretize: yes",
    ),
    "negative": (set_data(-1), "s.npz holds values that are not 0, 1, 2"),
}


@pytest.mark.parametrize("change", [swap_columns, repeat_first])
def test_order_is_checked_across_chunks_too(cohort, change):
    folder, *_ = cohort
    set_coords(change)(folder)
    with pytest.raises(RawDataError, match=r"not in lexicographic order|repeats the one before it"):
        list(CooNpz(features(folder) / "X.npz").chunks(1))


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_with_the_way_out(cohort, case):
    folder, *_ = cohort
    spoil, message = BAD[case]
    spoil(folder)
    with pytest.raises((RawDataError, FileNotFoundError, ValueError), match=message):
        load_fiddle(folder)


@pytest.mark.parametrize(
    ("hospitals", "message"),
    [
        ((73, 5), "hospital 5 has no stay in the population. Choose another"),
        ((73,), r"hospitals must name at least two different hospitals of eICU, got \(73,\)"),
        ((73, 73), "at least two different hospitals"),
    ],
)
def test_bad_hospitals(cohort, hospitals, message):
    with pytest.raises(ValueError, match=message):
        load_fiddle(cohort[0], hospitals=hospitals)


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
