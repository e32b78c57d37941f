"""Two files of a source and a target: read, compared, and what to do about their difference."""

from typing import TYPE_CHECKING

from dams._registry import export_late

if TYPE_CHECKING:
    from dams.two_files.adapting import Adaptation, adapt
    from dams.two_files.model_files import FileModel, read_model
    from dams.two_files.summaries import TableSummary, fit_from_summaries, read_summary, summarise

# Resolved on first use: who reads summaries does not load the candidates.
_EXPORTS = {
    "Adaptation": "dams.two_files.adapting",
    "FileModel": "dams.two_files.model_files",
    "TableSummary": "dams.two_files.summaries",
    "adapt": "dams.two_files.adapting",
    "fit_from_summaries": "dams.two_files.summaries",
    "read_model": "dams.two_files.model_files",
    "read_summary": "dams.two_files.summaries",
    "summarise": "dams.two_files.summaries",
}

__all__ = [
    "Adaptation",
    "FileModel",
    "TableSummary",
    "adapt",
    "fit_from_summaries",
    "read_model",
    "read_summary",
    "summarise",
]


__getattr__, __dir__ = export_late(__name__, _EXPORTS)
