"""Functions and exceptions as bytes, for sending them between processes."""

import importlib
import pickle
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import add_note
from headrace.pipeline.workers.main_module import MainModule, is_importing, main_module

__all__ = ["PackedError", "loads", "packed_functions", "unpacked_functions"]


def packed_functions(where: str, functions: Sequence[object]) -> tuple[bytes, MainModule | None]:
    """Returns functions as bytes, from which another process can load them.

    Returns:
        The bytes, and the program's main module if functions are imported from it.

    Raises:
        TypeError: If they cannot be sent.
    """
    pickler: Any = pickle
    hint = "Define it at the top of a module, or install cloudpickle: pip install cloudpickle"
    try:
        pickler = importlib.import_module("cloudpickle")
        hint = "Remove files, locks and threads from it, or create them in the first call"
    except ImportError:
        pass
    try:
        data = bytes(pickler.dumps(tuple(functions), pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise TypeError(
            f"{where}: num_processes is given, and the function cannot be sent to another process "
            f"({error}), expected one that can be pickled. {hint}."
        ) from error
    # In a child of multiprocessing that was not forked, the main module has the second name.
    is_of_main = b"__main__" in data and pickler is pickle
    if not (is_of_main or b"__mp_main__" in data):
        return data, None
    main = main_module()
    # A process that imports a program cannot start a worker; starting one explains that.
    if main is None and not is_importing():
        raise TypeError(
            f"{where}: num_processes is given, and the function was not defined in a "
            f"file, expected one that another process can import. {hint}."
        )
    return data, main


def unpacked_functions(data: bytes) -> tuple[Any, ...]:
    """Returns the functions of packed bytes. Imports their modules."""
    found: tuple[Any, ...] = pickle.loads(data)
    return found


def loads(data: bytes) -> Any:
    """Returns a value that was pickled by a worker of this program."""
    return pickle.loads(data)


@dataclass(frozen=True)
class PackedError:
    """An exception of another process.

    Attributes:
        pickled: The pickled exception; None if it cannot be pickled and loaded.
        names: The names of its class and of the base classes, each with its module.
        message: Its message.
        trace: Its traceback, as text.
    """

    pickled: bytes | None
    names: tuple[tuple[str, str], ...]
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> "PackedError":
        """Packs an exception."""
        names = tuple((kind.__module__, kind.__qualname__) for kind in type(error).__mro__)
        return cls(_pickled(error), names, _words(error), _trace(error))

    def unpacked(self) -> BaseException:
        """Returns the exception, or one of the nearest class if it cannot be loaded."""
        error = self._made()
        add_note(error, f"In the worker process:\n{self.trace}")
        return error

    def _made(self) -> BaseException:
        if self.pickled is not None:
            try:
                found = pickle.loads(self.pickled)
            except Exception:  # The class may be missing in this process.
                found = None
            if isinstance(found, BaseException):
                return found
        base = next((kind for kind in map(_builtin, self.names) if kind is not None), Exception)
        module, name = self.names[0]
        kind = type(name.rsplit(".", 1)[-1], (base,), {"__module__": module})
        error: BaseException = kind()
        error.args = (self.message,)
        return error


def _builtin(name: tuple[str, str]) -> type[BaseException] | None:
    module, qualname = name
    kind = getattr(importlib.import_module("builtins"), qualname, None)
    # Classes with more arguments than a message cannot be created from one.
    is_plain = isinstance(kind, type) and not issubclass(kind, (UnicodeError, BaseExceptionGroup))
    return kind if module == "builtins" and is_plain else None


def _pickled(error: BaseException) -> bytes | None:
    try:
        data = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        again = pickle.loads(data)
    except Exception:  # A class of the user's may raise anything.
        return None
    is_same = type(again) is type(error) and _words(again) == _words(error)
    return data if is_same else None


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error)).rstrip()
    except Exception:
        trace = BaseException.__getattribute__(error, "__traceback__")
        return "".join(traceback.format_tb(trace)).rstrip()


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "its message cannot be shown"
