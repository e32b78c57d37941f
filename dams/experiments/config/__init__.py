"""The configuration of a run: what a YAML file may say, and what is said of mistakes in it."""

from dams.experiments.config.mistakes import ConfigError
from dams.experiments.config.settings import Config, Study, parse, read, schema
from dams.experiments.config.yaml_files import refuse_repeated_keys

__all__ = ["Config", "ConfigError", "Study", "parse", "read", "refuse_repeated_keys", "schema"]
