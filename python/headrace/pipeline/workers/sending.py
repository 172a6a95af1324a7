"""Converts functions and exceptions to bytes, to send them between processes."""

import contextlib
import hashlib
import importlib
import mmap
import operator
import os
import pickle
import re
import tempfile
import traceback
import types
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from headrace.core.errors import add_note
from headrace.core.tracebacks import hide_own_frames
from headrace.pipeline.workers.main_module import MainModule, is_importing, main_module

__all__ = ["PackedError", "PackedFunctions", "loads", "packed_functions"]


# Larger functions are sent in a file.
_MOST_BYTES: Final = 1 << 20
_MAIN_NAMES: Final = re.compile(b"__main__|__mp_main__")
_LONGEST_NAME: Final = len(b"__mp_main__") - 1


@dataclass(frozen=True)
class PackedFunctions:
    """Pickled functions. Large ones are stored in a file whose descriptor is sent with the message.

    Attributes:
        digest: The digest of the bytes.
        data: The bytes, or None if they are stored in the file.
        file: The file, or None if there is none.
    """

    digest: bytes
    data: bytes | None
    file: "_File | None" = field(default=None, compare=False)

    def __reduce__(self) -> tuple[type, tuple[bytes, bytes | None]]:
        return PackedFunctions, (self.digest, self.data)

    @property
    def descriptors(self) -> list[int]:
        """The descriptors to send with these functions."""
        return [] if self.file is None else [self.file.descriptor]

    def received(self, descriptors: Sequence[int]) -> "PackedFunctions":
        """Returns the functions from a message that was received with these descriptors."""
        return replace(self, file=_File(descriptors[0])) if descriptors else self

    def unpacked(self) -> tuple[Any, ...]:
        """Unpickles the functions. This imports their modules."""
        if self.file is None:
            assert self.data is not None
            return cast("tuple[Any, ...]", pickle.loads(self.data))
        with mmap.mmap(self.file.descriptor, 0, access=mmap.ACCESS_READ) as data:
            return cast("tuple[Any, ...]", pickle.loads(data))


class _File:
    """The descriptor of an unnamed file. It is closed when the last reference is dropped."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor: Final = descriptor

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes to the file.

        Raises:
            MemoryError: If there is no space left.
        """
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError as error:
            raise MemoryError(
                f"worker processes: {tempfile.gettempdir()} has not enough space for a function "
                f"and its data ({error.strerror}). Set TMPDIR to a directory with more space, or "
                "let the function load its data in its first call."
            ) from error

    def __del__(self) -> None:
        os.close(self.descriptor)


class _Packing:
    """A file object that keeps small amounts of data in memory, and writes large ones to a file."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._data = bytearray()
        self._file: _File | None = None
        self._end = b""
        self.names: set[bytes] = set()

    def write(self, data: bytes | pickle.PickleBuffer) -> int:
        """Adds bytes."""
        view = data.raw() if isinstance(data, pickle.PickleBuffer) else memoryview(data)
        self._hash.update(view)
        for part in (view, self._end + bytes(view[:_LONGEST_NAME])):
            self.names.update(_MAIN_NAMES.findall(part))
        self._end = (self._end + bytes(view[-_LONGEST_NAME:]))[-_LONGEST_NAME:]
        if self._file is None:
            self._data += view
            if len(self._data) <= _MOST_BYTES:
                return len(view)
            self._file = _File(_disk_file())
            self._file.append(self._data)
            self._data.clear()
        else:
            self._file.append(view)
        return len(view)

    def functions(self) -> PackedFunctions:
        """Returns the functions whose bytes were added."""
        data = bytes(self._data) if self._file is None else None
        return PackedFunctions(self._hash.digest(), data, self._file)


def _disk_file() -> int:
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def packed_functions(
    where: str, functions: Sequence[object]
) -> tuple[PackedFunctions, MainModule | None]:
    """Pickles functions for another process.

    Returns:
        The functions, and the program's main module if functions are imported from it.

    Raises:
        MemoryError: If the functions are large, and there is no space for a file.
        TypeError: If they cannot be pickled.
    """
    pickler: Any = pickle
    hint = "Define it at the top of a module, or install cloudpickle: pip install cloudpickle"
    try:
        pickler = importlib.import_module("cloudpickle")
        hint = "Remove files, locks and threads from it, or create them in the first call"
    except ImportError:
        pass
    packing = _Packing()
    try:
        pickler.dump(tuple(functions), packing, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        raise
    except Exception as error:
        raise TypeError(
            f"{where}: num_processes is set, but the function cannot be pickled and sent to "
            f"another process ({error}). {hint}."
        ) from error
    # In a child of multiprocessing that was not forked, the main module has the second name.
    is_of_main = b"__main__" in packing.names and pickler is pickle
    if not (is_of_main or b"__mp_main__" in packing.names):
        return packing.functions(), None
    main = main_module()
    # A process that is importing a program cannot start a worker. Trying to start one explains
    # that.
    if main is None and not is_importing():
        raise TypeError(
            f"{where}: num_processes is set, but the function was not defined in a file, so "
            f"another process cannot import it. {hint}."
        )
    return packing.functions(), main


def loads(data: bytes) -> Any:
    """Unpickles a value that was pickled by one of this program's workers."""
    return pickle.loads(data)


@dataclass(frozen=True)
class PackedError:
    """An exception from another process.

    Attributes:
        pickled: The pickled exception, or None if it cannot be pickled and loaded again.
        parts: Otherwise, the pickled arguments and attributes, or None if they can't be pickled.
        names: The names of the exception's class and base classes, including module names.
        message: The exception's message.
        trace: The exception's traceback as text.
    """

    pickled: bytes | None
    parts: bytes | None
    names: tuple[tuple[str, str], ...]
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> "PackedError":
        """Packs an exception."""
        names = tuple((kind.__module__, kind.__qualname__) for kind in type(error).__mro__)
        pickled = _pickled(error)
        parts = _parts(error) if pickled is None else None
        hide_own_frames(error, is_of_function=True)
        return cls(pickled, parts, names, _words(error), _trace(error))

    def unpacked(self) -> BaseException:
        """Returns the exception, or one of the nearest base class if it cannot be loaded."""
        error = self._unpickled()
        add_note(error, f"In the worker process:\n{self.trace}")
        return error

    def _unpickled(self) -> BaseException:
        if self.pickled is not None:
            try:
                exception = pickle.loads(self.pickled)
            except Exception:  # The class may not exist in this process.
                exception = None
            if isinstance(exception, BaseException):
                return exception
        if self.parts is not None and (rebuilt := self._rebuilt(self.parts)) is not None:
            return rebuilt
        base = next((kind for kind in map(_builtin, self.names) if kind is not None), Exception)
        module, name = self.names[0]
        kind = type(name.rsplit(".", 1)[-1], (base,), {"__module__": module})
        error: BaseException = kind()
        error.args = (self.message,)
        return error

    def _rebuilt(self, parts: bytes) -> BaseException | None:
        """Makes an exception of the same class without calling `__init__`, or returns None."""
        module, qualname = self.names[0]
        try:
            kind = operator.attrgetter(qualname)(importlib.import_module(module))
            arguments, attributes = pickle.loads(parts)
            error = kind.__new__(kind, *arguments)
            for name, value in attributes.items():
                object.__setattr__(error, name, value)
        except Exception:  # The class may not exist in this process, or refuse its arguments.
            return None
        return error if _words(error) == self.message else None


def _builtin(name: tuple[str, str]) -> type[BaseException] | None:
    module, qualname = name
    kind = getattr(importlib.import_module("builtins"), qualname, None)
    # Classes that need more arguments than a message cannot be created from one.
    is_plain = isinstance(kind, type) and not issubclass(kind, (UnicodeError, BaseExceptionGroup))
    return kind if module == "builtins" and is_plain else None


def _pickled(error: BaseException) -> bytes | None:
    try:
        data = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        again = pickle.loads(data)
    except Exception:  # A user's class may raise any exception.
        return None
    is_same = type(again) is type(error) and _words(again) == _words(error)
    return data if is_same else None


def _parts(error: BaseException) -> bytes | None:
    arguments = BaseException.__getattribute__(error, "args")
    attributes = dict(BaseException.__getattribute__(error, "__dict__"))
    for kind in type(error).__mro__:
        for name, slot in vars(kind).items():
            if isinstance(slot, types.MemberDescriptorType) and kind.__module__ != "builtins":
                with contextlib.suppress(AttributeError):  # It isn't set.
                    attributes[name] = slot.__get__(error)
    try:
        return pickle.dumps((arguments, attributes), pickle.HIGHEST_PROTOCOL)
    except Exception:  # They may be of any class.
        return None


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
        return "(the message cannot be displayed)"
