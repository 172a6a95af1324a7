"""The packages that only commands need. The extra `cli` installs them."""

from importlib.util import find_spec
from typing import Final

__all__ = ["missing_cli"]

_CLI: Final = ("click", "tqdm")


def missing_cli() -> str | None:
    """Returns what to install for the commands; None if nothing is missing."""
    missing = [name for name in _CLI if find_spec(name) is None]
    if not missing:
        return None
    return (
        f"got no {' and no '.join(missing)}, which commands need. "
        "Install the extra that has it: pip install 'headrace[cli]'"
    )
