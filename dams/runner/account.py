"""The PhysioNet account of a run: asked for before it starts, and kept out of all that is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dams.experiments.config import Config

# Name and password with which eICU is downloaded.
ACCOUNT = ("PHYSIONET_USERNAME", "PHYSIONET_PASSWORD")


def find_account(config: Config | None) -> dict[str, str]:
    """Return name and password for a run that downloads eICU, asked for here: nobody sees the question of a job.

    They go into the environment of that run, and nowhere else.
    """
    eicu = config and config.eicu
    if not eicu or eicu.source != "physionet" or (Path(eicu.folder) / "downloaded.json").exists():
        return {}
    if all(os.environ.get(name) for name in ACCOUNT):
        return {}
    from dams.datasets.eicu.physionet import NO_ACCOUNT, find_credentials

    if sys.stdin.isatty():
        found = find_credentials()
        if found.username and found.password:
            return dict(zip(ACCOUNT, (found.username, found.password), strict=True))
    sys.exit(NO_ACCOUNT)


def hide_password(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the text without the password, whoever wrote it there.

    The name stays: it may be that of the user and then stands in paths. No part of a run writes it.
    """
    password = environment.get(ACCOUNT[1])
    return text.replace(password, "***") if password else text
