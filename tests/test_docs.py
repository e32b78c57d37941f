"""What the documents tell users to type works, and does what they say."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from dams import ClosedFormRegressor, FilteredEstimator, apply_missingness, estimate_relative_missingness
from dams.cli import main

ROOT = Path(__file__).parents[1]
N = 4000


def blocks(file, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / file).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def tables():
    """Source and target as they come: numbers of any scale, levels, zeros and empty fields; and the labels of both."""
    rng = np.random.default_rng(0)
    numbers = 2 + rng.normal(size=(2 * N, 3)) + rng.normal(size=(2 * N, 1))
    clean = pd.DataFrame(numbers * [20, 1, 30], columns=["age", "lactate", "pulse"])
    ward = pd.Series(rng.choice(["north", "south"], 2 * N), name="ward")
    y = pd.Series(numbers @ [1.0, 2.0, -1.0] + (ward == "north"), name="y")
    source = apply_missingness(clean[:N], [0.1, 0.2, 0.3], random_state=1)
    target = apply_missingness(clean[N:], [0.4, 0.6, 0.3], random_state=2)
    # Some places say so where they lose a value, and not always.
    source["age"] = source["age"].replace(0.0, np.nan)
    target.loc[target.index[: N // 2], "age"] = target["age"][: N // 2].replace(0.0, np.nan)
    lost = np.random.default_rng(3).random(2 * N) < 0.2
    levels = ward.mask(pd.Series(lost))
    source, target = source.join(levels[:N]), target.join(levels[N:])
    # Another order, as files have it.
    return source, target[["ward", "pulse", "age", "lactate"]], y[:N], y[N:]


@pytest.fixture(scope="module")
def page(tables):
    """Names as they stand after all blocks of docs/your_data.md, run in order."""
    source, target, y_source, _ = tables
    names = {"source": source, "target": target, "y_source": y_source}
    for block in blocks("docs/your_data.md"):
        exec(block, names)
    return names


def test_preparation_keeps_zeros(page, tables):
    source, target, _, _ = tables
    X_source, X_target = page["X_source"], page["X_target"]
    assert list(X_target.columns) == list(X_source.columns)
    assert X_source.columns[-2:].tolist() == ["ward_north", "ward_south"]
    for raw, X in ((source, X_source), (target, X_target)):
        for name in ("age", "lactate", "pulse"):
            np.testing.assert_array_equal(X[name] == 0, raw[name].isna() | (raw[name] == 0))
        np.testing.assert_array_equal(X[["ward_north", "ward_south"]].sum(axis=1), raw["ward"].notna())
    r = estimate_relative_missingness(X_source, X_target).r
    np.testing.assert_allclose(r, [1 / 3, 0.5, 0, 0, 0], atol=0.06)


def test_centring_first_hides_every_loss(page):
    scaler = StandardScaler().fit(page["X_source"])
    centred = [scaler.transform(page[name]) for name in ("X_source", "X_target")]
    with pytest.warns(UserWarning, match="Neither source nor target holds a zero"):
        np.testing.assert_array_equal(estimate_relative_missingness(*centred).r, 0)


def test_the_recipes_reach_the_oracle_and_the_wrong_way_round_does_not(page, tables):
    X_source, X_target, y_source, y = page["X_source"], page["X_target"], tables[2], tables[3]
    oracle = LinearRegression().fit(X_target, y).score(X_target, y)
    plain = LinearRegression().fit(X_source, y_source).score(X_target, y)
    assert plain < oracle - 0.2
    for name in ("linear", "model", "routed"):
        assert page[name].score(X_target, y) > oracle - 0.03, name
    scaler = StandardScaler().fit(X_source)
    centred = scaler.transform(X_source), scaler.transform(X_target)
    with pytest.warns(UserWarning, match="Neither source nor target holds a zero"):
        wrong = FilteredEstimator(Ridge()).fit(centred[0], y_source, X_target=centred[1])
    assert wrong.score(scaler.transform(X_target), y) == pytest.approx(plain, abs=0.01)
    # A step that divides changes nothing.
    np.testing.assert_allclose(page["routed"].predict(X_target), page["linear"].predict(X_target), rtol=1e-8)
    assert page["tuned"].estimators_[0].best_params_["alpha"] in (0.1, 1.0, 10.0)


def test_folds_of_the_source_score_the_source_and_filtered_rows_the_target(page, tables):
    X_source, X_target, y_source, y = page["X_source"], page["X_target"], tables[2], tables[3]
    true = page["model"].score(X_target, y)
    by_folds = cross_val_score(ClosedFormRegressor(), X_source, y_source, params={"X_target": X_target}).mean()
    assert by_folds > true + 0.1
    assert abs(page["expected_in_target"] - true) < 0.05


@pytest.mark.parametrize(("rows", "seen"), [(N, N // 2), (N - 1, N - 1)])
def test_folds_cut_a_target_of_the_sources_length(page, tables, rows, seen):
    lengths = []

    class Spy(ClosedFormRegressor):
        def fit(self, X, y, X_target=None):
            lengths.append(len(X_target))
            return super().fit(X, y, X_target)

    cross_val_score(Spy(), page["X_source"], tables[2], params={"X_target": page["X_target"][:rows]}, cv=2)
    assert lengths == [seen, seen]


def test_a_classifier_gives_probabilities(page):
    assert page["probabilities"].shape == (N,)
    assert ((page["probabilities"] > 0) & (page["probabilities"] < 1)).all()


def test_predict_wants_the_order_of_fit(page):
    backwards = page["X_target"][page["X_target"].columns[::-1]]
    model = ClosedFormRegressor().fit(page["X_source"], page["y_source"], X_target=backwards)
    with pytest.raises(ValueError, match="same order"):
        model.predict(backwards)
    np.testing.assert_array_equal(model.predict(backwards[page["X_source"].columns]), page["predictions"])


def test_the_readmes_ten_lines(page, capsys):
    names = {name: page[name] for name in ("X_source", "y_source")}
    names["X_target"] = page["X_target"][page["X_target"].columns[::-1]]
    (block,) = blocks("README.md")
    exec(block, names)
    assert "lactate" in capsys.readouterr().out
    np.testing.assert_allclose(names["predictions"], page["predictions"])


def test_should_i_adapt_has_one_answer():
    answers = [
        re.search(
            r"^1\. \*\*It rejects.*?\n\n", (ROOT / file).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ).group()
        for file in ("README.md", "docs/which_estimator.md")
    ]
    assert answers[0] == answers[1] and answers[0].count("\n") > 4


def test_the_readmes_sweep_and_the_example_are_sound(tmp_path, monkeypatch, capsys):
    (sweep,) = blocks("README.md", "yaml")
    (tmp_path / "my_sweep.yaml").write_text(sweep, encoding="utf-8")
    monkeypatch.chdir(ROOT)
    assert main(["check", str(tmp_path / "my_sweep.yaml")]) == 0
    assert main(["check", "config/examples/own_table.yaml"]) == 0
    assert "config/examples/clinic.csv has 400 rows × 7 columns" in capsys.readouterr().out
