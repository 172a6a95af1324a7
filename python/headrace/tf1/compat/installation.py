"""Installs `headrace.tf1` under the name `tensorflow` in the process, for unchanged programs.

A module is created for each path that a program imports. It has no names of its own: it looks them
up in the modules that `paths.py` lists.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from headrace.tf1.compat.paths import PATHS

__all__ = ["install"]

_PACKAGE: Final = "headrace.tf1"
_OLD_NAMES: Final = "headrace.tf1.compat.before_1_0"
_REMEDY: Final = (
    "headrace has what input programs use. Import the name from `headrace.tf1`, or leave the "
    "import out if it is for a model."
)
# Each module in the table, and each package above one.
_PACKAGES: Final = frozenset(
    ".".join(path.split(".")[:size]) for path in PATHS for size in range(1, path.count(".") + 1)
)


def install(name: str = "tensorflow", before_1_0: bool = False) -> ModuleType:
    """Makes `import tensorflow` import headrace. Call it before the imports of a program.

    `import tensorflow as tf` then has the names of `headrace.tf1`, and the paths of
    `tensorflow.python` and `tensorflow.contrib` from which input programs import work, too. All
    modules of the process see it. A second call with the same arguments does nothing.

    Args:
        name: The name to put it under.
        before_1_0: Whether names and argument orders of TensorFlow before 1.0 take precedence over
            those of 1.15: `tf.pack`, `tf.mul`, `tf.concat(0, values)`, `tf.image_summary`.

    Returns:
        The module.

    Raises:
        RuntimeError: If something else is loaded under that name, such as TensorFlow itself.
        ValueError: If it is not a name of a module.
    """
    if not name.isidentifier():
        raise ValueError(f"tf.compat.install: got {name!r}, expected a name such as 'tensorflow'.")
    loaded = sys.modules.get(name)
    if isinstance(loaded, _Stand) and loaded._finder.before_1_0 == before_1_0:
        return loaded
    if isinstance(loaded, _Stand):
        raise RuntimeError(
            f"tf.compat.install: {name!r} is installed with before_1_0={not before_1_0}, got "
            f"before_1_0={before_1_0}. Install it once for each process."
        )
    if loaded is not None:
        raise RuntimeError(
            f"tf.compat.install: {name!r} is loaded already, from "
            f"{getattr(loaded, '__file__', None)!r}. Call install before anything imports it, in a "
            "process that does not use TensorFlow."
        )
    overlays = import_module(_OLD_NAMES).OVERLAYS if before_1_0 else {}
    finder = _Finder(name, before_1_0, overlays)
    sys.meta_path.insert(0, finder)
    return import_module(name)


class _Finder(MetaPathFinder, Loader):
    """Finds and creates the modules under one name."""

    def __init__(
        self, root: str, before_1_0: bool, overlays: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.root = root
        self.before_1_0 = before_1_0
        self._overlays = overlays

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module under the name; None for other modules.

        Raises:
            ModuleNotFoundError: If headrace has no such module.
        """
        root, _, inside = fullname.partition(".")
        if root != self.root:
            return None
        if self.spaces(inside) is None:
            # Without a name: `from PARENT import NAME` drops errors that have the one it looks for.
            raise ModuleNotFoundError(f"No module named {fullname!r}: {_remedy(fullname)}")
        return ModuleSpec(fullname, self, origin=_PACKAGE, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Makes a module."""
        inside = spec.name.partition(".")[2]
        return _Stand(spec.name, self, self.spaces(inside) or [], self._overlays.get(inside, {}))

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: a module looks up its names when they are used."""

    def spaces(self, inside: str) -> list[str] | None:
        """Returns the full names of the modules behind a path; None if there is no such path."""
        if inside in PATHS:
            return [_full_name(space) for space in PATHS[inside]]
        module: Any = import_module(_PACKAGE)
        if inside and inside.partition(".")[0] not in dir(module):
            # A module of the package that has no name of TensorFlow's.
            return [] if inside in _PACKAGES else None
        try:
            for part in inside.split(".") if inside else ():
                module = getattr(module, part)
        except AttributeError:
            module = None
        if isinstance(module, ModuleType):
            return [module.__name__]
        return [] if inside in _PACKAGES else None


class _Stand(ModuleType):
    """A module that looks up its names in other modules."""

    def __init__(
        self, name: str, finder: _Finder, spaces: Sequence[str], overlay: Mapping[str, Any]
    ) -> None:
        super().__init__(name, f"Names of {', '.join(spaces) or 'modules inside'}, of headrace.")
        self._finder = finder
        self._spaces = spaces
        self.__dict__.update(overlay)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._public()
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self._found(name)
        vars(self)[name] = value
        return value

    def _found(self, name: str) -> Any:
        child = f"{self.__name__}.{name}"
        has_child = self._finder.spaces(child.partition(".")[2]) is not None
        if has_child and not self._is_value(name):
            return import_module(child)
        problem = f"module {self.__name__!r} has no attribute {name!r}. {_REMEDY}"
        for space in self._spaces:
            try:
                return getattr(import_module(space), name)
            except AttributeError as error:
                if not str(error).endswith(f"has no attribute {name!r}"):
                    problem = str(error)  # The error says what to use instead.
        raise AttributeError(problem)

    def _is_value(self, name: str) -> bool:
        """Returns whether a name that may be a module is a value in one of its homes."""
        values = [vars(import_module(space)).get(name) for space in self._spaces]
        return any(item is not None and not isinstance(item, ModuleType) for item in values)

    def _public(self) -> list[str]:
        listed = [getattr(import_module(space), "__all__", ()) for space in self._spaces]
        own = (name for name in vars(self) if not name.startswith("_"))
        return sorted({*own, *(name for names in listed for name in names)})

    def __dir__(self) -> list[str]:
        return self._public()


def _remedy(fullname: str) -> str:
    """Returns the remedy for a missing module, or a missing name, since both are imported alike."""
    parent, _, name = fullname.rpartition(".")
    module = sys.modules.get(parent)
    try:
        getattr(module, name)
    except AttributeError as error:
        if isinstance(module, _Stand):
            return f"{error}"
    return _REMEDY


def _full_name(space: str) -> str:
    if space.startswith("headrace."):
        return space
    if space == "errors":
        return f"headrace.core.{space}"
    return f"{_PACKAGE}.{space}" if space else _PACKAGE
