"""Files of FIDDLE that are damaged, incomplete or of another kind are named with the way out."""

import json

import numpy as np
import pandas as pd
import pytest
import sparse
from fiddle_files import TIMED_NAMES, features, patients, population, save_coo

from dams.datasets.eicu.coo_npz import CooNpz
from dams.datasets.eicu.fiddle import load_fiddle
from dams.datasets.errors import RawDataError


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
        "X.npz has no array coords; it holds data, fill_value, shape.*sparse.save_npz",
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
    "gcxs": (save_as_gcxs, "s.npz has no array coords"),
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
        "mortality_48h.csv has no column mortality_LABEL",
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
