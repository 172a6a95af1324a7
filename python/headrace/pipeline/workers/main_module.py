"""The program's main module in another process, for functions that are defined there."""

import sys
from dataclasses import dataclass

__all__ = ["MainModule", "import_main", "is_importing", "main_module"]

_state = {"is_importing": False}


@dataclass(frozen=True)
class MainModule:
    """The way to import it again: by its name, or from its file."""

    name: str | None
    path: str | None


def main_module() -> MainModule | None:
    """Returns the main module of this program; None if it is not in a file, as at a prompt."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return MainModule(spec.name, None)
    path = getattr(main, "__file__", None)
    return None if path is None else MainModule(None, path)


def import_main(main: MainModule) -> None:
    """Imports the main module as `multiprocessing` does: its name is `__mp_main__` then."""
    from multiprocessing import spawn  # noqa: PLC0415 (only who needs it pays for it)

    _state["is_importing"] = True
    try:
        key = "init_main_from_path" if main.name is None else "init_main_from_name"
        spawn.prepare({key: main.path if main.name is None else main.name})
    finally:
        _state["is_importing"] = False


def is_importing() -> bool:
    """Returns whether the main module of another process is imported here at the moment."""
    return _state["is_importing"]
