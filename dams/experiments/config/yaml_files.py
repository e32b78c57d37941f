"""YAML files in which every key counts: one that is written twice is a mistake, not a silent choice of the last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dams.experiments.config.mistakes import ConfigError


def load_yaml(path: str | Path) -> Any:
    """Return what a file holds, of an empty one an empty mapping."""
    loader, node = _compose(path)
    _refuse_repeated(path, node)
    return {} if node is None else loader.construct_document(node)


def refuse_repeated_keys(path: str | Path) -> None:
    """Raise where a key comes twice in one place; for files that somebody else reads.

    Snakemake also takes JSON and pipes: the one need not be YAML, the other can't be read again.
    """
    if Path(path).suffix in (".yaml", ".yml"):
        _refuse_repeated(path, _compose(path)[1])


def _compose(path: str | Path) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "does not exist"
        raise ConfigError(f"{path} {what}; expected a YAML file such as config/quickstart.yaml.")
    try:
        loader = yaml.SafeLoader(Path(path).read_text(encoding="utf-8"))
        return loader, loader.get_single_node()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; expected a YAML file saved as UTF-8.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None


def _refuse_repeated(path: str | Path, root: yaml.Node | None) -> None:
    found = sorted(_repeated(root, set())) if root is not None else []
    if found:
        mistakes = [
            f"line {line}: the key '{key}' is on line {before} already, and only one can count; put the two together"
            for line, before, key in found
        ]
        raise ConfigError(f"{path} has {len(mistakes)} mistake(s):\n  " + "\n  ".join(mistakes))


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
