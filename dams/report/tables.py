"""A table as people read it (LaTeX, Markdown, HTML) beside the same numbers as data (CSV)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import pandas as pd

from dams.experiments.records import write_csv
from dams.report.run_files import files_of

REGIME_SYMBOLS = {"nested": "mˢ ≤ mᵗ", "free": "mˢ ? mᵗ", "opposing": "mˢ ? mᵗ"}
_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{sign: f"\\{sign}" for sign in "&%#_{}$"},
    "mˢ ≤ mᵗ": r"$m^s \preceq m^t$",
    "mˢ ? mᵗ": r"$m^s\ ?\ m^t$",
    "ε": r"$\epsilon$",
    "β": r"$\beta$",
    "×": r"$\times$",
    "†": r"$\dagger$",
    "−": "$-$",
}


@dataclass(frozen=True)
class Entry:
    """One number as text, and a second one in small print; the best of a block is bold, the oracle grey.

    `words` are set flush left on a page, and may take several lines.
    """

    text: str
    second: str = ""
    bold: bool = False
    grey: bool = False
    words: bool = False


@dataclass(frozen=True)
class Section:
    """A titled group of rows, each a label and its entries."""

    title: str
    rows: list[tuple[str, list[Entry]]]


@dataclass(frozen=True)
class Table:
    """A table: column heads of one or more lines, sections of rows, notes, and the underlying data."""

    title: str
    heads: list[tuple[str, ...]]
    sections: list[Section]
    data: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        """GitHub's Markdown; grey becomes italics there."""
        lines = [f"**{markdown_text(self.title)}**", ""]
        lines.append("| | " + " | ".join("<br>".join(map(markdown_text, head)) for head in self.heads) + " |")
        lines.append("| --- |" + " ---: |" * len(self.heads))
        for section in self.sections:
            if section.title:
                lines.append(f"| **{markdown_text(section.title)}** |" + " |" * len(self.heads))
            for label, entries in section.rows:
                lines.append(f"| {markdown_text(label)} | " + " | ".join(_markdown(entry) for entry in entries) + " |")
        return "\n".join([*lines, "", *(f"{note}  " for note in self.notes)]).rstrip() + "\n"

    def to_latex(self) -> str:
        r"""Return a `tabular` for `\input`; needs the packages booktabs and xcolor."""
        width = len(self.heads) + 1
        lines = [f"% {self.title}", "% needs \\usepackage{booktabs,xcolor}"]
        lines += [rf"\begin{{tabular}}{{l{'c' * len(self.heads)}}}", r"\toprule"]
        for level in range(max((len(head) for head in self.heads), default=0)):
            cells = [latex_text(head[level]) if level < len(head) else "" for head in self.heads]
            lines.append(" & ".join(["", *cells]) + r" \\")
        for section in self.sections:
            lines.append(r"\midrule")
            if section.title:
                lines += [rf"\multicolumn{{{width}}}{{c}}{{\textbf{{{latex_text(section.title)}}}}} \\", r"\midrule"]
            for label, entries in section.rows:
                lines.append(" & ".join([latex_text(label), *(_latex(entry) for entry in entries)]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Return a `table` and its notes, for a page to frame."""
        heads = "".join(f'<th scope="col">{"<br>".join(map(escape, head))}</th>' for head in self.heads)
        lines = ["<table>", f'<thead><tr><th scope="col"></th>{heads}</tr></thead>']
        for section in self.sections:
            lines.append("<tbody>")
            if section.title:
                spanning = f'<th scope="rowgroup" colspan="{len(self.heads) + 1}">'
                lines.append(f'<tr class="section">{spanning}<span>{escape(section.title)}</span></th></tr>')
            for label, entries in section.rows:
                cells = "".join(_html(entry) for entry in entries)
                lines.append(f'<tr><th scope="row">{escape(label)}</th>{cells}</tr>')
            lines.append("</tbody>")
        lines += ["</table>", *(f'<p class="note">{escape(note)}</p>' for note in self.notes)]
        return "\n".join(lines) + "\n"

    def save(self, target: str | Path | Sequence[str | Path]) -> None:
        """Write the files of a table, each in the format of its suffix; a bare stem stands for all formats."""
        texts = {".md": self.to_markdown, ".tex": self.to_latex, ".html": self.to_html}
        for file in files_of(target, "table"):
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".csv":
                write_csv(self.data, file)
            else:
                file.write_text(texts[file.suffix](), encoding="utf-8")


def latex_text(text: str) -> str:
    """Escape what LaTeX takes for commands and typeset the paper's symbols."""
    # In one pass, so that no command is escaped in turn.
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found.group()], text)


def markdown_text(text: str) -> str:
    """Escape what would end a cell or begin a tag: names of columns come from files of others."""
    return " ".join(text.replace("<", "&lt;").replace("|", "\\|").splitlines())


def _markdown(entry: Entry) -> str:
    text = markdown_text(entry.text)
    text = f"**{text}**" if entry.bold else f"*{text}*" if entry.grey and text else text
    return f"{text} ({entry.second})" if entry.second else text


def _html(entry: Entry) -> str:
    look = ' class="best"' if entry.bold else ' class="grey"' if entry.grey else ' class="words"' if entry.words else ""
    second = f"<small>{escape(entry.second)}</small>" if entry.second else ""
    return f"<td{look}>{escape(entry.text)}{second}</td>"


def _latex(entry: Entry) -> str:
    text = latex_text(entry.text)
    second = rf" {{\scriptsize ({latex_text(entry.second)})}}" if entry.second else ""
    if entry.bold:
        text = rf"\textbf{{{text}}}"
    elif entry.grey and text:
        text = rf"\textcolor{{gray}}{{{text}}}"
    return text + second
