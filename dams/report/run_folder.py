"""Files of a results folder, whole or in part, and which of them are of the run that its configuration describes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dams._files import damaged, sha256_of
from dams.experiments import design
from dams.experiments.compact_records import read_compact
from dams.experiments.config import Config
from dams.experiments.config.fields import shortened
from dams.experiments.gather import gather
from dams.experiments.products import MANIFEST, SETTINGS, Made, file_of, products_of
from dams.experiments.records import COLUMNS, KEYS, read_records
from dams.report.evidence import EVIDENCE, Evidence, parse_known
from dams.report.recognise import recognise
from dams.report.run_files import designs_in, read_json, read_table

# Of these the design of the blocks tells whether they are of this run, not their time.
_GATHERED = [file_of(name) for name in ("records", "records_compact", "failures", "timings")]
_PROVENANCE, _PAGE = file_of("provenance"), file_of("report")


@dataclass(frozen=True)
class RunFolder:
    """The files of one results folder, read when they are asked for; what does not exist is empty.

    A job knows its files: `declared` are their names below the folder, and nothing else counts. Elsewhere it is None,
    and a folder may hold what runs of earlier configurations left under the same name. Files in `without` count as if
    they were not there.
    """

    folder: Path
    declared: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    @classmethod
    def of_files(cls, folder: str | Path, files: Iterable[str | Path]) -> RunFolder:
        """Return a folder of which these files count."""
        return cls(Path(folder), frozenset(Path(file).relative_to(folder).as_posix() for file in files))

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration of the run, written when it started and again with the provenance."""
        # A job reads what it was given.
        names = (SETTINGS, _PROVENANCE) if self.declared is None else (_PROVENANCE,)
        for name in names:
            content = read_json(self.folder / name)
            if content and not isinstance(content, dict):
                raise damaged(self.folder / name, f"expected keys with values, got {shortened(content)}")
            if content and not isinstance(config := content.get("config", content), dict):
                raise damaged(self.folder / name, f"expected a configuration, got {shortened(config)}")
            if content:
                return config
        return {}

    @cached_property
    def run(self) -> Config | None:
        """The configuration, checked; None where it is not known or of another version."""
        return parse_known(self.config)

    @cached_property
    def products(self) -> list[Made]:
        """Products that the run should have made, or, where its configuration is not known, has."""
        if self.run is not None:
            return products_of(self.run)
        return recognise(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())

    def files_of(self, made: Made) -> list[str]:
        """List those files of a product that are there and of this run."""
        return [file for file in made.files if self.owns(file)]

    @cached_property
    def provenance(self) -> dict[str, Any] | None:
        """The provenance; None before the end, or once a file that it vouches for was made anew."""
        return self._last_end if all(self._unchanged.values()) else None

    @cached_property
    def _last_end(self) -> dict[str, Any] | None:
        """The provenance written when a run of this configuration last came to its end."""
        content = read_json(self.folder / _PROVENANCE)
        if content is not None and not isinstance(content, dict):
            raise damaged(self.folder / _PROVENANCE, f"expected keys with values, got {shortened(content)}")
        return content if content and content.get("config") == self.config else None

    @cached_property
    def _unchanged(self) -> dict[str, bool]:
        """Whether what that run made is as it was then, of those of its files that are there."""
        files = (self._last_end or {}).get("files", {})
        return {name: sha256_of(path) == files[name] for name in files if (path := self.folder / name).exists()}

    def owns(self, name: str) -> bool:
        """Whether a file is there, the configuration asks for it, and it was made for this configuration."""
        if name in self.without:
            return False
        if self.declared is not None:
            return name in self.declared
        path = self.folder / name
        if not path.exists() or not (self.run is None or name in self._asked_for):
            return False
        if self.run is None:
            return True
        if name == _PROVENANCE:
            return self.provenance is not None
        if name == _PAGE:
            # It is made of all else, so it comes last.
            ending = self.folder / _PROVENANCE
            return self.provenance is not None and path.stat().st_mtime >= ending.stat().st_mtime
        if name in _GATHERED and (designs := designs_in(self.folder / file_of("timings"))):
            return designs == set(self._digests.values())
        # A run that came to its end vouches for what it made, whatever the time of the file. Else what was made since
        # the configuration changed is its own; config.json is written when it does.
        if self._last_end is not None and self._unchanged.get(name, "files" not in self._last_end):
            return True
        settings = self.folder / SETTINGS
        return not settings.exists() or path.stat().st_mtime >= settings.stat().st_mtime

    @cached_property
    def _asked_for(self) -> frozenset[str]:
        return frozenset([SETTINGS, *(file for made in self.products for file in made.files)])

    @cached_property
    def blocks(self) -> list[design.Block]:
        """The blocks that the configuration asks for; none where it is not known."""
        return list(design.blocks(self.run)) if self.run else []

    @cached_property
    def _digests(self) -> dict[str, str]:
        return {block.path: block.digest for block in self.blocks}

    @cached_property
    def finished_blocks(self) -> list[design.Block]:
        """Those of them whose records are there: made for this block, not for one of the same name before."""
        return [
            block
            for block in self.blocks
            if self._is_there(file_of("block_records", **block.wildcards))
            and self._is_there(file_of("block_timings", **block.wildcards))
            and designs_in(self.folder / file_of("block_timings", **block.wildcards)) == {self._digests[block.path]}
        ]

    def _is_there(self, name: str) -> bool:
        return name not in self.without and (self.folder / name).exists()

    def _file_of(self, block: design.Block) -> Path:
        return self.folder / file_of("block_records", **block.wildcards)

    @cached_property
    def records(self) -> pd.DataFrame:
        """All records; of an interrupted run, those of the blocks that were finished."""
        if self.owns(file_of("records")):
            return read_records(self.folder / file_of("records"))
        if self.owns(file_of("records_compact")):
            return read_compact(self.folder / file_of("records_compact"))
        if self.run is not None:
            done = self.finished_blocks
            return gather([self._file_of(block) for block in done], done) if done else pd.DataFrame(columns=COLUMNS)
        # Where blocks were cut anew, files of the earlier cut may hold the same cells: the newest count.
        step = MANIFEST["block_records"]
        names = [made.files[0] for made in self.products if made.product is step]
        files = [self.folder / name for name in names if self._is_there(name)]
        files.sort(key=lambda path: (path.stat().st_mtime, path))
        if not files:
            return pd.DataFrame(columns=COLUMNS)
        return gather(files).drop_duplicates(KEYS, keep="last", ignore_index=True)

    @cached_property
    def evidence(self) -> Evidence:
        """The data that claims and the comparison rest on."""
        owned = {name: self.folder / file_of(name) for name in EVIDENCE}
        return Evidence.of_files(
            self.records,
            self.config,
            covariates={
                Path(made.files[0]).stem: self.folder / made.files[0]
                for made in self.products
                if made.product is MANIFEST["covariates"] and self._is_there(made.files[0])
            },
            **{name: path for name, path in owned.items() if self.owns(file_of(name))},
        )

    def table(self, name: str) -> pd.DataFrame | None:
        """Read a product that is data; None where it is not of this run."""
        return read_table(self.folder / file_of(name)) if self.owns(file_of(name)) else None
