"""Models as files: the same predictions, nothing unpickled, and sentences for files that are something else."""

import json
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from hospitals import hospitals
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from dams import FilteredEstimator
from dams.two_files import FileModel, adapt, read_model
from dams.two_files.adapting import predict_with


@cache
def found(kind, label="number"):
    """An adaptation, of which little is needed where it is boosted."""
    source, target, _ = hospitals(700, label=label, rates={"source": [0.1] * 4, "target": [0.6, 0.2, 0.2, 0.2]})
    X, y = source.drop(columns="y"), source["y"]
    if kind != "boosting":
        return adapt(X, y, target, model=kind), target
    base = HistGradientBoostingClassifier if label == "flags" else HistGradientBoostingRegressor
    model = FilteredEstimator(base(max_iter=5), n_draws=2, random_state=0).fit(X, y, X_target=target)
    made = SimpleNamespace(
        choice="boosting filtered",
        model=model,
        label="y",
        classes=("0", "1") if label == "flags" else None,
        columns=list(X.columns),
        adapted=True,
    )
    made.predict = partial(predict_with, model)
    return made, target


@pytest.mark.parametrize(
    ("kind", "label"), [("linear", "number"), ("logistic", "words"), ("boosting", "number"), ("boosting", "flags")]
)
def test_a_file_predicts_as_the_model_does(tmp_path, kind, label):
    if kind == "boosting":
        pytest.importorskip("skops", reason="the extra models is not installed")
    made, target = found(kind, label)
    FileModel.of(made).write(tmp_path / "model")
    read = read_model(tmp_path / "model")
    np.testing.assert_allclose(read.predict(target[target.columns[::-1]]), made.predict(target), rtol=1e-12)
    assert (read.kind, read.choice, read.adapted, read.classes) == (kind, made.choice, made.adapted, made.classes)
    with pytest.raises(ValueError, match="X contains NaN in column 'a'"):
        read.predict(target.assign(a=np.nan))
    with pytest.raises(ValueError, match="has no column 'a', which the model takes"):
        read.predict(target.drop(columns="a"))


def test_objects_that_are_no_trees_are_refused_before_they_are_loaded(tmp_path):
    skops = pytest.importorskip("skops.io", reason="the extra models is not installed")
    made, _ = found("boosting")
    about = json.dumps({"format": "dams model", "version": 1})
    skops.dump({"about": about, "members": [hospitals]}, tmp_path / "a.skops")
    with pytest.raises(ValueError, match=r"holds objects of type .*hospitals.*Nothing of it was loaded"):
        read_model(tmp_path / "a.skops")
    from sklearn.linear_model import LinearRegression

    skops.dump({"about": about, "members": [LinearRegression()]}, tmp_path / "b.skops")
    with pytest.raises(ValueError, match="other models than boosted trees"):
        read_model(tmp_path / "b.skops")
    FileModel.of(made).write(tmp_path / "c.skops")
    damaged = (tmp_path / "c.skops").read_bytes()[:-3000]
    (tmp_path / "c.skops").write_bytes(damaged)
    with pytest.raises(ValueError, match="no model of dams, or damaged"):
        read_model(tmp_path / "c.skops")


def test_trees_of_another_version_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("skops", reason="the extra models is not installed")
    made, _ = found("boosting")
    monkeypatch.setattr("sklearn.__version__", "0.1.0")
    FileModel.of(made).write(tmp_path / "model.skops")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"written with scikit-learn 0\.1\.0"):
        read_model(tmp_path / "model.skops")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format="x"), "no model of dams"),
        (lambda c: c.update(version=9), "version 9, and this dams reads version 1"),
        (lambda c: c.update(kind="forest"), "kind must be linear or logistic, got 'forest'"),
        (lambda c: c.update(kind="boosting"), "kind must be linear or logistic, got 'boosting'"),
        (lambda c: c.pop("label"), "'label' is missing"),
        (lambda c: c.update(members=[]), "members is empty"),
        (lambda c: c["members"][0]["coef"].pop(), "coef must hold 4 finite numbers"),
        (lambda c: c.update(classes=["a"]), "classes must be two"),
        (lambda c: c.update(classes="ab"), "classes must be two"),
        (lambda c: c["members"][0].update(intercept=float("nan")), "intercept must be a finite number, got nan"),
        (lambda c: c.update(encoding=[1]), "is damaged"),
        (lambda c: c.update(columns=["a", "a", "b", "c"]), "columns must be different names"),
        (lambda c: c.update(file_columns=["a", "b", "d"]), "file_columns and encoding do not give the column 'c'"),
    ],
)
def test_damage_is_named(tmp_path, change, message):
    path = tmp_path / "model.json"
    FileModel.of(found("linear")[0]).write(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message) as caught:
        read_model(path)
    assert str(path) in str(caught.value)


def test_pickles_are_refused(tmp_path):
    (tmp_path / "model").write_bytes(b"\x80\x04\x95")
    with pytest.raises(ValueError, match="no model of dams"):
        read_model(tmp_path / "model")


@pytest.mark.parametrize("text", ['{"format": "dams model", ', "[" * 100_000, "[]", ""])
def test_what_was_cut_is_no_model(tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"model\.json is no model of dams"):
        read_model(tmp_path / "model.json")


def test_a_file_needs_no_column_that_the_model_does_not_take(tmp_path):
    """Columns that hardly a source row shows are not used, and a later file may do without them."""
    source, target, _ = hospitals(700)
    rare = {"rare": 0.0, "ward=a": 1.0, "ward=b": 0.0}
    X, X_target = source.drop(columns="y").assign(**rare), target.assign(**rare)
    made = FileModel.of(adapt(X, source["y"], X_target, model="linear"), encoding={"ward": ("a", "b")})
    assert made.columns == ["a", "b", "c", "d", "ward=a"]
    assert made.file_columns == ["a", "b", "c", "d", "ward"]
