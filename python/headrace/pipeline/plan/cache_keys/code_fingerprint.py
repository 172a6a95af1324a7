"""Hashes Python values and functions, with the same result in every process.

The hash of a function covers its bytecode and constants, its defaults, its attributes, its closure,
and the functions, classes and values that its names refer to. If a module is used in any way other
than reading an attribute directly, or if names are looked up at run time, the sources of the module
and everything it imports are hashed instead. Installed packages are hashed by version. Other
objects are hashed by the data that pickling would store.
"""

import abc
import builtins
import contextlib
import copyreg
import functools
import hashlib
import importlib
import importlib.util
import inspect
import pickle
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.plan.cache_keys import code_reach
from headrace.pipeline.plan.cache_keys.modules import (
    NoSourceError,
    is_library,
    is_library_file,
    module_of,
    sources,
    version,
)

__all__ = ["Fingerprint"]

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
# Equal values of these types may be one object in one process and two objects in another.
_BY_VALUE: Final = (list, tuple, dict, set, frozenset, types.CodeType, np.ndarray)
# Class attributes that do not matter, or are hashed elsewhere.
_SILENT: Final = frozenset(
    (
        *("__dict__", "__weakref__", "__module__", "__firstlineno__", "__slotnames__"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
        *("__static_attributes__", "__abstractmethods__", "_abc_impl", "__classdictcell__"),
    )
)
# The parts of classes that are implemented in C.
_NATIVE: Final = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_HEAP_TYPE: Final = 1 << 9
# Functions that can access any name of the program.
_LOOKS_UP: Final = (eval, exec, compile, globals, locals, vars, dir, breakpoint)
_LOOKING_UP: Final = frozenset(("gc", "inspect", "pickle", "_pickle", "marshal", "builtins"))
_LOOKING_NAMES: Final = frozenset(
    ("__globals__", "__builtins__", "__subclasses__", "f_globals", "f_locals", "f_builtins")
)
# Functions that import a module by name.
_IMPORTS: Final = frozenset(
    (
        *("import_module", "__import__", "reload", "spec_from_file_location", "module_from_spec"),
        *("run_path", "run_module", "locate", "resolve_name", "instantiate", "get_class"),
        *("get_method", "get_object", "SourceFileLoader", "exec_module", "load_module"),
    )
)
_IMPORTING: Final = frozenset(
    ("importlib", "_frozen_importlib", "builtins", "runpy", "pydoc", "pkgutil", "hydra", "imp")
)
# Names with which code reads the annotations of functions.
_READING_ANNOTATIONS: Final = frozenset(
    (
        *("__annotations__", "__annotate__", "__signature__", "get_type_hints", "get_annotations"),
        *("signature", "getfullargspec"),
    )
)
_ADDRESS: Final = re.compile("0x[0-9a-fA-F]+")
_MOST_DEPTH: Final = 200
_KEY: Final = 'pass a key to cache, such as key="v1", and change it whenever you change the code.'


class Fingerprint:
    """A hash to which values are added."""

    def __init__(self, depth: int = 0) -> None:
        self._hash = hashlib.sha256()
        # The number of each object by its identity. The objects are kept alive to keep their
        # identities unique.
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []
        self._depth = depth
        # The modules whose sources were added, and all words that occur in functions. If a word is
        # the name of a value in one of these modules, the value is hashed too, because the program
        # may have set it.
        self._whole_modules: dict[str, types.ModuleType] = {}
        self._words: set[str] = set()
        self._is_ending = False
        # The functions whose annotations are added if any code reads annotations.
        self._annotated: list[types.FunctionType] = []
        # The functions that are currently being added, from outermost to innermost.
        self._functions: list[types.FunctionType] = []

    def hexdigest(self) -> str:
        """Returns the hash as hexadecimal digits."""
        seen: set[tuple[str, str]] = set()
        self._add_annotations_that_are_read()
        self._is_ending = True
        while (
            pairs := {
                (module, word)
                for module, loaded in self._whole_modules.items()
                for word in self._words & vars(loaded).keys()
            }
            - seen
        ):
            seen |= pairs
            for module, word in sorted(pairs):
                value = vars(self._whole_modules[module])[word]
                self._put(module, word)
                if not (isinstance(value, types.ModuleType) and is_library(value)):
                    self.add(value, f"{module}.{word}")
            self._add_annotations_that_are_read()
        return self._hash.hexdigest()

    def add(self, value: object, where: str) -> None:
        """Adds a value.

        Args:
            value: The value.
            where: Where the value is used, for errors.

        Raises:
            ValueError: If the value cannot be compared between programs.
        """
        if type(value) in _PLAIN:
            self._put(type(value).__name__, repr(value))
            return
        if type(value) is dict and (module := module_of(value)) is not None:
            self._add_whole(module, where)
            return
        if value is sys.modules:
            self._add_own_module(where)
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
                self._put("set", *sorted(_alone(item, where, self._depth) for item in value))
            case np.ndarray() if type(value) is np.ndarray:
                self._put("array", str(value.shape), str(value.strides))
                self.add(value.dtype, where)
                if value.dtype.hasobject:
                    self.add(value.ravel().tolist(), where)
                else:
                    self._hash.update(np.ascontiguousarray(value).tobytes())
            case np.dtype():
                self._add_dtype(value, where)
            case types.CodeType():
                self._add_code(value, where)
            case NativeFunction():
                self.add(getattr(value, "__wrapped__", None), where)
            case types.FunctionType():
                self._add_function(value, where)
            case types.MethodType():
                self._add_method(value, where)
            case types.BuiltinFunctionType():
                self._add_builtin(value, where)
            case functools.partial():
                self.add((type(value), value.func, value.args, value.keywords), where)
                self.add(vars(value), where)
            case types.ModuleType():
                self._add_whole(value, where)
            case type():
                self._add_class(value, where)
            case property():
                self.add((type(value), value.fget, value.fset, value.fdel), where)
            case staticmethod() | classmethod():
                self.add((value.__func__, vars(value)), where)
            case functools.cached_property():
                self.add(value.func, where)
            case types.MappingProxyType():
                self.add(dict(value), where)
            case _ if isinstance(value, _NATIVE):
                self._put("native", value.__objclass__.__qualname__, value.__name__)
                self.add(value.__objclass__, where)
            case _:
                self._add_object(value, where)

    def _add_dtype(self, dtype: np.dtype[Any], where: str) -> None:
        self._put("dtype", type(dtype).__qualname__, dtype.str, repr(dtype.names), str(dtype.flags))
        self._put(str(dtype.itemsize), str(dtype.alignment), str(dtype.isalignedstruct))
        self.add(dict(dtype.metadata or {}), where)
        for name in dtype.names or ():
            self.add(dtype.fields and dtype.fields[name], where)
        self.add(dtype.subdtype, where)

    def _add_code(self, code: types.CodeType, where: str) -> None:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = getattr(code, "co_exceptiontable", b"")
        self._put("code", sys.version, code.co_code.hex(), table.hex(), repr(names), repr(numbers))
        for constant in code.co_consts:
            self.add(constant, where)

    def _add_function(self, function: types.FunctionType, where: str) -> None:
        module = module_of(function.__globals__)
        is_own = not (
            module and is_library(module) and is_library_file(function.__code__.co_filename)
        )
        if not is_own:
            assert module is not None
            self._check_library_function(function, module, where)
            self._put("library", module.__name__, version(module), function.__qualname__)
            if _is_at(module, function):
                return
            self._put(function.__code__.co_name, str(function.__code__.co_firstlineno))
            if isinstance(registry := vars(function).get("registry"), types.MappingProxyType):
                # Besides its registry, `singledispatch` keeps a cache of calls.
                self.add(list(registry.items()), where)
                return
        self._put("function")
        if is_own:
            self.add(function.__code__, where)
        self._put(function.__name__, function.__qualname__)
        self.add((function.__defaults__, function.__kwdefaults__, vars(function)), where)
        self._put(_ADDRESS.sub("", repr(_annotations(function))))
        self._annotated.append(function)
        self._functions.append(function)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._put(name)
            try:
                contents = cell.cell_contents
            except ValueError:  # The cell is empty.
                continue
            self.add(contents, f"{where}: {name}")
        if is_own:
            self._add_reached(function, where)
        self._functions.pop()

    def _add_reached(self, function: types.FunctionType, where: str) -> None:
        """Adds the objects that a function's global names refer to, and its imports."""
        code, names = function.__code__, function.__globals__
        self._words.update(code_reach.words(code))
        if not _LOOKING_NAMES.isdisjoint(code_reach.words(code)):
            self._add_own_module(where)
        for name, chain in sorted(set(code_reach.loads(code)) - {("__builtins__", ())}):
            value = names.get(name, vars(builtins).get(name, self))
            self._put(name)
            if isinstance(value, types.ModuleType):
                self._add_chain(value, chain, f"{where}: {name}")
            elif value is not self:
                self.add(value, f"{where}: {name}")
        for imported in sorted(set(code_reach.imports(code))):
            self._add_import(imported, function, where)

    def _add_chain(self, module: types.ModuleType, chain: Iterable[str], where: str) -> None:
        """Adds the object that a chain of attributes refers to, starting from a module."""
        for name in chain:
            is_lib, value = is_library(module), vars(module).get(name, self)
            self._put(module.__name__, name, version(module) if is_lib else "")
            if module.__name__.partition(".")[0] in _LOOKING_UP or value is sys.modules:
                self._add_own_module(where)
                return
            if value is self:
                # The module creates the attribute when it is accessed.
                if not is_lib:
                    self._add_whole(module, where)
                return
            if not isinstance(value, types.ModuleType):
                if not is_lib or _may_be_foreign(value):
                    self.add(value, f"{where}.{name}")
                return
            module = value
        self._add_whole(module, where)

    def _add_import(
        self, imported: code_reach.Import, function: types.FunctionType, where: str
    ) -> None:
        names = function.__globals__
        package = names.get("__package__") or str(names.get("__name__")).rpartition(".")[0]
        try:
            name = importlib.util.resolve_name("." * imported.level + imported.name, package)
            module = importlib.import_module(name)
        except Exception:
            text = (
                f"cache: {where}: the import of {imported.name!r} inside {function.__qualname__} "
                "cannot be followed, so changes to it would go unnoticed. Import it outside the "
                f"function, or {_KEY}"
            )
            raise ValueError(text) from None
        self._put("import", name)
        if is_library(module):
            for attribute in imported.names or ("",):
                self._add_chain(module, (attribute,) if attribute else (), where)
            return
        self._add_whole(module, where)
        for attribute in imported.names:
            if (inner := sys.modules.get(f"{name}.{attribute}")) is not None:
                self._add_whole(inner, where)

    def _add_own_module(self, where: str) -> None:
        """Adds everything that a function can look up by name: its module and its imports."""
        if self._is_ending:
            return
        if not self._functions:
            raise ValueError(
                f"cache: {where} looks up names at run time, so changes to the objects with these "
                f"names would go unnoticed. Call it in a function, or {_KEY}"
            )
        function = self._functions[-1]
        module = module_of(function.__globals__)
        if module is None:
            raise ValueError(
                f"cache: {where}: {function.__qualname__} looks up names at run time, but its "
                "module is not loaded, so changes to the objects with these names would go "
                f"unnoticed. Use the names directly in the code, or {_KEY}"
            )
        self._add_whole(module, where)

    def _add_whole(self, module: types.ModuleType, where: str) -> None:
        """Adds the sources of a module and its imports, or the version of a library."""
        self._put("module", module.__name__)
        if is_library(module):
            if module.__name__.partition(".")[0] in _LOOKING_UP or module is sys:
                self._add_own_module(where)
            self._put(version(module))
            return
        if module.__name__ in self._whole_modules:
            return
        self._whole_modules[module.__name__] = module
        try:
            for name, digest in sources(module):
                self._put(name, digest)
        except (NoSourceError, SyntaxError) as error:
            raise ValueError(
                f"cache: {where}: the source of the module {error} cannot be read, so changes to "
                f"it would go unnoticed. Use single names of the module in the code, or {_KEY}"
            ) from None

    def _check_library_function(
        self, function: types.FunctionType, module: types.ModuleType, where: str
    ) -> None:
        top = module.__name__.partition(".")[0]
        if top in _IMPORTING and function.__name__ in _IMPORTS:
            raise _importing(where, function.__name__)
        if top in _LOOKING_UP:
            self._add_own_module(where)

    def _add_method(self, method: types.MethodType, where: str) -> None:
        module = module_of(getattr(method.__func__, "__globals__", {}))
        if module is not None and is_library(module) and _is_at(module, method, method.__name__):
            # An example is `random.choice`: its object has already drawn numbers.
            self._put("method", module.__name__, method.__name__, version(module))
            return
        self.add((method.__func__, method.__self__), where)

    def _add_builtin(self, function: types.BuiltinFunctionType, where: str) -> None:
        owner = function.__self__
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.add((function.__name__, owner), where)
            return
        module = sys.modules.get(function.__module__ or "")
        self._put("builtin", str(function.__module__), function.__qualname__)
        if module is not None:
            self._put(version(module))
        top = (function.__module__ or "").partition(".")[0]
        if top in _IMPORTING and function.__name__ in _IMPORTS:
            raise _importing(where, function.__name__)
        looks_up = function in _LOOKS_UP or (top in _LOOKING_UP and top != "builtins")
        if looks_up or function is sys._getframe:
            self._add_own_module(where)

    def _add_class(self, kind: type, where: str) -> None:
        # For classes implemented in C, this may be a descriptor instead of a string.
        name = kind.__module__ if isinstance(kind.__module__, str) else "builtins"
        module = sys.modules.get(name)
        self._put("class", name, kind.__qualname__)
        is_lib = module is not None and is_library(module)
        if module is not None and is_lib:
            self._put(version(module))
        self._put(*_registered(kind))
        if not kind.__flags__ & _HEAP_TYPE or (module and _is_at(module, kind) and is_lib):
            return
        if type(kind) is not type:
            self.add(type(kind), where)
        for base in kind.__bases__:
            self.add(base, where)
        self._add_annotations(kind, module, where)
        for name, value in sorted(vars(kind).items()):
            if name in _SILENT or isinstance(value, _NATIVE) or (is_lib and not _is_code(value)):
                continue
            self._put(name)
            self.add(value, f"{where}: {kind.__qualname__}.{name}")

    def _add_annotations_that_are_read(self) -> None:
        while self._annotated and not _READING_ANNOTATIONS.isdisjoint(self._words):
            function = self._annotated.pop()
            module = module_of(function.__globals__)
            self._add_annotations(function, module, function.__qualname__)

    def _add_annotations(
        self, value: type | types.FunctionType, module: types.ModuleType | None, where: str
    ) -> None:
        """Adds annotations, because a program may call them or read what they contain.

        If they cannot be compared, the whole module is added instead.
        """
        annotations = _annotations(value)
        names = {} if module is None else vars(module)
        num_added, depth, functions = len(self._alive), self._depth, list(self._functions)
        try:
            self.add(annotations, where)
            for name in _names_in(annotations):
                self.add(names.get(name, vars(builtins).get(name)), where)
        except ValueError:
            if module is None:
                raise
            # Objects of which only a part was added are not known.
            for added in self._alive[num_added:]:
                del self._numbers[id(added)]
            del self._alive[num_added:]
            self._depth, self._functions = depth, functions
            self._add_whole(module, where)

    def _add_object(self, value: object, where: str) -> None:
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception:
            raise _incomparable(where, value) from None
        self._put("object")
        self.add(type(value), where)
        if isinstance(reduced, str):
            self._add_named(value, reduced, where)
            return
        for part in reduced:
            match part:
                case Iterator():
                    self.add(list(part), where)
                case Mapping():
                    self.add(dict(part), where)
                case _:
                    self.add(part, where)

    def _add_named(self, value: object, name: str, where: str) -> None:
        """Adds an object that is pickled only by its name."""
        self._put(name)
        module = sys.modules.get(pickle.whichmodule(value, name))  # type: ignore[attr-defined]
        if module is not None and is_library(module) and _is_at(module, value, name):
            self._put(module.__name__, version(module))
            return
        state = _state_of(value)
        kind = sys.modules.get(type(value).__module__)
        if kind is not None and is_library(kind) and "__wrapped__" not in state:
            # Only objects such as a TypeVar are known to consist of nothing but their names.
            if kind.__name__ != "typing":
                raise _incomparable(where, value)
            state = {}
        self.add(state, where)


def _alone(value: object, where: str, depth: int) -> str:
    fingerprint = Fingerprint(depth)
    fingerprint.add(value, where)
    return fingerprint.hexdigest()


def _incomparable(where: str, value: object) -> ValueError:
    kind = type(value)
    return ValueError(
        f"cache: {where} is or uses a {kind.__module__}.{kind.__qualname__}. A later run cannot "
        "check whether that object has changed, so it might read outdated examples. Create the "
        f"object inside the function, put the function after the cache, or {_KEY}"
    )


def _importing(where: str, name: str) -> ValueError:
    return ValueError(
        f"cache: {where} calls {name}, which imports a module by name at run time, so changes to "
        f"that module would go unnoticed. Import it at the top of the file, or {_KEY}"
    )


def _is_at(module: types.ModuleType, value: Any, qualname: str | None = None) -> bool:
    """Returns whether a module contains a value under its qualified name."""
    current: object = module
    for name in (value.__qualname__ if qualname is None else qualname).split("."):
        current = inspect.getattr_static(current, name, None)
    if isinstance(current, (staticmethod, classmethod)):
        current = current.__func__
    return current is value


def _may_be_foreign(value: object) -> bool:
    """Returns whether the user's program may have patched this value into a library."""
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType)
    if isinstance(value, type):
        module = sys.modules.get(value.__module__)
        return module is not None and not is_library(module)
    return isinstance(value, types.FunctionType)


def _is_code(value: object) -> bool:
    kinds = (types.FunctionType, staticmethod, classmethod, property)
    return isinstance(value, kinds) or type(value) in _PLAIN


def _state_of(value: object) -> dict[str, Any]:
    """Returns an object's attributes, including those in slots."""
    state = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        for name, slot in vars(kind).items():
            if isinstance(slot, types.MemberDescriptorType) and hasattr(value, name):
                state[name] = getattr(value, name)
    return state


def _annotations(value: type | types.FunctionType) -> dict[str, Any]:
    try:
        annotations = value.__annotations__
    except Exception:  # A class implemented in C has none, and a name in them may be undefined.
        return {}
    # The attribute of a class implemented in C may be that of its objects.
    return dict(annotations) if isinstance(annotations, dict) else {}


def _names_in(annotations: Mapping[str, object]) -> list[str]:
    """Returns the names in annotations that are text."""
    names: list[str] = []
    for text in annotations.values():
        if isinstance(text, str):
            # Some libraries have annotations that aren't Python.
            with contextlib.suppress(SyntaxError, ValueError):
                names += compile(text, "<annotation>", "eval").co_names
    return names


def _registered(kind: type) -> list[str]:
    """Returns the names of the classes that the program has registered with an abstract class."""
    if not isinstance(kind, abc.ABCMeta):
        return []
    classes = filter(None, (reference() for reference in abc._get_dump(kind)[0]))  # type: ignore[attr-defined]
    return sorted(
        f"{one.__module__}.{one.__qualname__}"
        for one in classes
        if (module := sys.modules.get(one.__module__)) is None or not is_library(module)
    )
