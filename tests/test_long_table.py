"""The example of docs/examples/long_table.py: Parquet files in batches give the fit on all rows."""

import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dams import ClosedFormRegressor, apply_missingness

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "long_table.py"
pytestmark = pytest.mark.skipif(find_spec("polars") is None, reason="polars is not installed: pip install polars")


@pytest.fixture
def files(tmp_path):
    """Both tables, and Parquet files of them in many row groups, in which a lost value may also be a null."""
    import polars as pl

    rng = np.random.default_rng(0)
    X = 1 + rng.normal(size=(6000, 3)) + rng.normal(size=(6000, 1))
    clean = pd.DataFrame(X, columns=["lactate", "age", "pulse"])
    y = pd.Series(X @ [1.0, 2.0, -1.0] + rng.normal(size=6000), name="y")
    source = apply_missingness(clean[:4000], [0.6, 0.1, 0.3], random_state=1)
    target = apply_missingness(clean[4000:], [0.1, 0.5, 0.3], random_state=2)
    for name, table in (("source", source.assign(y=y)), ("target", target[["pulse", "age", "lactate"]])):
        frame = pl.DataFrame(table.to_dict("list")).with_columns(pl.col("age").replace(0.0, None))
        frame.write_parquet(tmp_path / f"{name}.parquet", row_group_size=300)
    return source, y[:4000], target, tmp_path


def load():
    spec = spec_from_file_location("long_table", EXAMPLE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_batches_give_the_fit_on_all_rows(files):
    source, y, target, folder = files
    example = load()
    columns = sorted(source.columns)
    expected = ClosedFormRegressor().fit(source[columns], y, X_target=target[columns])
    found = example.fit(folder / "source.parquet", folder / "target.parquet")
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
    assert found.choice_ == expected.choice_
    assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-10)
    small = example.summarise(folder / "source.parquet", label="y", batch=170)
    again = ClosedFormRegressor().fit_summaries(small, example.summarise(folder / "target.parquet", batch=170))
    np.testing.assert_allclose(again.coef_, expected.coef_, rtol=1e-10)


def test_it_runs_as_a_script_of_at_most_thirty_lines(files):
    folder = files[3]
    told = subprocess.run(
        [sys.executable, EXAMPLE, folder / "source.parquet", folder / "target.parquet"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "4,000 source and 2,000 target rows" in told and "'lactate'" in told
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 30
