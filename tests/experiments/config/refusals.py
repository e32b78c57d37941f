"""What a user is told about a configuration that is refused."""

from typing import Any

import pytest

from dams.experiments.config import ConfigError, parse


def mistakes(raw: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(raw)
    return str(caught.value)
