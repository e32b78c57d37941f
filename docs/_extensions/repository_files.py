"""Files of the repository on the site: pages that lie outside docs/, links to files and folders, and the report pages.

The pages in docs/ link to each other and to other files by relative paths, which work wherever the repository is
browsed. On the site a link to a page leads to that page, one to a file to a copy of it, one to a report to the copy
below `reports/`, and one to a folder becomes plain text.
"""

from __future__ import annotations

import os
import re
import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dams.cli import make_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages from outside docs/, and what they are called on the site.
PAGES = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "benchmarks/README.md": "benchmarks",
    "config/README.md": "configuration",
    "results/README.md": "results",
}
COPIES = DOCS / "generated" / "pages"
REPORTS = ("paper", "sepsis", "beyond")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
LOCAL = re.compile(r'(?:href|src)="(?!data:|https?:|mailto:|#)([^"#?]+)')


def rewrite_links(text: str, folder: Path, page_folder: Path) -> str:
    """Return Markdown that lay in `folder`, with its links to files of the repository as seen from `page_folder`."""

    def rewrite(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / link["path"]))
        if "://" in link["path"] or not target.is_relative_to(ROOT) or not target.exists():
            return link[0]
        name = target.relative_to(ROOT).as_posix()
        if target.is_dir():
            return link["text"]
        if name == "README.md":
            target = DOCS / "index.md"
        elif name in PAGES:
            target = COPIES / f"{PAGES[name]}.md"
        elif target.name == "report.html":
            report = os.path.relpath(DOCS / "reports" / target.parent.name / target.name, page_folder)
            return f'<a href="{report}">{link["text"]}</a>'
        path = Path(os.path.relpath(target, page_folder)).as_posix()
        if target.suffix == ".md" and not target.is_relative_to(DOCS):
            # No page of the site: MyST would look for one.
            return f"{{download}}`{link['text']} <{path}>`"
        return f"{link['image']}[{link['text']}]({path}{link['anchor'] or ''})"

    return LINK.sub(rewrite, text)


def copy_pages(*_: Any) -> None:
    """Copy the pages that lie outside docs/ into it."""
    COPIES.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        file = ROOT / name
        _write_if_changed(f"{page}.md", rewrite_links(file.read_text(encoding="utf-8"), file.parent, COPIES))
    _write_if_changed("command_line.md", describe_commands(make_parser()))


def _write_if_changed(name: str, text: str) -> None:
    # Sphinx reads a page again where its file is newer.
    copy = COPIES / name
    if not copy.exists() or copy.read_text(encoding="utf-8") != text:
        copy.write_text(text, encoding="utf-8")


def describe_commands(parser: ArgumentParser) -> str:
    """Return a page with the help of every command."""
    commands = next(action.choices for action in parser._actions if action.dest == "command")
    assert commands is not None
    parts = ["# Command line", "`dams COMMAND --help` prints what stands here."]
    # Neither the width nor the colours of the terminal belong on a page.
    with patch.dict(os.environ, COLUMNS="100", NO_COLOR="1"):
        for name, command in commands.items():
            parts += [f"## `dams {name}`", f"```text\n{command.format_help().rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def read_page(app: Any, docname: str, source: list[str]) -> None:
    """Rewrite the links of a page of docs/ while Sphinx reads it."""
    file = Path(app.env.doc2path(docname))
    if file.suffix == ".md" and file.parent == DOCS:
        source[0] = rewrite_links(source[0], DOCS, DOCS)


def copy_reports(app: Any, exception: Exception | None) -> None:
    """Copy the report pages, and every file that they link, to the site."""
    if exception is not None or app.builder.format != "html":
        return
    for name in REPORTS:
        folder = ROOT / "results" / name
        files = {"report.html", *LOCAL.findall((folder / "report.html").read_text(encoding="utf-8"))}
        for file in sorted(files):
            copy = Path(app.outdir) / "reports" / name / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file, copy)


def setup(app: Any) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("config-inited", copy_pages)
    app.connect("source-read", read_page)
    app.connect("build-finished", copy_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
