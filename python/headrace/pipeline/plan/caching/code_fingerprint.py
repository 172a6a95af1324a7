"""A hash of Python values and functions that is the same in another process.

A function counts with its bytecode and constants, its defaults, what it has closed over, and the
functions, classes and values that its names lead to. The code of installed packages counts as their
versions. Other objects count as what they would be pickled from.
"""

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import os
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from headrace.core import engine
from headrace.pipeline.describe.native_function import NativeFunction

__all__ = ["Fingerprint"]

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
# Equal ones may be one object in one process and two in another.
_BY_VALUE: Final = (list, tuple, dict, set, frozenset, types.CodeType, np.ndarray)
# Attributes of classes that say nothing of what they do.
_SILENT: Final = frozenset(
    (
        *("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__slotnames__"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
        *("__static_attributes__", "__abstractmethods__", "_abc_impl", "__classdictcell__"),
    )
)
_MOST_DEPTH: Final = 200


class Fingerprint:
    """A hash that values are added to."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        # The number of each object by its identity, and the objects, which keeps identities apart.
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []
        self._depth = 0

    def hexdigest(self) -> str:
        """Returns the hash, as hexadecimal digits."""
        return self._hash.hexdigest()

    def add(self, value: object, where: str) -> None:
        """Adds a value.

        Args:
            value: The value.
            where: Where it is used, for errors.

        Raises:
            ValueError: If it cannot be compared between programs.
        """
        if isinstance(value, _PLAIN):
            self._put(type(value).__name__, repr(value))
            return
        if not isinstance(value, _BY_VALUE):
            if id(value) in self._numbers:
                self._put("again", str(self._numbers[id(value)]))
                return
            self._numbers[id(value)] = len(self._numbers)
            self._alive.append(value)
        if self._depth > _MOST_DEPTH:
            raise _incomparable(where, value)
        self._depth += 1
        self._add(value, where)
        self._depth -= 1

    def _put(self, *texts: str) -> None:
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:%b" % (len(encoded), encoded))

    def _add(self, value: object, where: str) -> None:  # noqa: PLR0912 (one for each kind of value)
        match value:
            case list() | tuple() if type(value) in (list, tuple):
                self._put(type(value).__name__, str(len(value)))
                for item in value:
                    self.add(item, where)
            case dict() if type(value) is dict:
                self._put("dict", str(len(value)))
                for key, item in value.items():
                    self.add(key, where)
                    self.add(item, where)
            case set() | frozenset() if type(value) in (set, frozenset):
                self._put("set", *sorted(_alone(item, where) for item in value))
            case np.ndarray() if type(value) is np.ndarray and value.dtype != object:
                self._put("array", str(value.dtype), str(value.shape))
                self._hash.update(np.ascontiguousarray(value).tobytes())
            case np.ndarray() if type(value) is np.ndarray:
                self._put("objects", str(value.shape))
                self.add(value.ravel().tolist(), where)
            case types.CodeType():
                self._add_code(value, where)
            case NativeFunction():
                self.add(getattr(value, "__wrapped__", None), where)
            case types.FunctionType():
                self._add_function(value, where)
            case types.MethodType():
                self.add((value.__func__, value.__self__), where)
            case types.BuiltinFunctionType():
                self._add_builtin(value, where)
            case functools.partial():
                self.add((value.func, value.args, value.keywords), where)
            case types.ModuleType():
                self._add_module(value, frozenset(), where)
            case type():
                self._add_class(value, where)
            case property():
                self.add((value.fget, value.fset), where)
            case staticmethod() | classmethod():
                self.add(value.__func__, where)
            case types.MappingProxyType():
                self.add(dict(value), where)
            case _:
                self._add_object(value, where)

    def _add_code(self, code: types.CodeType, where: str) -> None:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = getattr(code, "co_exceptiontable", b"")
        self._put("code", sys.version, code.co_code.hex(), table.hex(), repr(names), repr(numbers))
        for constant in code.co_consts:
            self.add(constant, where)

    def _add_function(self, function: types.FunctionType, where: str) -> None:
        module = sys.modules.get(function.__module__ or "")
        if module is not None and _is_library(module) and "<locals>" not in function.__qualname__:
            self._put("function", function.__module__, function.__qualname__, _version(module))
            return
        self._put("function")
        self.add((function.__code__, function.__defaults__, function.__kwdefaults__), where)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._put(name)
            try:
                self.add(cell.cell_contents, f"{where}: {name}")
            except ValueError as error:
                if str(error) != "Cell is empty":
                    raise
        names = frozenset(_names(function.__code__))
        for name in sorted(names):
            value = function.__globals__.get(name, self)
            if isinstance(value, types.ModuleType):
                self._put(name)
                self._add_module(value, names, where)
            elif value is not self:
                self._put(name)
                self.add(value, f"{where}: {name}")
            elif not hasattr(builtins, name):
                self._put("attribute", name)
        for name in sorted(set(_imported(function.__code__))):
            self._add_module(_import(name, function, where), names, where)

    def _add_builtin(self, function: types.BuiltinFunctionType, where: str) -> None:
        owner = function.__self__
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.add((function.__name__, owner), where)
            return
        self._put("builtin", str(function.__module__), function.__qualname__)
        if (module := sys.modules.get(function.__module__ or "")) is not None:
            self._put(_version(module))

    def _add_module(self, module: types.ModuleType, names: frozenset[str], where: str) -> None:
        """Adds a module: an installed one as its version, another one as these names of it."""
        self._put("module", module.__name__)
        if _is_library(module):
            self._put(_version(module))
            return
        key = hash((id(module), names))
        if key in self._numbers:
            return
        self._numbers[key] = len(self._numbers)
        for name in sorted(names):
            value = vars(module).get(name, self)
            if isinstance(value, types.ModuleType):
                self._add_module(value, names, where)
            elif value is not self:
                self._put(name)
                self.add(value, f"{where}: {module.__name__}.{name}")

    def _add_class(self, kind: type, where: str) -> None:
        module = sys.modules.get(kind.__module__)
        self._put("class", kind.__module__, kind.__qualname__)
        if module is not None and _is_library(module) and "<locals>" not in kind.__qualname__:
            self._put(_version(module))
            return
        for base in kind.__bases__:
            self.add(base, where)
        for name, value in sorted(vars(kind).items()):
            if name in _SILENT or isinstance(value, _SLOTS):
                continue
            self._put(name)
            self.add(value, f"{where}: {kind.__qualname__}.{name}")

    def _add_object(self, value: object, where: str) -> None:
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            raise _incomparable(where, value) from None
        self._put("object")
        self.add(type(value), where)
        if isinstance(reduced, str):
            self._put(reduced)
            return
        for part in reduced:
            match part:
                case Iterator():
                    self.add(list(part), where)
                case Mapping():
                    self.add(dict(part), where)
                case _:
                    self.add(part, where)


_SLOTS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _alone(value: object, where: str) -> str:
    fingerprint = Fingerprint()
    fingerprint.add(value, where)
    return fingerprint.hexdigest()


def _incomparable(where: str, value: object) -> ValueError:
    kind = type(value)
    return ValueError(
        f"cache: {where} is or uses a {kind.__module__}.{kind.__qualname__}, which a later program "
        "cannot compare with its own, so it could read examples that were made with another one. "
        "Make it inside of the function, put the function after the cache, or leave directory out."
    )


def _names(code: types.CodeType) -> Iterator[str]:
    """Yields the names that code and the functions in it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _imported(code: types.CodeType) -> Iterator[str]:
    """Yields the modules that code and the functions in it import."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imported(constant)


def _import(name: str, function: types.FunctionType, where: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except Exception:
        text = (
            f"cache: {where}: the import of {name!r} inside of {function.__qualname__} cannot be "
            "followed, so a change of it would not be noticed. Import it outside of the function."
        )
        raise ValueError(text) from None


@functools.cache
def _directories() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(os.path.realpath(paths[kind]) + os.sep for kind in kinds)


def _is_library(module: types.ModuleType) -> bool:
    """Returns whether a module is installed, rather than a part of the program."""
    top = module.__name__.partition(".")[0]
    if top == "headrace" or top in sys.stdlib_module_names:
        return True
    file = getattr(module, "__file__", None)
    return file is not None and os.path.realpath(file).startswith(_directories())


def _version(module: types.ModuleType) -> str:
    """Returns the version of an installed module."""
    top = module.__name__.partition(".")[0]
    if top == "headrace":
        return engine.version
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return sys.version
    found = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(found, str):
        return found
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        status = os.stat(file) if (file := getattr(module, "__file__", None)) else None
        return "" if status is None else f"{status.st_size} {status.st_mtime_ns}"
