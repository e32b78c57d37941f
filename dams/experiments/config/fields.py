"""Types of the keys of a configuration: names, rates, counts, lists without repetition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from dams._registry import nearest

# Names of studies, regimes and data sets are parts of file names and of Snakemake's patterns.
NAME = r"^[a-z][a-z0-9_]*$"
RUN_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
IN_WORDS = {
    NAME: "lower-case letters, digits and _, a letter first",
    RUN_NAME: "letters, digits, _, - and ., a letter or digit first",
}

# What a run may ask for at most: many times the paper's, and little enough to be listed in seconds.
MOST_DRAWS = 10_000
MOST_BETAS = 10_000
MOST_CELLS = 50_000
MOST_ROWS = 10_000_000
MOST_REPLICATES = 1_000_000
MOST_STUDIES = 100
MOST_REGIMES = 200
# Names of folders; file systems allow twice that.
LONGEST_NAME = 100

Name = Annotated[str, Field(pattern=NAME, max_length=LONGEST_NAME)]
RunName = Annotated[str, Field(pattern=RUN_NAME, max_length=LONGEST_NAME)]
Rate = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Draws = Annotated[int, Field(ge=1, le=MOST_DRAWS)]
Betas = Annotated[int, Field(ge=1, le=MOST_BETAS)]
T = TypeVar("T", bound=Hashable)


def once(values: list[T]) -> list[T]:
    """Return a list in which nothing comes twice."""
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(f"every entry must be listed once, got {shortened(twice)} more often")
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
    """Unknown keys are mistakes, and so are infinite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def shortened(value: Any) -> str:
    """Write what came for a message, of a long one its beginning."""
    try:
        text = "nothing" if value is None else repr(value)
    except ValueError:  # Python writes no integer of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= 80 else text[:79] + "…"


def visible(text: object) -> str:
    """Write signs that a terminal would obey, such as those that colour or erase, as what they are."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in str(text))


def known(names: Any, registry: Any, what: str) -> Any:
    """Return the names, each of which must be in a registry."""
    for name in names:
        if name not in registry:
            raise ValueError(f"unknown {what} '{name}'; {nearest(name, registry)}")
    return names
