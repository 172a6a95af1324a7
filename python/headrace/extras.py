"""The packages that only commands need: the extra `cli` of the package installs them."""

from importlib.util import find_spec
from typing import Final

__all__ = ["missing_cli"]

_CLI: Final = ("click", "tqdm")


def missing_cli() -> str | None:
    """Says what to install for commands; None if all is there."""
    missing = [name for name in _CLI if find_spec(name) is None]
    if not missing:
        return None
    return (
        f"got no {' and no '.join(missing)}, which commands need. "
        "Install the extra that has it: pip install 'headrace[cli]'"
    )
