"""Which part of a run's records something is about, and how a report says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dams.datasets.registry import title_of
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS
from dams.report.tables import REGIME_SYMBOLS

# Columns of the records and the values that are meant.
Scope = Mapping[str, Any]


def split_predictor(predictor: str, scope: Scope) -> tuple[str, str]:
    """Model and method of "model method"; with the method alone the model is that of the scope, or linear."""
    model, _, method = predictor.rpartition(" ")
    return model or scope.get("model", "linear"), method


def title_of_method(method: str) -> str:
    """Return a method's title in running text; a method that is not in the software yet goes by its name."""
    return (METHODS[method].title if method in METHODS else method.replace("_", " ")).lower()


def title_of_model(model: str) -> str:
    """Return a model family's title in running text."""
    return "linear" if model == "linear" else MODELS[model].title


def describe(scope: Scope, without: str = "") -> str:
    """Return in a few words which part of the records a scope is about."""
    words = []
    if "dataset" in scope:
        words.append(title_of(scope["dataset"]))
    if "regime" in scope and "epsilon" not in scope:
        words.append(str(REGIME_SYMBOLS.get(scope["regime"], scope["regime"])))
    if "epsilon" in scope:
        words.append(f"ε = {scope['epsilon']:g}")
    if scope.get("labels") == "structural":
        words.append("stated labels")
    if "model" in scope and without != "model":
        words.append(title_of_model(scope["model"]))
    words += [str(scope[name]) for name in ("method", "source", "target", "metric") if name in scope]
    return ", ".join(words) or "all records"


def words_of(predictor: str) -> str:
    """Return "model method", or the method alone, in running text."""
    model, _, method = predictor.rpartition(" ")
    return f"{title_of_model(model)} {title_of_method(method)}" if model else title_of_method(method)
