"""Files of FIDDLE and prepared arrays, damaged at random: read, or refused by a sentence that names the file."""

import json
import zipfile
from random import Random

import numpy as np
import pandas as pd
import pytest
from damage import damage
from fiddle_files import features, save_coo, write_cohort

from dams.datasets.arrays import load_covariates, save_covariates
from dams.datasets.eicu.fiddle import load_fiddle
from dams.datasets.errors import RawDataError


# A name of a hospital's column may be damaged, which makes the loader warn.
@pytest.mark.filterwarnings("ignore:.* has no hospitalid columns")
def test_a_damaged_file_of_fiddle_is_named(tmp_path):
    write_cohort(tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    rng, refused = Random(24), 0
    for number in range(250):
        path = rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(damage(content, rng))
        try:
            load_fiddle(tmp_path)
            said = ""
        except ValueError as error:
            said = str(error)
        # Damage to the population or the patients may show as no stay of a hospital in this folder.
        assert not said or path.name in said or str(tmp_path) in said, (number, path.name, said)
        refused += bool(said)
        path.write_bytes(content)
    assert refused > 150


def test_a_damaged_array_is_named(tmp_path):
    path = tmp_path / "digits.npz"
    save_covariates(pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("abcd")), path)
    content, rng, refused = path.read_bytes(), Random(24), 0
    for number in range(1000):
        path.write_bytes(damage(content, rng))
        try:
            assert load_covariates(path).shape == (30, 4), number
            said = ""
        except ValueError as error:
            said = str(error)
        assert not said or f"{path} is damaged" in said, number
        refused += bool(said)
    assert refused > 800


@pytest.mark.parametrize("text", ["", "{", "\x00", '{"a": 1}', "[1, 2]", "[" * 100_000, '"x"'])
def test_names_of_features_that_are_none(tmp_path, text):
    write_cohort(tmp_path)
    (features(tmp_path) / "s.feature_names.json").write_text(text)
    with pytest.raises(RawDataError, match=r"s\.feature_names\.json"):
        load_fiddle(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": np.array([-60, 4])},
        {"shape": np.array([60, -4])},
        {"shape": np.array([60.0, 4.0])},
        {"shape": np.array([2**40, 2**40])},
        {"shape": np.zeros(1000, dtype=int)},
        {"fill_value": np.array("x")},
        {"fill_value": np.zeros(0)},
        {"format": np.array([], dtype="<U3")},
    ],
)
def test_descriptions_that_are_no_shape(tmp_path, changes):
    write_cohort(tmp_path)
    save_coo(features(tmp_path) / "s.npz", **changes)
    with pytest.raises(RawDataError, match=r"s\.npz"):
        load_fiddle(tmp_path)


@pytest.mark.parametrize("header", ["(-5,)", "(5", "'a'", "(10**30,)"])
def test_headers_of_arrays_that_are_none(tmp_path, header):
    write_cohort(tmp_path)
    path = features(tmp_path) / "s.npz"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {header}, }}".ljust(117) + "\n"
    members["data.npy"] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(40)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(RawDataError, match=r"s\.npz"):
        load_fiddle(tmp_path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"values": np.zeros((2, 3))},
        {"values": np.zeros(3), "columns": np.array(["a", "b", "c"])},
        {"values": np.zeros((2, 3)), "columns": np.array(["a", "b"])},
        {"values": np.zeros((2, 3)), "columns": np.arange(3)},
        {"values": np.array([["a"]]), "columns": np.array(["a"])},
    ],
)
def test_an_archive_of_something_else_is_named(tmp_path, arrays):
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ValueError, match=r"other\.npz is damaged: .*Delete the file and run again\."):
        load_covariates(tmp_path / "other.npz")


def test_json_is_what_names_are_stored_as(tmp_path):
    """The damage above is to files that were sound."""
    write_cohort(tmp_path)
    assert isinstance(json.loads((features(tmp_path) / "s.feature_names.json").read_text()), list)
    assert load_fiddle(tmp_path).X.shape[0] == 60
