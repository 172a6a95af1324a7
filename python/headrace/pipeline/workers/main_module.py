"""The program's interpreter and main module, for another process.

The main module is needed there, since functions may be defined in it.
"""

import subprocess
import sys
from dataclasses import dataclass

__all__ = ["MainModule", "import_main", "is_importing", "main_module", "program"]

_state = {"is_importing": False}


def program(module: str, call: str) -> list[str]:
    """Returns the command of a new interpreter like this one, which calls a function of a module.

    Args:
        module: The name of the module.
        call: The call, as code.
    """
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    name = call.partition("(")[0]
    code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {name}; {call}"
    return [sys.executable, *flags, "-c", code]


@dataclass(frozen=True)
class MainModule:
    """The main module of a program, with the way to import it again: its name, or its file."""

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
    """Returns whether this process is importing the main module of another process."""
    return _state["is_importing"]
