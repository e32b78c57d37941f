"""Prepared covariates survive the way to disk and back, and a reader never meets half a file."""

import numpy as np
import pandas as pd
import pytest

from dams.datasets.arrays import load_covariates, save_covariates


@pytest.fixture
def covariates():
    values = np.random.default_rng(0).normal(size=(20, 3))
    return pd.DataFrame(values, columns=["age", "naïve μ", "job_self-employed"])


def test_values_and_names_come_back_exactly(tmp_path, covariates):
    save_covariates(covariates, tmp_path / "new" / "data.npz")
    pd.testing.assert_frame_equal(load_covariates(tmp_path / "new" / "data.npz"), covariates, check_exact=True)


def test_integers_are_stored_as_numbers_with_a_point(tmp_path):
    save_covariates(pd.DataFrame({"a": [1, 2], "b": [True, False]}), tmp_path / "data.npz")
    assert set(load_covariates(tmp_path / "data.npz").dtypes) == {np.dtype(float)}


def test_text_is_refused(tmp_path):
    with pytest.raises(ValueError, match="could not convert"):
        save_covariates(pd.DataFrame({"a": ["x"]}), tmp_path / "data.npz")
    assert not (tmp_path / "data.npz").exists()


def test_a_file_that_would_run_code_is_not_read(tmp_path):
    np.savez(tmp_path / "data.npz", values=np.array([object()], dtype=object), columns=np.array(["a"]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_covariates(tmp_path / "data.npz")


def test_a_damaged_file_is_named_with_the_way_out(tmp_path, covariates):
    path = tmp_path / "data.npz"
    save_covariates(covariates, path)
    content = path.read_bytes()
    for damaged in (
        b"",
        b"PK",
        content[: len(content) // 2],
        content[:-1],
        b"x" + content,
        content.replace(b"val", b"lav"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"data\.npz is damaged: .*\. Delete the file and run again\."):
            load_covariates(path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, covariates, monkeypatch):
    path = tmp_path / "data.npz"
    save_covariates(covariates, path)

    def half(stream, **arrays):
        stream.write(b"PK")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(OSError, match="disk full"):
        save_covariates(2 * covariates, path)
    monkeypatch.undo()
    pd.testing.assert_frame_equal(load_covariates(path), covariates)
