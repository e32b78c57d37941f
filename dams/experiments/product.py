"""A product of a run: one content that a rule makes, its files, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dams.experiments.config import Config

Kind = Literal["data", "table", "figure", "page", "step"]
Cases = Callable[["Config"], Iterable[Mapping[str, str]]]

# The formats of a kind; the first that a browser shows is the one on the page.
SUFFIXES: dict[str, tuple[str, ...]] = {
    "data": ("csv",),
    "table": ("csv", "tex", "md", "html"),
    "figure": ("svg", "pdf", "png"),
}


@dataclass(frozen=True)
class Output:
    """A table or figure made from the records of all studies that ask for it, by the function of its own name.

    With `each_dataset` there is one for every data set, named <output>_<dataset>, from that data set's records. A study
    that asks for it must have the `regime` (by kind), the `model` and the `labels` that it shows.
    """

    kind: Literal["table", "figure"]
    caption: str
    each_dataset: bool = False
    regime: str | None = None
    model: str | None = None
    labels: str | None = None


@dataclass(frozen=True)
class Part:
    """A section of the page: its head, a sentence on what it holds, and paragraphs on how to read it, if any.

    A run may go without an `optional` part, and its page then says nothing of it.
    """

    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    optional: bool = False


def always(config: Config) -> list[dict[str, str]]:
    """Return the one case, without wildcards, of what every run makes."""
    return [{}]


@dataclass(frozen=True)
class Product:
    """One content that a rule makes, in one or more formats.

    Attributes
    ----------
    rule : str
    path : str
        Below the run's folder, without suffix; with the wildcards of the rule.
    kind : str
        A `step` stands between others and is not missed once these are there.
    title, caption : str
        As the page and Snakemake's report show it; without a caption it is the data behind something else.
    part : str
        Section of the page; empty where the page has a place of its own for it.
    cases : callable
        Values of the wildcards, for every time that a configuration asks for it: none where it does not.
    formats : tuple of str
        Suffixes, where they are not those of the kind. Empty for a folder.
    bulky : bool
        Whether it is too large to travel with the page, which then does not link it.
    """

    rule: str
    path: str
    kind: Kind = "data"
    title: str = ""
    caption: str = ""
    part: str = ""
    cases: Cases = always
    formats: tuple[str, ...] | None = None
    bulky: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Names below the run's folder, one per format."""
        formats = SUFFIXES[self.kind] if self.formats is None else self.formats
        return tuple(f"{self.path}.{suffix}" for suffix in formats) or (self.path,)
