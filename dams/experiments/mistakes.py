"""What is wrong with a configuration, in words: the key, what came, and the nearest valid name."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from dams.registry import nearest


def explain(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """Return one line for every mistake in values of the model `root`."""
    return [": ".join([*_place(mistake["loc"]), _explain(mistake, root)]) for mistake in error.errors()]


def _place(loc: tuple[Any, ...]) -> list[str]:
    """Where a mistake is; nothing for the whole, whose messages name their place."""
    return [".".join(str(part) for part in loc)] if loc else []


def _explain(mistake: Any, root: type[BaseModel]) -> str:
    kind, loc, given = mistake["type"], mistake["loc"], mistake["input"]
    if kind == "missing":
        return "required, but not given"
    if kind == "extra_forbidden":
        keys = [key for model in _models_at(root, loc[:-1]) for key in model.model_fields]
        return f"unknown key; {nearest(str(loc[-1]), keys)}"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tag = given.get("kind")
        valid = [name for model in _models_at(root, loc) for name in _kinds_of(model)]
        return f"got no kind; valid are: {', '.join(valid)}." if tag is None else f"got '{tag}'; {nearest(tag, valid)}"
    if kind == "literal_error":
        valid = [word.strip("' ") for word in mistake["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return f"got '{given}'; {nearest(str(given), valid)}"
    message = mistake["msg"].removeprefix("Value error, ")
    return message if kind == "value_error" else f"{message}, got {given!r}"


def _models_at(root: type[BaseModel], loc: tuple[Any, ...]) -> list[type[BaseModel]]:
    """List the models that a value may have where `loc` points to."""
    here: list[Any] = [root]
    for part in loc:
        # The tag of a union's branch leads nowhere new.
        here = [inner for annotation in here for inner in _inside(annotation, part)] or here
    return [model for annotation in here for model in _models_in(annotation)]


def _inside(annotation: Any, part: Any) -> list[Any]:
    """What `part`, a key or a position, leads to in values of the type `annotation`."""
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
