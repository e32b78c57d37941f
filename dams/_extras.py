"""Extras of the package: the modules each installs, and how to install one that is missing."""

from __future__ import annotations

from pathlib import Path

# Modules that only some commands and functions need, by the extra in pyproject.toml that brings them.
EXTRAS = {
    "pooch": "data",
    "requests": "data",
    "tqdm": "data",
    "ucimlrepo": "data",
    "jinja2": "pipeline",
    "markupsafe": "pipeline",
    "matplotlib": "pipeline",
    "pydantic": "pipeline",
    "snakemake": "pipeline",
    "xgboost": "pipeline",
    "yaml": "pipeline",
    "missingpy": "missingpy",
    "skops": "models",
    "pyarrow": "parquet",
    "skada": "skada",
}


def how_to_install(module: str) -> str:
    """Return the command that installs the extra with a module, in a checkout or wherever dams was installed from."""
    extra = EXTRAS[module]
    project = Path(__file__).resolve().parents[1]
    if (project / "pyproject.toml").is_file():
        return f'`pip install --editable ".[{extra}]"` in {project}'
    return f'`pip install "dams[{extra}]"`'
