"""Models as files: plain JSON for linear and logistic ones, skops for boosting. Nothing is ever unpickled.

A JSON file holds coefficients and what is needed to read a table as the model knows it. A file of a boosted model is
written by skops (extra `models`): trees as arrays in a zip archive, the same description beside them. Loading it builds
scikit-learn's and NumPy's own types and of those in `TRUSTED`; a file that names another type is refused before
anything is built, and so is one whose models are something else than boosted trees.
It must come from the same minor version of scikit-learn.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from dams._files import whole_file, write_json
from dams._validation import refuse_unusable
from dams.estimators.closed_form import ClosedFormRegressor
from dams.two_files.adapting import Adaptation
from dams.two_files.encoding import encoded_names
from dams.two_files.preparing import take_columns

FORMAT, VERSION = "dams model", 1
KINDS = ("linear", "logistic", "boosting")
# The type that a boosted model is made of beyond those of scikit-learn and NumPy that skops trusts by itself.
TRUSTED = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)

BOOSTED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class FileModel:
    """A model as it is kept in a file.

    Attributes
    ----------
    kind : "linear", "logistic" or "boosting"
    label : str
    classes : pair of str or None
        Of a label with two values: `predict` gives the probability of the second.
    columns : list of str
        Columns of numbers that `predict` takes, in their order.
    file_columns : list of str
        Columns of a file that is to be read, before words became numbers.
    encoding : dict of column and levels
        Columns of words.
    choice : str
        The candidate that was taken.
    adapted : bool
        Whether it is adapted to the target.
    members : list
        Coefficients and intercept of each model, or boosted models, of which the mean is taken.
    """

    kind: str
    label: str
    classes: tuple[str, str] | None
    columns: list[str]
    file_columns: list[str]
    encoding: Mapping[str, Sequence[str]]
    choice: str
    adapted: bool
    members: list[Any] = field(repr=False)

    @classmethod
    def of(cls, found: Adaptation, *, encoding: Mapping[str, Sequence[str]] | None = None) -> FileModel:
        """Take the model of an adaptation; without `encoding`, files hold the columns as they were fitted on."""
        encoding = {} if encoding is None else encoding
        kind = found.choice.split()[0]
        fitted = getattr(found.model, "estimators_", [found.model])
        return cls(
            kind=kind,
            label=found.label,
            classes=found.classes,
            columns=found.columns,
            file_columns=_file_columns(found.columns, encoding),
            encoding=encoding,
            choice=found.choice,
            adapted=found.adapted,
            members=list(fitted) if kind == "boosting" else [_coefficients(member) for member in fitted],
        )

    @classmethod
    def of_summaries(
        cls, model: ClosedFormRegressor, label: str, encoding: Mapping[str, Sequence[str]] | None = None
    ) -> FileModel:
        """Take a model that `dams.two_files.summaries.fit_from_summaries` fitted."""
        columns = [str(name) for name in model.feature_names_in_]
        encoding = {} if encoding is None else encoding
        return cls(
            kind="linear",
            label=label,
            classes=None,
            columns=columns,
            file_columns=_file_columns(columns, encoding),
            encoding=encoding,
            choice="linear closed form",
            adapted=model.choice_ != "source",
            members=[_coefficients(model)],
        )

    def predict(self, X: pd.DataFrame) -> Array:
        """Predict labels of rows with the columns that the model takes; of two classes the second's probability."""
        rows = take_columns(X, self.columns)
        refuse_unusable(rows, name="X")
        if self.kind == "boosting":
            each = [m.predict_proba(rows)[:, 1] if self.classes else m.predict(rows) for m in self.members]
            return np.mean(each, axis=0)
        values = rows.to_numpy(dtype=float)
        each = [values @ coef + intercept for coef, intercept in self.members]
        return np.mean([expit(part) if self.kind == "logistic" else part for part in each], axis=0)

    def write(self, path: str | Path) -> None:
        """Write the file; that of a boosted model needs skops."""
        about: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "label": self.label,
            "classes": self.classes,
            "choice": self.choice,
            "adapted": self.adapted,
            "file_columns": self.file_columns,
            "encoding": {name: list(levels) for name, levels in self.encoding.items()},
            "columns": self.columns,
        }
        if self.kind != "boosting":
            members = [{"intercept": intercept, "coef": coef.tolist()} for coef, intercept in self.members]
            write_json({**about, "members": members}, path)
            return
        import skops.io

        about["scikit_learn"] = sklearn.__version__
        with whole_file(path) as partial:
            skops.io.dump({"about": json.dumps(about, ensure_ascii=False), "members": self.members}, partial)


def read_model(path: str | Path) -> FileModel:
    """Read a file that `FileModel.write` wrote; raise a ValueError that names the file where it is another.

    Raises
    ------
    ValueError
        Where the file is something else, damaged, of another version, or holds objects of other types than `TRUSTED`.
    """
    with open(path, "rb") as stream:
        packed = stream.read(4) == b"PK\x03\x04"
    content, members = _unpack(path) if packed else (_parse(path), None)
    if content.get("format") != FORMAT:
        raise ValueError(f"{path} is no model of dams: make one with `dams adapt … --model-file FILE`.")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path} is a model of version {content.get('version')!r}, and this dams reads version {VERSION}: make it "
            "anew with `dams adapt`."
        )
    try:
        return _from_json(content, members)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is damaged: {what}. Make it anew with `dams adapt`.") from None


def _parse(path: str | Path) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no model of dams, or was cut: {error}. Make it anew with `dams adapt`.") from None
    return content if isinstance(content, dict) else {}


def _unpack(path: str | Path) -> tuple[Any, Any]:
    """Return the description and the members of a boosted model, if all that it holds is trusted."""
    import skops.io
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        unknown = sorted(set(skops.io.get_untrusted_types(file=path)) - set(TRUSTED))
        if unknown:
            raise ValueError(
                f"{path} holds objects of type {', '.join(unknown[:3])}, which no model of dams is made of. Nothing of "
                "it was loaded. Do not use it."
            )
        content = skops.io.load(path, trusted=list(TRUSTED))
        about, members = json.loads(content["about"]), list(content["members"])
        if not isinstance(about, dict):
            raise TypeError("nothing says what it is")
    except (KeyError, TypeError, json.JSONDecodeError, zipfile.BadZipFile, UntrustedTypesFoundException) as error:
        raise ValueError(f"{path} is no model of dams, or damaged: {error}. Make it anew with `dams adapt`.") from None
    if not all(type(member) in BOOSTED for member in members):
        raise ValueError(f"{path} holds other models than boosted trees, which no model of dams does. Do not use it.")
    here, there = sklearn.__version__, str(about.get("scikit_learn"))
    if here.split(".")[:2] != there.split(".")[:2]:
        raise ValueError(
            f"{path} was written with scikit-learn {there}, and this is {here}: trees of another version may predict "
            f"otherwise. Install scikit-learn {there}, or make the file anew with `dams adapt`."
        )
    return about, members


def _from_json(content: dict[str, Any], members: Any) -> FileModel:
    columns, file_columns = (list(map(str, content[name])) for name in ("columns", "file_columns"))
    encoding = {str(name): tuple(map(str, levels)) for name, levels in content["encoding"].items()}
    if len(set(columns)) < len(columns):
        raise ValueError("columns must be different names")
    if unknown := set(columns) - set(encoded_names(file_columns, encoding)):
        raise ValueError(f"file_columns and encoding do not give the column {min(unknown)!r}")
    # Trees are never in a file of text, nor coefficients in another.
    kinds = KINDS[:2] if members is None else KINDS[2:]
    if content["kind"] not in kinds:
        raise ValueError(f"kind must be {' or '.join(kinds)}, got {content['kind']!r}")
    if members is None:
        members = [(_coef(member["coef"], len(columns)), _finite(member["intercept"])) for member in content["members"]]
    if not members:
        raise ValueError("members is empty")
    classes = content["classes"]
    if classes is not None and not (isinstance(classes, list) and len(classes) == 2):
        raise ValueError(f"classes must be two, got {classes!r}")
    return FileModel(
        kind=content["kind"],
        label=str(content["label"]),
        classes=None if classes is None else (str(classes[0]), str(classes[1])),
        columns=columns,
        file_columns=file_columns,
        encoding=encoding,
        choice=str(content["choice"]),
        adapted=bool(content["adapted"]),
        members=members,
    )


def _coefficients(member: Any) -> tuple[Array, float]:
    return np.ravel(member.coef_).astype(float), float(np.ravel(member.intercept_)[0])


def _file_columns(columns: Sequence[str], encoding: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns of a file, before words became numbers, that columns of a model come from."""
    of_level = {f"{name}={level}": name for name, levels in encoding.items() for level in levels}
    return list(dict.fromkeys(of_level.get(name, name) for name in columns))


def _finite(value: Any) -> float:
    if not np.isfinite(value):
        raise ValueError(f"intercept must be a finite number, got {value!r}")
    return float(value)


def _coef(values: Any, d: int) -> Array:
    coef = np.asarray(values, dtype=float)
    if coef.shape != (d,) or not np.isfinite(coef).all():
        raise ValueError(f"coef must hold {d} finite numbers, one per column")
    return coef
