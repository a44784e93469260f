"""The settings of a run: `Config`, its presets, and how settings are changed by name."""

from rstc.config.fields import Setting
from rstc.config.presets import (
    PRESETS,
    Imbalance,
    default,
    find_setting,
    make_config,
    paper,
    paper_values,
    parse_setting,
)
from rstc.config.settings import SETTINGS, Config

__all__ = [
    "PRESETS",
    "SETTINGS",
    "Config",
    "Imbalance",
    "Setting",
    "default",
    "find_setting",
    "make_config",
    "paper",
    "paper_values",
    "parse_setting",
]
