"""report.html: one file that holds the whole run, made from whatever its folder holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pandas as pd
import yaml
from jinja2 import Template
from markupsafe import Markup

from dams._files import damaged, whole_file
from dams._page import make_environment
from dams.datasets.registry import is_scenario, title_of
from dams.experiments.digests import write_digests
from dams.experiments.methods import METHODS
from dams.experiments.products import PARTS, RAW, SETTINGS, digests_of, file_of
from dams.report.claims.comparison import AGREES, EXPLAINED, compare, unlike_table1
from dams.report.claims.verdicts import Claim, Verdict, check_claims, read_claims
from dams.report.page.blame import make_or_blame
from dams.report.page.claims import KINDS, claim_rows, open_claims
from dams.report.page.contents import (
    Item,
    data_sources,
    datasets_in_order,
    item_of,
    outputs_of,
    parts_of,
    records_in_order,
    what_is_missing,
)
from dams.report.page.lead import known, lead_table, verdict_of
from dams.report.page.markup import (
    Cell,
    DataTable,
    as_cards,
    cell,
    chip,
    data_table,
    interval,
    mathematics,
    number,
)
from dams.report.page.svg import inline_svg
from dams.report.paper import read_errata
from dams.report.run_files import read_table, rows_of
from dams.report.run_folder import RunFolder
from dams.report.scope import describe, title_of_method, title_of_model
from dams.report.summary import differences_from
from dams.report.tables import REGIME_SYMBOLS

HERE = Path(__file__).parent
VARIANTS = {"as_published": "as published", "released_notebook": "notebook's columns"}
QUANTITIES = {"mean": "mean", "above oracle": "above oracle"}


@dataclass(frozen=True)
class Shown:
    """A table or figure as the template shows it."""

    id: str
    title: str
    caption: str
    links: list[tuple[str, str]]
    markup: Markup | None = None
    table: DataTable | None = None


def write_page(folder: str | Path, *, raw: Iterable[str | Path] | None = None) -> Path:
    """Write report.html into a results folder, from whatever is there; see `page_of`."""
    page = Path(folder) / file_of("report")
    if raw is None:
        raw = Path(RAW).glob("*.json")
    text = make_or_blame(page_of, Path(folder), [Path(path) for path in raw])
    with whole_file(page) as partial:
        partial.write_text(text, encoding="utf-8")
    # As its job would.
    write_digests(Path(folder) / digests_of("write_report"), [page])
    return page


def page_of(run: RunFolder, raw: Iterable[str | Path]) -> str:
    """Return the page; `raw` are files that say where the raw data came from, named by data set."""
    return render(run, {Path(path).stem: Path(path) for path in raw})


def render(run: RunFolder, raw: Mapping[str, Path]) -> str:
    """Return the page."""
    outputs, _ = outputs_of(run)
    claims, findings = check_or_read_claims(run)
    comparison = check_or_read_comparison(run)
    summary = _summary(run)
    return _template().render(
        name=run.config.get("name", run.folder.name),
        # A run of hospitals alone has nothing to say of the paper's claims and numbers.
        paper=run.run is None or bool(run.run.studies),
        overview=_overview(run),
        missing=what_is_missing(run),
        counts={verdict.value: int((claims["verdict"] == verdict.value).sum()) for verdict in Verdict},
        claims=(rows := claim_rows(claims, findings)),
        open_claims=open_claims(rows),
        kinds=KINDS,
        verdict=verdict_of(summary, claims, comparison),
        lead=_lead(summary, comparison),
        comparison=_comparison(comparison),
        agreement=_agreement(comparison),
        explaining=[
            e
            for e in read_errata().values()
            if e.id in " ".join(comparison.loc[known(comparison["errata"]), "errata"]).split()
        ],
        unlike_table1=_unlike_table1(run, comparison),
        comparison_figures=_comparison_figures(run),
        tables=[_shown(run, item) for item in outputs if item.kind == "table"],
        figures=[_shown(run, item) for item in outputs if item.kind == "figure"],
        parts=_parts(run),
        eicu_simulated=run.evidence.eicu_is_simulated,
        errata=_errata(),
        data=_data(data_sources(run, raw)),
        failures=_failures(run.records),
        provenance=_provenance(run),
        files=_files(run),
    )


# Once: to find a damaged file, a page is tried without one half of the files after the other.
@cache
def _template() -> Template:
    environment = make_environment(HERE)
    environment.filters |= {"number": number, "mathematics": mathematics}
    environment.globals |= {"chip": chip, "file_of": file_of}
    return environment.get_template("page.html.jinja")


@cache
def _paper_claims() -> list[Claim]:
    return read_claims()


def check_or_read_claims(run: RunFolder) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the claims as the run checked them; check them now where it did not come so far."""
    claims, findings = run.table("claims"), run.table("findings")
    if claims is None or findings is None:
        return check_claims(run.evidence, _paper_claims())
    for name, table, wanted in (("claims", claims, "kind"), ("findings", findings, "quantity")):
        if not {"id", wanted} <= set(table.columns):
            found = ", ".join(map(str, table.columns))
            raise damaged(run.folder / file_of(name), f"expected columns id and {wanted} among others, got {found}")
    text = dict.fromkeys(("reason", "errata", "note", "place", "quantity", "expected", "closest_place"), "")
    return claims.fillna(text), findings.fillna(text)


def check_or_read_comparison(run: RunFolder) -> pd.DataFrame:
    """Take the comparison as the run made it, or make it now."""
    made = run.table("comparison")
    return compare(run.evidence) if made is None else made


def _overview(run: RunFolder) -> dict[str, Any]:
    """Count what the run covers."""
    records = run.records
    cells = records[["study", "dataset", "regime", "epsilon", "draw"]].drop_duplicates()
    datasets = datasets_in_order(run)
    return {
        "scores": len(records),
        "cells": len(cells),
        "failed": int(records["failure"].notna().sum()),
        "datasets": [title_of(name) for name in datasets],
        "simulated": [title_of(name) for name in datasets if is_scenario(name)],
    }


def _comparison(comparison: pd.DataFrame) -> DataTable:
    """Show the numbers that can be compared; the others, with the reason, are in the CSV."""
    rows = []
    # How much single runs scatter is for those who look into the design: hundreds of rows, in the CSV.
    shown = comparison[known(comparison["status"]) & (comparison["quantity"] != "run sd")]
    for row in rows_of(shown):
        if row["table"] == "eicu":
            where = f"eICU, {row['source']} → {row['target']}, {row['metric'].upper()}"
        else:
            regime = REGIME_SYMBOLS.get(row["regime"], row["regime"])
            where = f"{title_of(row['dataset'])}, {regime}, {title_of_model(row['model'])}"
        method = METHODS[row["method"]].title if row["method"] in METHODS else str(row["method"]).capitalize()
        if row["variant"] != "corrected":
            method += f" ({VARIANTS[row['variant']]})"
        errata = row["errata"].split() if isinstance(row["errata"], str) else []
        named = Markup(" ").join(Markup('<a href="#erratum-{0}">{0}</a>').format(id) for id in errata)
        rows.append(
            [
                cell(where),
                Cell(method),
                Cell(QUANTITIES[row["quantity"]]),
                cell(row["published"]),
                cell(row["measured"]),
                Cell(interval(row["difference"], row["lower"], row["upper"]), value=row["difference"]),
                Cell(Markup("{} ({})").format(row["status"], named) if named else row["status"]),
            ]
        )
    heads = ["Where", "Method", "What", "Printed", "Measured", "Difference", "Ends as"]
    return DataTable(heads, rows, [False, False, False, True, True, True, False])


def _agreement(comparison: pd.DataFrame) -> dict[str, int]:
    """Count printed numbers: those that could be compared, and of these those that agree and those explained."""
    status = comparison.loc[comparison["variant"] == "corrected", "status"]
    return {
        "compared": int(known(status).sum()),
        **{name: int((status == name).sum()) for name in (AGREES, EXPLAINED)},
    }


def _summary(run: RunFolder) -> pd.DataFrame:
    """Return the data behind the run's table 1; empty where it has none."""
    file = file_of("table", output="table1")
    return read_table(run.folder / file) if run.owns(file) else pd.DataFrame(columns=["labels", "model"])


def _lead(summary: pd.DataFrame, comparison: pd.DataFrame) -> Shown | None:
    table = lead_table(summary, comparison)
    if table is None:
        return None
    links = [("CSV", file_of("table", output="table1"))]
    return Shown("table1-printed", "Table 1", f"{table.title}", links, markup=as_cards(table.to_html()))


def _unlike_table1(run: RunFolder, comparison: pd.DataFrame) -> list[str]:
    file = file_of("table", output="table1")
    if not run.owns(file):
        return []
    return [title_of(dataset) for dataset in unlike_table1(comparison, read_table(run.folder / file))]


def _comparison_figures(run: RunFolder) -> list[Shown]:
    names = ("published_against_measured", "design_scatter")
    found = [item_of(run, made) for made in run.products if made.name in names]
    return [_shown(run, item) for item in found if item]


def _shown(run: RunFolder, item: Item) -> Shown:
    path = run.folder / item.shown
    content: dict[str, Any] = {}
    if path.suffix == ".svg":
        label = f"{item.title}. {item.caption}".strip()
        # Short, for every mark of a figure has it, and the page's own, as a name may begin another.
        prefix = f"f{crc32(item.name.encode()):x}"
        content["markup"] = inline_svg(path.read_text(encoding="utf-8"), prefix=prefix, label=label)
    elif path.suffix == ".html":
        content["markup"] = as_cards(path.read_text(encoding="utf-8"))
    else:
        content["table"] = data_table(read_table(path))
    links = [(Path(file).suffix[1:].upper(), file) for file in item.files if not file.endswith(".html")]
    return Shown(id=item.name.replace("_", "-"), title=item.title, caption=item.caption, links=links, **content)


def _parts(run: RunFolder) -> dict[str, dict[str, Any]]:
    """Show the parts with folders of their own, and what the two-way adjustment gains wherever it was fitted."""
    shown = {part: [_shown(run, _marked(run, part, item)) for item in items] for part, items in parts_of(run).items()}
    if (run.records["method"] == "two_way").any():
        shown.setdefault("two_way", []).append(_two_way(run))
    return {
        name: {"name": part.name, "title": part.title, "paragraphs": part.paragraphs, "items": shown[name]}
        for name, part in PARTS.items()
        if name in shown
    }


def _two_way(run: RunFolder) -> Shown:
    """Compare the two-way adjustment with no adjustment, the filter alone and the oracle, cell by cell.

    A sweep over ε is a figure, and its rows would hide the others.
    """
    records = records_in_order(run)
    sweeps = records.groupby("study")["epsilon"].transform("nunique") > 1
    records = records if sweeps.all() else records[~sweeps]
    names = [name for name in ("source", "nonparametric", "oracle") if name in set(records["method"].unique())]
    references = [differences_from(records, name, run.evidence.bootstrap, methods=["two_way"]) for name in names]
    rows = []
    for row in rows_of(pd.concat(references)):
        scope = {key: row[key] for key in ("dataset", "regime", "epsilon", "labels", "model") if pd.notna(row[key])}
        gain = Cell(interval(row["difference"], row["lower"], row["upper"]), value=row["difference"])
        share = Cell(f"{row['wins']:.0%}", value=row["wins"])
        rows.append([cell(describe(scope)), Cell(title_of_method(row["reference"])), gain, share])
    table = DataTable(["Where", "Against", "Difference", "Better in"], rows, [False, False, True, True])
    caption = "Difference in MSE/Var(Y) within cells, negative where the two-way adjustment is better."
    return Shown("two-way-differences", "Two-way adjustment", caption, [], table=table)


def _marked(run: RunFolder, part: str, item: Item) -> Item:
    """Add *simulated* to the caption wherever eICU data are."""
    if part == "eicu" and run.evidence.eicu_is_simulated:
        return replace(item, caption=f"{item.caption} Simulated cohort.".strip())
    return item


def _errata() -> DataTable:
    heads = {"what": "What the paper has", "evidence": "Evidence", "here": "What is done here"}
    rows = [
        [Cell(erratum.id), *(Cell(mathematics(getattr(erratum, key))) for key in heads)]
        for erratum in read_errata().values()
    ]
    return DataTable(["Id", *heads.values()], rows)


def _data(sources: pd.DataFrame) -> DataTable:
    heads = {"dataset": "Data", "what": "What", "file": "File"}
    return data_table(sources, heads | {"sha256": "SHA-256", "source": "From", "licence": "Licence"})


def _failures(records: pd.DataFrame) -> DataTable | None:
    """Count failed fits by where and why."""
    failed = records[records["failure"].notna()]
    if failed.empty:
        return None
    counts = failed.groupby(["dataset", "regime", "model", "method", "failure"]).size().rename("fits").reset_index()
    return data_table(counts)


def _provenance(run: RunFolder) -> dict[str, Any] | None:
    content = run.provenance
    if content is None:
        return None
    seconds = content.get("job_seconds", {})
    times = [[Cell(name.replace("_", " ")), Cell(f"{value:,.1f}", value=value)] for name, value in seconds.items()]
    return {
        "commit": content["commit"],
        "changed": content["uncommitted_changes"],
        "seed": content["config"]["seed"],
        "machine": content["machine"],
        "python": content["python"],
        "packages": content["packages"],
        "wall": content.get("wall_seconds"),
        "memory": content.get("peak_memory_mb"),
        "times": DataTable(["Part", "Seconds, all jobs"], times, [False, True]),
        "config": yaml.safe_dump(content["config"], allow_unicode=True, sort_keys=False),
    }


def _files(run: RunFolder) -> list[str]:
    """List the data behind the page, for links."""
    kept = [made for made in run.products if made.product.kind != "step" and not made.product.bulky]
    files = [file for made in kept for file in run.files_of(made) if file.endswith((".csv", ".json", ".npz"))]
    return sorted([SETTINGS] * (run.folder / SETTINGS).exists() + files)
