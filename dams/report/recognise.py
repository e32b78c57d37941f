"""Recognise files of a results folder by their names alone, for a run whose configuration is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from dams.experiments.products import MANIFEST, OUTPUTS, Made, StudyOutput, job_of


def recognise(files: Iterable[str]) -> list[Made]:
    """Tell what files of a run's folder are by their names alone, for a run whose configuration is not known."""
    found: dict[tuple[str, str], Made] = {}
    # Names without wildcards first: a figure of every run lies among those that studies ask for.
    order = sorted(MANIFEST.items(), key=lambda item: item[1].path.count("{"))
    for file in sorted(files):
        for name, product in order:
            case = _wildcards(product.files, file)
            if case is None:
                continue
            known = tuple(pattern.format(**case) for pattern in product.files)
            made = Made(name, product, known, job_of(product.rule).format(**case), product.title, product.caption)
            if "output" in case:
                output = _named(case["output"])
                caption = OUTPUTS[output.name].caption if output.name in OUTPUTS else ""
                made = replace(made, name=output.file, title=output.title, caption=caption)
            found.setdefault((name, known[0]), made)
            break
    order_of = list(MANIFEST.values()).index
    return sorted(found.values(), key=lambda made: order_of(made.product))


def _wildcards(patterns: Iterable[str], file: str) -> dict[str, str] | None:
    """Return the values of a product's wildcards in the name of one of its files; None if it is not one of them."""
    for pattern in patterns:
        text = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/.]+)", re.escape(pattern))
        if match := re.fullmatch(text, file):
            return match.groupdict()
    return None


def _named(file: str) -> StudyOutput:
    """Tell which table or figure a file name is of, and of which data set."""
    name = next((key for key in sorted(OUTPUTS, key=len, reverse=True) if file.startswith(key)), file)
    return StudyOutput(file, name, (), file.removeprefix(name).strip("_") or None, {})
