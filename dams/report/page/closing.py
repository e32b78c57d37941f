"""The last lines that a run prints."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from dams.experiments.products import file_of
from dams.report.run_folder import RunFolder


def closing_words(results: str | Path) -> str:
    """Return where the results are, and how many fits failed if any did."""
    folder = Path(results)
    run = RunFolder(folder)
    lines = ["", f"Results: {folder}/"]
    shown: dict[str, list[str]] = {}
    for made in run.products:
        if made.product.kind in ("table", "figure") and not made.product.part and (files := run.files_of(made)):
            shown.setdefault(PurePosixPath(files[0]).parent.name, []).append(made.name)
    lines += [f"  {name + '/':<9} {', '.join(sorted(names))}" for name, names in shown.items()]
    files = [file for name in ("records", "timings", "provenance") if run.owns(file := file_of(name))]
    if files:
        lines.append(f"  {', '.join(files)}")
    failures = folder / file_of("failures")
    if run.owns(file_of("failures")):
        with open(failures, encoding="utf-8") as stream:
            failed = sum(1 for _ in stream) - 1
        if failed:
            lines.append(f"NOTE: {failed} fits failed; the tables count them, and {failures} gives each reason.")
    if run.owns(page := file_of("report")):
        lines.append(f"Report: {folder / page}")
    return "\n".join(lines)
