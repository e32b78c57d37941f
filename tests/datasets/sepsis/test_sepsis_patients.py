import io
import os
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from psv_files import PATIENTS, psv, write_patients

from dams.datasets import RawDataError, load_sepsis
from dams.datasets.sepsis.files import find_files
from dams.datasets.sepsis.hours import HEADER, read_blocks, read_hours
from dams.datasets.sepsis.patients import prepare_patients
from dams.datasets.sepsis.ranges import COLUMNS, FLAGS, MEASUREMENTS


def archive(folder, kind):
    """The same patients in one archive, in a folder of the archive's own and beside other files."""
    contents = {"x/README.md": b"about"} | {f"x/training/{name}": content for name, content in PATIENTS.items()}
    path = folder / f"challenge{kind}"
    if kind == ".zip":
        with zipfile.ZipFile(path, "w") as file:
            for name, content in contents.items():
                file.writestr(name, content)
        return path
    with tarfile.open(path, f"w:{kind.rpartition('.')[2]}") as file:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture(autouse=True)
def no_folder_of_the_users(request, monkeypatch):
    if "real_data" not in request.keywords:
        monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)


def test_patients_are_flagged_by_the_worst_value_of_the_first_day(tmp_path):
    table = load_sepsis(write_patients(tmp_path))
    assert list(table.X.index) == [1, 2, 100001, 100002]
    assert table.y.tolist() == [0, 0, 1, 0]
    # A value on the limit is normal, in the precision of the files.
    assert table.X["pH_low"].tolist() == [0, 0, 0, 1]
    assert table.X["HR_high"].tolist() == [0, 1, 0, 0]  # 120 in hour 25 is too late
    assert table.X["HR_low"].tolist() == [0, 0, 1, 0]
    assert table.X["Lactate_high"].tolist() == [0, 1, 0, 0]
    # 13 g/dL is low for a man and normal for a woman.
    assert table.X["Hgb_low"].tolist() == [0, 0, 1, 0]
    assert table.X["age"].tolist() == [6.25, 8, 6.25, 6.25] and table.X["female"].tolist() == [0, 1, 0, 1]
    assert table.about["unit"].tolist() == ["medical", "medical", "medical", "unknown"]
    assert table.about["hours"].tolist() == [2, 2, 24, 1]
    assert set(table.X) == {"age", "female", *FLAGS}


def test_patients_left_out_are_counted(tmp_path):
    counts = load_sepsis(write_patients(tmp_path)).counts.set_index("hospital")
    assert counts.loc["A"].to_dict() == {
        "patients": 4,
        "hours": 7,
        "no_hour_in_first_24": 1,
        "septic_in_first_24": 1,
        "kept": 2,
        "sepsis": 0,
    }
    assert counts.loc["B", ["patients", "hours", "kept", "sepsis"]].tolist() == [2, 26, 2, 1]


def test_known_losses_are_nan_where_nothing_was_measured(tmp_path):
    folder = write_patients(tmp_path)
    silent, known = load_sepsis(folder), load_sepsis(folder, known_losses=True)
    assert silent.X.notna().all().all()
    pd.testing.assert_frame_equal(known.X.fillna(0), silent.X)
    assert known.X["HR_high"].isna().tolist() == [False, False, False, True]
    # Both flags of a measurement, and never age or sex.
    assert (known.X["pH_low"].isna() == known.X["pH_high"].isna()).all()
    assert known.X[["age", "female"]].notna().all().all()
    measured = [FLAGS[flag] for flag in silent.flags]
    assert (known.X[silent.flags].notna().to_numpy() == silent.recorded[measured].to_numpy()).all()


@pytest.mark.parametrize("kind", [".tar.xz", ".tar.gz", ".zip"])
def test_an_archive_reads_like_the_folders(tmp_path, kind):
    here = load_sepsis(write_patients(tmp_path / "folders" / "training").parent)
    path = archive(tmp_path, kind)
    for place in (path, path.parent):
        there = load_sepsis(place)
        pd.testing.assert_frame_equal(there.X, here.X)
        pd.testing.assert_frame_equal(there.counts, here.counts)


def test_the_environment_names_a_folder(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"DAMS_SEPSIS_DIR.*download_sepsis"):
        load_sepsis()
    monkeypatch.setenv("DAMS_SEPSIS_DIR", str(write_patients(tmp_path)))
    assert len(load_sepsis().y) == 4


def test_hours_are_one_table_whatever_the_blocks(tmp_path):
    folder = write_patients(tmp_path)
    hours = read_hours(folder)
    assert hours.values.dtype == np.float32 and hours.values.shape == (33, len(COLUMNS))
    assert hours["ICULOS"][hours.starts].tolist() == [1, 1, 1, 25, 1, 1]
    for size in (1, 4):
        table = prepare_patients(read_blocks(folder, size=size))
        pd.testing.assert_frame_equal(table.X, load_sepsis(folder).X)


def test_order_of_files_does_not_matter(tmp_path):
    backwards = dict(reversed(PATIENTS.items()))
    path = tmp_path / "backwards.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in backwards.items():
            file.writestr(name, content)
    pd.testing.assert_frame_equal(load_sepsis(path).X, load_sepsis(write_patients(tmp_path / "folders")).X)


GOOD = PATIENTS["training_setA/p000002.psv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD[:-20], "the last line is cut off"),
        (b"", "the header has no HR, O2Sat"),
        (HEADER + b"\n", "no hours below the header"),
        (GOOD.replace(b"Lactate|", b""), "the header has no Lactate"),
        (
            GOOD.replace(b"|62.5|", b"|62.5|1|", 1).replace(b"|80|0|1", b"|80|0|1|7", 1),
            "line 2: 42 fields, expected 41",
        ),
        (GOOD.replace(b"2.2|NaN|", b"2.2|"), "line 3: 40 fields, expected 41"),
        (GOOD.replace(b"2.2", b"2,2"), "line 3: Lactate is '2,2', expected a number or NaN"),
        (GOOD.replace(b"|2.2|", b"||"), "line 3: Lactate is '', expected a number or NaN"),
        (psv([{"HR": 80}, {"ICULOS": 3}]), "line 3: ICULOS does not count the hours"),
        (psv([{"HR": 80}], first=0), "line 2: ICULOS does not count the hours"),
        (psv([{"SepsisLabel": 2}]), "line 2: SepsisLabel is not 0 or 1"),
        (psv([{}, {"Age": 50}]), "line 3: Age changes from hour to hour"),
        (psv([{}], Age=float("nan")), "line 2: Age is not a positive number"),
    ],
)
def test_a_bad_file_is_named(tmp_path, content, message):
    folder = write_patients(tmp_path, PATIENTS | {"training_setA/p000002.psv": content})
    with pytest.raises(RawDataError, match=r"p000002\.psv") as error:
        load_sepsis(folder)
    assert message in str(error.value)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such file or folder.*training_setA"):
        find_files(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="found 0 archives"):
        find_files(tmp_path)
    alone = {name: content for name, content in PATIENTS.items() if "setA" in name}
    write_patients(tmp_path, alone)
    (tmp_path / "training_setB").mkdir()
    with pytest.raises(RawDataError, match="holds no patient of hospital B"):
        load_sepsis(tmp_path)


@pytest.mark.parametrize("kind", [".tar.xz", ".zip"])
def test_a_truncated_archive_is_named(tmp_path, kind):
    path = archive(tmp_path, kind)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RawDataError, match="can't be read to its end"):
        load_sepsis(path)


def test_a_patient_twice_is_named(tmp_path):
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name in PATIENTS:
            file.writestr(name, PATIENTS[name])
        file.writestr("copy/training_setA/p000001.psv", GOOD)
    with pytest.raises(RawDataError, match=r"p000001\.psv: the patient's file is there twice"):
        load_sepsis(path)


def test_ranges_are_in_order():
    for name, entry in MEASUREMENTS.items():
        for limits in filter(None, (entry.normal, entry.women)):
            low, high = limits
            assert low is None or high is None or low < high, name
        assert entry.sides, name


def test_one_hospital(tmp_path):
    table = load_sepsis(write_patients(tmp_path))
    assert list(table.at("B").X.index) == [100001, 100002] and len(table.at("B").recorded) == 2
    assert ["pH_low", "pH_high"] in table.column_groups and all(len(group) > 1 for group in table.panels)
    with pytest.raises(ValueError, match="one of A, B, got 'C'"):
        table.at("C")


# Shares of patients with a value in the first 24 hours, as they were counted independently; septic patients included.
SHARES = {
    "HCO3": (0.956, 0.016),
    "Chloride": (0.955, 0.074),
    "BaseExcess": (0.593, 0.023),
    "PTT": (0.722, 0.202),
    "pH": (0.616, 0.264),
    "Phosphate": (0.739, 0.513),
    "BUN": (0.963, 0.888),
    "WBC": (0.947, 0.859),
    "Calcium": (0.731, 0.892),
    "AST": (0.246, 0.378),
    "DBP": (0.616, 0.998),
    "Bilirubin_direct": (0.021, 0.058),
    "TroponinI": (0.022, 0.313),
    "EtCO2": (0.0, 0.146),
}


@pytest.mark.real_data
@pytest.mark.skipif(
    "DAMS_SEPSIS_DIR" not in os.environ, reason="DAMS_SEPSIS_DIR does not name a folder with the Challenge 2019 data"
)
def test_the_published_counts_and_shares_hold():
    hours = read_hours()
    table = prepare_patients(iter([hours]))
    counts = table.counts.set_index("hospital")
    assert counts["patients"].tolist() == [20_336, 20_000]
    assert counts["hours"].tolist() == [790_215, 761_995]
    assert counts["no_hour_in_first_24"].tolist() == [13, 2]
    assert counts["septic_in_first_24"].tolist() == [824, 527]
    assert table.y.groupby(table.about["hospital"]).sum().tolist() == [965, 615]
    first = hours["ICULOS"] <= 24
    seen = np.logical_or.reduceat(first, hours.starts)
    septic = np.logical_or.reduceat(hours["SepsisLabel"] == 1, hours.starts)
    for column, hospital in enumerate("AB"):
        here = hours.hospital == hospital
        assert round(septic[here].mean(), 3) == (0.088, 0.057)[column]
        for name, shares in SHARES.items():
            recorded = np.logical_or.reduceat(first & ~np.isnan(hours[name]), hours.starts)
            assert round(recorded[here & seen].mean(), 3) == shares[column], (name, hospital)
