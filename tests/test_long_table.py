"""The example of docs/examples/long_table.py: Parquet files in batches give the fit on all rows."""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dams import ClosedFormRegressor, apply_missingness

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "long_table.py"
pytestmark = pytest.mark.skipif(find_spec("polars") is None, reason="polars is not installed: pip install polars")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Both tables, and Parquet files of them in many row groups, in which a lost value may also be a null."""
    import polars as pl

    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    X = 1 + rng.normal(size=(6000, 3)) + rng.normal(size=(6000, 1))
    clean = pd.DataFrame(X, columns=["lactate", "age", "pulse"])
    y = pd.Series(X @ [1.0, 2.0, -1.0] + rng.normal(size=6000), name="y")
    source = apply_missingness(clean[:4000], [0.6, 0.1, 0.3], random_state=1)
    target = apply_missingness(clean[4000:], [0.1, 0.5, 0.3], random_state=2)
    for name, table in (("source", source.assign(y=y)), ("target", target[["pulse", "age", "lactate"]])):
        frame = pl.DataFrame(table.to_dict("list")).with_columns(pl.col("age").replace(0.0, None))
        frame.write_parquet(folder / f"{name}.parquet", row_group_size=300)
    return source, y[:4000], target, folder


def test_batches_give_the_fit_on_all_rows(files):
    source, y, target, folder = files
    example = SimpleNamespace(**runpy.run_path(str(EXAMPLE)))
    columns = sorted(source.columns)
    expected = ClosedFormRegressor().fit(source[columns], y, X_target=target[columns])
    found = example.fit(folder / "source.parquet", folder / "target.parquet")
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
    assert found.choice_ == expected.choice_
    assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-10)
    small = example.summarise(folder / "source.parquet", label="y", batch=170)
    again = ClosedFormRegressor().fit_summaries(small, example.summarise(folder / "target.parquet", batch=170))
    np.testing.assert_allclose(again.coef_, expected.coef_, rtol=1e-10)


def test_it_runs_as_a_script_of_at_most_thirty_lines(files, monkeypatch, capsys):
    paths = [str(files[3] / f"{name}.parquet") for name in ("source", "target")]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *paths])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    told = capsys.readouterr().out
    assert "4,000 source and 2,000 target rows" in told and "'lactate'" in told
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 30
