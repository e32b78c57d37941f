"""Which files of dams a script rests on, read from its text: Snakemake can't tell that a package was edited."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from dams._files import sha256_of

# What a registry names, such as "dams.stats:function", or a package exports, such as "dams.stats", is imported late.
_REGISTERED = re.compile(r"""(["'])(dams(?:\.\w+)+)(?::\w+)?\1""")
# Data that a module reads lie beside it.
_DATA = (".yaml", ".csv", ".css", ".js", ".jinja")


def files_behind(script: str | Path, root: str | Path = ".", also: Iterable[str] = ()) -> list[str]:
    """Files of dams, below `root`, that a script imports, or names in a registry, itself or through another.

    `also` are modules that it loads by name. Data count with the modules beside which they lie.

    A package that only lies on the way to a module does not count: it hands on what its modules define.
    """
    # Paths are texts here: to make and compare thousands of `Path` takes as long as to read the files.
    folder, found = str(root), set[str]()
    waiting = [frozenset(also), _names(str(script))]
    while waiting:
        for name in waiting.pop():
            for file in _files_of(name, folder):
                if file not in found:
                    found.add(file)
                    waiting.append(_names(f"{folder}/{file}"))
    return sorted(found.union(*(_data_in(folder, within) for within in {file.rpartition("/")[0] for file in found})))


def digest_of_code(script: str | Path, root: str | Path, also: Iterable[str] = ()) -> str:
    """Another text whenever one of the `files_behind` a script is another one."""
    digest = hashlib.blake2b(digest_size=16)
    for file in files_behind(script, root, also):
        digest.update(f"{file}\n{_digest(f'{root}/{file}')}\n".encode())
    return digest.hexdigest()


@cache
def _digest(path: str) -> str:
    return sha256_of(path)


@cache
def _files_of(name: str, root: str) -> tuple[str, ...]:
    """Files of a module or package of that name."""
    stem = name.replace(".", "/")
    return tuple(file for file in (f"{stem}.py", f"{stem}/__init__.py") if os.path.isfile(f"{root}/{file}"))


@cache
def _data_in(root: str, folder: str) -> frozenset[str]:
    return frozenset(f"{folder}/{name}" for name in os.listdir(f"{root}/{folder}") if name.endswith(_DATA))


# Scripts share most of their modules, and the workflow asks for every script.
@cache
def _names(path: str) -> frozenset[str]:
    """Names in a file that may be modules of dams."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = {match[2] for match in _REGISTERED.finditer(text)}
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # What is imported from a package may be one of its modules.
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(name for name in names if name.split(".")[0] == "dams")


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements but those that only a type checker reads; expressions, most of a tree, hold no import."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
            continue
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            found = getattr(node, part, None)
            # A conditional expression has a body too, which is no list.
            if isinstance(found, list):
                waiting.extend(found)
