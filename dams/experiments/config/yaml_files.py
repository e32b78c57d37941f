"""YAML files in which every key counts: one that is written twice is a mistake, not a silent choice of the last.

A file may come from anywhere. What it holds is counted as it is read, before any value is built, so that neither depth
nor aliases of aliases cost memory or time; and all that PyYAML has to say becomes a sentence with the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

from dams.experiments.config.fields import visible
from dams.experiments.config.mistakes import ConfigError, several_mistakes

# Many times what a configuration needs: bytes, levels of nesting, and values when every alias is written out.
MOST_BYTES = 1_000_000
DEEPEST = 40
MOST_VALUES = 100_000
# Of integers. A longer one is no number of anything, and Python refuses to write it out.
LARGEST = 2**63


class _Loader(yaml.SafeLoader):
    """Counts what it reads, and builds plain values; what can't be counted or built is reported with its line."""

    def __init__(self, path: str | Path, text: str) -> None:
        super().__init__(text)
        self._path = path
        self._sizes: dict[str, int] = {}  # values below an anchor
        self._open: list[tuple[str | None, int]] = []  # anchors, and how many values came before
        self._count = 0

    def get_event(self) -> yaml.Event:
        """Return the next event, or raise: nested too deep, or too many values once aliases are put in.

        Nodes are built by functions that call themselves, one event after the other: none is deeper than what was
        counted.
        """
        event = super().get_event()
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self._open):
                self._refuse(event, f"*{visible(event.anchor)} stands for something that it is a part of.")
            self._count += self._sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            self._count += 1
            if event.anchor:
                self._sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open.append((event.anchor, self._count))
            self._count += 1
            if len(self._open) > DEEPEST:
                self._refuse(event, f"expected at most {DEEPEST} levels of nesting, got more.")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self._open.pop()
            if anchor:
                self._sizes[anchor] = self._count - before
        if self._count > MOST_VALUES:
            self._refuse(
                event, f"expected at most {MOST_VALUES:,} values, each alias counted as what it stands for, got more."
            )
        return event

    def _refuse(self, event: yaml.Event, what: str) -> NoReturn:
        raise ConfigError(f"{self._path}{f', line {event.start_mark.line + 1}' if event.start_mark else ''}: {what}")

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep=deep)
        except (ValueError, OverflowError, ArithmeticError) as error:
            # A number of too many digits, or a day or an hour that does not exist.
            why = "the number is too large" if node.tag.endswith(":int") else f"no such value: {error}"
            raise yaml.constructor.ConstructorError(None, None, why, node.start_mark) from None
        if isinstance(value, int) and abs(value) >= LARGEST:
            raise yaml.constructor.ConstructorError(None, None, "the number is too large", node.start_mark)
        return value


def _refuse(loader: _Loader, node: yaml.Node) -> Any:
    return loader.construct_undefined(node)


# Bytes, sets and pairs are no part of a configuration.
for _tag in ("binary", "omap", "pairs", "set"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _refuse)


def load_yaml(path: str | Path) -> Any:
    """Return what a file holds, of an empty one an empty mapping."""
    loader, node = _compose(path)
    _refuse_repeated(path, node)
    try:
        return {} if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise _not_yaml(path, error) from None


def refuse_repeated_keys(path: str | Path) -> None:
    """Raise where a key comes twice in one place of a YAML file, which other readers overlook.

    Files of other kinds are left alone: Snakemake also takes JSON, and pipes, which can't be read twice.

    Parameters
    ----------
    path : path
        The file.
    """
    if Path(path).suffix in (".yaml", ".yml"):
        _refuse_repeated(path, _compose(path)[1])


def _compose(path: str | Path) -> tuple[_Loader, yaml.Node | None]:
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "is no file" if Path(path).exists() else "does not exist"
        raise ConfigError(f"{path} {what}; expected a YAML file such as config/quickstart.yaml.")
    with open(path, "rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{path} is too long: expected at most {MOST_BYTES:,} bytes.")
    try:
        text = content.decode("utf-8")
        loader = _Loader(path, text)
        return loader, loader.get_single_node()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; expected a YAML file saved as UTF-8.") from None
    except yaml.YAMLError as error:
        raise _not_yaml(path, error) from None


def _not_yaml(path: str | Path, error: yaml.YAMLError) -> ConfigError:
    """Put what PyYAML says into one line."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if not problem or not mark:
        return ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}")
    what = " ".join(part for part in (getattr(error, "context", None), problem) if part)
    return ConfigError(f"{path} is not YAML that a configuration may hold: line {mark.line + 1}: {visible(what)}")


def _refuse_repeated(path: str | Path, root: yaml.Node | None) -> None:
    found = sorted(_repeated(root, set())) if root is not None else []
    if found:
        mistakes = [
            f"line {line}: the key '{visible(key)}' is on line {before} already, and only one can count; put the two "
            "together"
            for line, before, key in found
        ]
        raise several_mistakes(path, mistakes)


def _repeated(node: yaml.Node, seen: set[int]) -> Iterator[tuple[int, int, str]]:
    """Yield line, first line and key of every key that comes again; YAML itself would keep the last."""
    # An alias is the same node in a second place.
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    inner = node.value
    if isinstance(node, yaml.MappingNode):
        lines: dict[tuple[str, str], int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if (key.tag, key.value) in lines:
                yield line, lines[key.tag, key.value], key.value
            lines.setdefault((key.tag, key.value), line)
        inner = [value for _, value in node.value]
    for child in inner:
        yield from _repeated(child, seen)
