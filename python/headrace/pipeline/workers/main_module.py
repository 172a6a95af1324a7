"""Sets up another process with the program's interpreter, main module and environment.

The other process needs the main module, because functions may be defined in it.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["MainModule", "Surroundings", "import_main", "is_importing", "main_module", "program"]

_state = {"is_importing": False}
# Libraries start a thread for each core, and the threads of several workers would compete for the
# cores. So libraries use one thread in each worker, unless the program sets these variables.
_THREADS_OF_LIBRARIES: Final = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "RAYON_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def program(module: str, call: str) -> list[str]:
    """Returns the command for a new interpreter that is set up like this one and calls a function.

    Args:
        module: The name of the module.
        call: The call, as Python code.
    """
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    name = call.partition("(")[0]
    code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {name}; {call}"
    return [sys.executable, *flags, "-c", code]


@dataclass(frozen=True)
class MainModule:
    """The program's main module, with its name or file, from which it can be imported again."""

    name: str | None
    path: str | None


def main_module() -> MainModule | None:
    """Returns this program's main module, or None if it has no file, for example in a REPL."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return MainModule(spec.name, None)
    path = getattr(main, "__file__", None)
    return None if path is None else MainModule(None, path)


def import_main(main: MainModule) -> None:
    """Imports the main module under the name `__mp_main__`, as `multiprocessing` does."""
    from multiprocessing import spawn  # noqa: PLC0415 (only who needs it pays for it)

    _state["is_importing"] = True
    try:
        key = "init_main_from_path" if main.name is None else "init_main_from_name"
        spawn.prepare({key: main.path if main.name is None else main.name})
    finally:
        _state["is_importing"] = False


def is_importing() -> bool:
    """Returns whether this process is importing another process's main module."""
    return _state["is_importing"]


@dataclass(frozen=True)
class Surroundings:
    """The settings of a process that affect relative paths, `os.environ` and imports.

    Attributes:
        directory: The working directory, or None if it has been deleted.
        environment: The environment variables.
        module_path: The directories of `sys.path`.
    """

    directory: str | None
    environment: Mapping[str, str]
    module_path: tuple[str, ...]

    @classmethod
    def current(cls) -> "Surroundings":
        """Returns this program's settings, with one thread for libraries by default."""
        try:
            directory = os.getcwd()
        except FileNotFoundError:
            directory = None
        environment = {**dict.fromkeys(_THREADS_OF_LIBRARIES, "1"), **os.environ}
        return cls(directory, environment, tuple(sys.path))

    def enter(self) -> None:
        """Applies these settings to this process.

        Raises:
            OSError: If the directory cannot be entered.
        """
        if self.directory is not None:
            os.chdir(self.directory)
        for name in os.environ.keys() - self.environment.keys():
            del os.environ[name]
        for name, value in self.environment.items():
            if os.environ.get(name) != value:
                os.environ[name] = value
        sys.path[:] = self.module_path
