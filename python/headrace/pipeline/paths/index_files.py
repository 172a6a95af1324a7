"""The index files that a pipeline reads and writes. They store record positions."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from headrace.core import engine

__all__ = ["IndexMode", "cache_directory", "checked_mode", "describe_lookup", "index_files"]

_MODES: Final = ("auto", "memory", "off")
IndexMode: TypeAlias = Literal["auto", "memory", "off"]


def checked_mode(mode: object) -> str:
    """Returns the mode for index files. Raises ValueError if it is unknown."""
    if mode not in _MODES:
        raise ValueError(f"options: index is {mode!r}, expected 'auto', 'memory' or 'off'.")
    return str(mode)


def cache_directory() -> str | None:
    """Returns the default directory for indexes, in the user's cache, or None without a cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        try:
            cache = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return os.path.join(cache, "headrace", "indexes")


def index_files(options: Mapping[str, Any]) -> engine.IndexFiles:
    """Returns the index files that an iteration with these options uses."""
    directories = (options.get("index_directory"), cache_directory())
    return engine.IndexFiles(
        options.get("index", "auto"), [path for path in directories if path is not None]
    )


def describe_lookup(options: Mapping[str, Any]) -> str:
    """Describes how a full shuffle finds the positions of records."""
    match options.get("index", "auto"):
        case "memory":
            return "the records are located in a first scan"
        case "off":
            return "not possible, because options(index='off') forbids scanning the files"
    elsewhere = options.get("index_directory") or cache_directory()
    return (
        "the records are located with index files; missing ones are written after a first scan, "
        f"next to the data files or in {elsewhere}"
    )
