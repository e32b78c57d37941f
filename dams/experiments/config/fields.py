"""What the keys of a configuration are made of: names, rates, counts, lists without repetition."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

# Names of studies, regimes and data sets are parts of file names and of Snakemake's patterns.
NAME = r"^[a-z][a-z0-9_]*$"
RUN_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
IN_WORDS = {
    NAME: "lower-case letters, digits and _, a letter first",
    RUN_NAME: "letters, digits, _, - and ., a letter or digit first",
}

Name = Annotated[str, Field(pattern=NAME)]
RunName = Annotated[str, Field(pattern=RUN_NAME)]
Rate = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
T = TypeVar("T", bound=Hashable)


def once(values: list[T]) -> list[T]:
    """Return a list in which nothing comes twice."""
    twice = [value for value in dict.fromkeys(values) if values.count(value) > 1]
    if twice:
        raise ValueError(f"every entry must be listed once, got {twice} more often")
    return values


def without_braces(path: str) -> str:
    """Return a path that Snakemake takes as it is."""
    if "{" in path or "}" in path:
        raise ValueError(
            f"expected a path without {{ and }}, which Snakemake takes for a pattern, got {shortened(path)}; "
            "rename the file or folder"
        )
    return path


FilePath = Annotated[str, AfterValidator(without_braces)]
Unique = Annotated[list[T], AfterValidator(once)]
OneOrMore = Annotated[list[T], Field(min_length=1), AfterValidator(once)]


class Strict(BaseModel):
    """Unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def shortened(value: Any) -> str:
    """Write what came for a message, of a long one its beginning."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
