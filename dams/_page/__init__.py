"""Pages that are one file: the style sheet and the script that they share, and how their templates are filled in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent


def make_environment(folder: Path) -> Environment:
    """Return the templates of a folder, which escape what they are given and refuse names that they are not given.

    They have the globals `css` and `js`, to be put into the page.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("css", "js"):
        environment.globals[name] = Markup((HERE / f"page.{name}").read_text(encoding="utf-8"))
    return environment
