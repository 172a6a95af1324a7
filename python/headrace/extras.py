"""The packages that only some need: those of commands, and those of single sources."""

from importlib.util import find_spec
from typing import Final

__all__ = ["missing_arrow", "missing_cli", "missing_parquet"]

_CLI: Final = ("click", "tqdm")


def missing_cli() -> str | None:
    """Returns what to install for the commands; None if nothing is missing."""
    return _missing(_CLI, "which commands need", "cli")


def missing_arrow() -> str | None:
    """Returns what to install for Arrow's arrays; None if nothing is missing."""
    return _missing(("pyarrow",), "which has Arrow's arrays", "arrow")


def missing_parquet() -> str | None:
    """Returns what to install for Parquet files; None if nothing is missing."""
    return _missing(("pyarrow",), "which reads Parquet files", "parquet")


def _missing(names: tuple[str, ...], what_for: str, extra: str) -> str | None:
    missing = [name for name in names if find_spec(name) is None]
    if not missing:
        return None
    return (
        f"got no {' and no '.join(missing)}, {what_for}. "
        f"Install the extra that has it: pip install 'headrace[{extra}]'"
    )
