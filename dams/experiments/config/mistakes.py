"""Mistakes in a configuration, in words: the key, what came, and the nearest valid name."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from dams._registry import nearest
from dams.experiments.config.fields import IN_WORDS, shortened, visible

# Mistakes of one file.
MOST_TOLD = 50


class ConfigError(ValueError):
    """A configuration that can't be run, with one line for every mistake; nothing in it moves a terminal."""

    def __init__(self, text: object):
        super().__init__("\n".join(visible(line) for line in str(text).split("\n")))


def several_mistakes(source: object, mistakes: list[str]) -> ConfigError:
    """Return what to raise for a file with these mistakes; of very many, the first are listed."""
    told = [*mistakes[:MOST_TOLD], *(["…"] if len(mistakes) > MOST_TOLD else [])]
    return ConfigError(f"{source} has {len(mistakes)} mistake(s):\n  " + "\n  ".join(told))


def explain(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """Return one line for every mistake in values of the model `root`."""
    return [": ".join([*_place(mistake["loc"]), _explain(mistake, root)]) for mistake in error.errors()]


def _place(loc: tuple[Any, ...]) -> list[str]:
    """Where a mistake is; nothing for the whole, whose messages name their place."""
    # Of a mapping whose key itself is wrong, pydantic says so at the end.
    parts = loc[:-1] if loc[-1:] == ("[key]",) else loc
    return [".".join(_short(part) for part in parts)] if parts else []


def _short(part: object) -> str:
    text = visible(part)
    return text if len(text) <= 80 else text[:79] + "…"


def _explain(mistake: Any, root: type[BaseModel]) -> str:
    kind, loc, given = mistake["type"], mistake["loc"], mistake["input"]
    if kind == "missing":
        return "required, but not given"
    if kind == "extra_forbidden":
        keys = [key for model in _models_at(root, loc[:-1]) for key in model.model_fields]
        return f"unknown key; {nearest(str(loc[-1]), keys)}"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tag = given.get("kind")
        valid = _kinds(_models_at(root, loc))
        if tag is None:
            return f"got no kind; valid are: {', '.join(valid)}."
        return f"got {shortened(tag)}; {nearest(str(tag), valid)}"
    if kind == "literal_error":
        valid = [word.strip("' ") for word in mistake["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return f"got {shortened(given)}; {nearest(str(given), valid)}"
    if kind == "value_error":
        return mistake["msg"].removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        return _explain_name(given, mistake["ctx"]["pattern"])
    if kind in ("too_short", "too_long"):
        bound = (
            f"least {mistake['ctx']['min_length']}" if kind == "too_short" else f"most {mistake['ctx']['max_length']}"
        )
        return f"at {bound} must be listed, got {mistake['ctx']['actual_length'] or 'none'}"
    if kind in ("list_type", "dict_type", "model_type", "model_attributes_type", "string_type"):
        return f"expected {_expected(kind, loc, root)}, got {shortened(given)}{_written(kind, loc, given, root)}"
    # What follows a comma is about pydantic's attempts.
    return f"{mistake['msg'].replace('Input should be', 'must be').split(',')[0]}, got {shortened(given)}"


def _explain_name(given: str, pattern: str) -> str:
    proposal = re.sub(r"\W+", "_", given.lower()).strip("_")
    way_out = f"; write {proposal}" if re.fullmatch(pattern, proposal) else ""
    return f"a name has {IN_WORDS[pattern]}, got {shortened(given)}{way_out}"


def _expected(kind: str, loc: tuple[Any, ...], root: type[BaseModel]) -> str:
    if kind == "list_type":
        return "a list"
    if kind == "string_type":
        return "text"
    models = _models_at(root, (*loc, "any name") if kind == "dict_type" else loc)
    # Kinds differ in their keys, and only `kind` is sure.
    keys = ["kind"] if _kinds(models) else [key for model in models for key in model.model_fields]
    listed = f"key{'s' * (len(keys) > 1)} {', '.join(keys)}" if keys else "value"
    return f"names, each with its {listed}" if kind == "dict_type" else f"the {listed}"


def _written(kind: str, loc: tuple[Any, ...], given: Any, root: type[BaseModel]) -> str:
    """Return how to write the given value, where it is plain what was meant."""
    if kind == "string_type":
        return f"; put quotes around it: '{given}'" if isinstance(given, int | float) else ""
    if kind == "list_type":
        entry = _entry(given, _models_at(root, (*loc, 0)))
        return f"; write `[{entry}]`" if entry else ""
    if kind == "dict_type":
        entry = _entry(None, _models_at(root, (*loc, "any name")))
        named = given[0] if isinstance(given, list) and given and isinstance(given[0], str) else None
        return f"; write `{named}: {entry}`" if named and entry else ""
    entry = _entry(given, _models_at(root, loc)) if loc else ""
    return f"; write `{entry}`" if entry else ""


def _entry(given: Any, models: list[type[BaseModel]]) -> str:
    """Write `given` as one value: of a model its kind, or else the keys it must have."""
    kinds = _kinds(models)
    if kinds:
        meant = get_close_matches(str(given), kinds, n=1) or ["…"]
        return f"{{kind: {meant[0]}}}"
    if models:
        needed = [name for model in models for name, field in model.model_fields.items() if field.is_required()]
        return f"{{{', '.join(f'{name}: …' for name in needed)}}}" if needed else ""
    return str(given) if isinstance(given, str | int | float) else ""


def _kinds(models: list[type[BaseModel]]) -> list[str]:
    return [name for model in models for name in _kinds_of(model)]


def _models_at(root: type[BaseModel], loc: tuple[Any, ...]) -> list[type[BaseModel]]:
    """List the models that a value may have where `loc` points to."""
    here: list[Any] = [root]
    for part in loc:
        # The tag of a union's branch leads nowhere new.
        here = [inner for annotation in here for inner in _inside(annotation, part)] or here
    return [model for annotation in here for model in _models_in(annotation)]


def _inside(annotation: Any, part: Any) -> list[Any]:
    """Return the type to which `part`, a key or a position, leads in values of the type `annotation`."""
    if _is_model(annotation):
        if part in _kinds_of(annotation):
            return [annotation]
        return [annotation.model_fields[part].annotation] if part in annotation.model_fields else []
    origin = get_origin(annotation)
    if origin is dict or (origin is list and isinstance(part, int)):
        return [get_args(annotation)[-1]]
    return [found for inner in get_args(annotation) for found in _inside(inner, part)]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    return [annotation] if _is_model(annotation) else [m for part in get_args(annotation) for m in _models_in(part)]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kinds_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the tag that tells a model from the others of its union."""
    return get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ()
