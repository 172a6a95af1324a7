"""Modules in disk cache keys: libraries by version, the user's modules by source."""

import ast
import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headrace.core import engine

__all__ = ["NoSourceError", "is_library", "is_library_file", "module_of", "sources", "version"]

_OWN: Final = os.path.dirname(os.path.dirname(os.path.realpath(engine.__file__))) + os.sep


class NoSourceError(Exception):
    """The error for a user's module without a source file."""


@functools.cache
def _directories() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the directories of the standard library and of installed packages."""
    paths = sysconfig.get_paths()
    kinds = (("stdlib", "platstdlib"), ("purelib", "platlib"))
    standard, installed = (
        tuple(os.path.realpath(paths[name]) + os.sep for name in names) for names in kinds
    )
    return standard, (*installed, _OWN)


@functools.lru_cache(maxsize=10_000)
def is_library_file(path: str) -> bool:
    """Returns whether a file belongs to an installed package or to Python itself."""
    if path.startswith("<frozen "):
        return True
    standard, installed = _directories()
    return os.path.realpath(path).startswith((*standard, *installed))


def is_library(module: types.ModuleType) -> bool:
    """Returns whether a module is installed, rather than part of the user's program."""
    file = getattr(module, "__file__", None)
    if file is not None:
        return is_library_file(file)
    path = getattr(module, "__path__", None)
    if path is not None:  # A namespace package.
        return all(map(is_library_file, (os.path.join(part, "") for part in path)))
    return module.__name__ in sys.builtin_module_names or (
        getattr(getattr(module, "__spec__", None), "origin", None) == "frozen"
    )


def module_of(names: Mapping[str, Any]) -> types.ModuleType | None:
    """Returns the module with these global names, or None if it is not loaded."""
    name = names.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module if module is not None and vars(module) is names else None


def version(module: types.ModuleType) -> str:
    """Returns a string that changes when an installed module changes."""
    return _version(module.__name__.partition(".")[0], getattr(module, "__file__", None))


@functools.cache
def _version(top: str, file: str | None) -> str:
    if top == "headrace":
        return engine.version
    standard, installed = _directories()
    if file is None or not os.path.realpath(file).startswith(installed):
        if file is None or os.path.realpath(file).startswith(standard):
            return sys.version
        return f"{top} {_digest(file)}"
    # Loading this is slow, so it is loaded only for a key that depends on a library.
    from importlib import metadata  # noqa: PLC0415

    try:
        distribution = metadata.distribution(top)
    except metadata.PackageNotFoundError:
        loaded = getattr(sys.modules.get(top), "__version__", "")
        return f"{loaded} {_digest(file)}"
    # The list of files includes their hashes and thus reveals a different build of the same
    # version.
    record = distribution.read_text("RECORD") or ""
    return f"{distribution.version} {hashlib.sha256(record.encode()).hexdigest()}"


def sources(module: types.ModuleType) -> Iterator[tuple[str, str]]:
    """Yields the modules that a user's module imports, directly or indirectly.

    Yields:
        The name of each module, with the digest of its source or the version of its library.

    Raises:
        NoSourceError: If one of them has no source file.
    """
    waiting = {module.__name__: _Module.of(module)}
    seen: dict[str, str] = {}
    while waiting:
        name, loaded = waiting.popitem()
        if name in seen:
            continue
        seen[name] = loaded.digest()
        waiting.update({name: other for name, other in loaded.imported() if name not in seen})
    yield from sorted(seen.items())


class _Module:
    """A module that is loaded or can be imported."""

    def __init__(self, name: str, file: str | None, path: Any, module: Any = None) -> None:
        self._name = name
        self._file = file
        self._path = path
        self._module = module
        self._is_library = is_library(module) if module else file is None or is_library_file(file)

    @classmethod
    def of(cls, module: types.ModuleType) -> "_Module":
        path = getattr(module, "__path__", None)
        return cls(module.__name__, getattr(module, "__file__", None), path, module)

    def digest(self) -> str:
        if self._is_library:
            return version(self._module) if self._module else _version(self._top, self._file)
        if self._file is not None:
            return _digest(self._file)
        if self._path is not None:
            return "a namespace package"
        raise NoSourceError(self._name)

    @property
    def _top(self) -> str:
        return self._name.partition(".")[0]

    def imported(self) -> Iterator[tuple[str, "_Module"]]:
        if self._is_library:
            return
        names = dict.fromkeys(self._names())
        for name in names:
            module = _find(name)
            if module is not None:
                yield name, module

    def _names(self) -> Iterator[str]:
        """Yields the names of modules, and of some attributes of modules."""
        if self._file is not None and self._file.endswith(".py"):
            package = self._name if self._path is not None else self._name.rpartition(".")[0]
            yield from _imports(self._file, package)
        for value in list(vars(self._module).values()) if self._module else ():
            if isinstance(value, types.ModuleType):
                yield value.__name__
            elif isinstance(name := getattr(value, "__module__", None), str):
                yield name


def _find(name: str) -> _Module | None:
    """Returns a module without importing it, or None if it does not exist."""
    module = sys.modules.get(name)
    if isinstance(module, types.ModuleType):
        return _Module.of(module)
    path = None
    parent = name.rpartition(".")[0]
    if parent:
        package = _find(parent)
        if package is None or package._path is None:
            return None
        path = package._path
    try:
        spec = importlib.machinery.PathFinder.find_spec(name, path)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    return _Module(name, spec.origin, spec.submodule_search_locations)


def _imports(path: str, package: str) -> Iterator[str]:
    """Yields the names in a file's import statements, with their packages."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            try:
                start = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            names = [start, *(f"{start}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise NoSourceError(path) from None
