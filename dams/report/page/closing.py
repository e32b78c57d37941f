"""What a run says at its end."""

from __future__ import annotations

from pathlib import Path

from dams.report.evidence import Evidence


def closing_words(results: str | Path) -> str:
    """Say where the results are, and how many fits failed if any did."""
    folder = Path(results)
    evidence = Evidence(folder)
    lines = ["", f"Results: {folder}/"]
    for name in ("tables", "figures"):
        stems = sorted({path.stem for path in folder.glob(f"{name}/*") if evidence.owns(f"{name}/{path.name}")})
        if stems:
            lines.append(f"  {name + '/':<9} {', '.join(stems)}")
    files = [name for name in ("records.csv", "timings.csv", "provenance.json") if evidence.owns(name)]
    if files:
        lines.append(f"  {', '.join(files)}")
    failures = folder / "failures.csv"
    if evidence.owns("failures.csv"):
        with open(failures, encoding="utf-8") as stream:
            failed = sum(1 for _ in stream) - 1
        if failed:
            lines.append(f"NOTE: {failed} fits failed; the tables count them, and {failures} gives each reason.")
    if evidence.owns("report.html"):
        lines.append(f"Report: {folder / 'report.html'}")
    return "\n".join(lines)
