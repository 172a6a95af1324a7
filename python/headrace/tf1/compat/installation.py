"""Installs `headrace.tf1` as `tensorflow` in the process, so that programs run unchanged.

A module is created for each path that a program imports. It has no names of its own, but looks them
up in the modules that `paths.py` lists. TensorFlow names and modules that headrace lacks are
stand-ins (`stand_ins.py`). A name that headrace has always takes precedence over a stand-in.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, Literal

from headrace.tf1.compat.names import has_name, is_listed_module, is_module, public_names
from headrace.tf1.compat.paths import PATHS
from headrace.tf1.compat.stand_ins import StandIn

__all__ = ["install"]

_PACKAGE: Final = "headrace.tf1"
_OLD_NAMES: Final = "headrace.tf1.compat.before_1_0"
_ABSORBING: Final = "headrace.tf1.compat.absorbing"
_REMEDY: Final = (
    "TensorFlow 1.15 does not have it either. Import the name from its place in 1.15, or "
    "remove the import if only a model uses it."
)
# The modules in the table, and the packages that contain them.
_PACKAGES: Final = frozenset(
    ".".join(path.split(".")[:size]) for path in PATHS for size in range(1, path.count(".") + 1)
)


def install(
    name: str = "tensorflow",
    before_1_0: bool = False,
    training: Literal["refuse", "absorb"] = "refuse",
) -> ModuleType:
    """Makes `import tensorflow` import headrace. Call this before a program's imports.

    After `import tensorflow as tf`, `tf` has the names of `headrace.tf1`. Paths in
    `tensorflow.python` and `tensorflow.contrib` also work. The change applies to all modules in the
    process. A second call with the same arguments does nothing.

    TensorFlow 1.15 names and modules that headrace lacks, such as layers and optimizers, can be
    imported. When you use them, they raise NotImplementedError with a message that names a
    replacement. Names that don't exist in TensorFlow 1.15 either raise AttributeError and
    ImportError as usual, so `hasattr(tf, ...)` and `try: import ...` behave as in TensorFlow.

    Args:
        name: The module name to install, for example "tensorflow".
        before_1_0: Whether names and argument orders from before TensorFlow 1.0 take precedence
            over 1.15: `tf.pack`, `tf.mul`, `tf.concat(0, values)`, `tf.image_summary`.
        training: How model parts that headrace lacks behave, such as layers, losses and optimizers.
            "refuse": a call raises NotImplementedError. "absorb": a call returns a placeholder, so
            that a whole script can build its graph. A run that depends on a placeholder raises
            UnimplementedError, which lists the calls to replace with their line numbers. Runs that
            fetch only the input succeed.

    Returns:
        The module.

    Raises:
        RuntimeError: If something else is already loaded under this name, such as TensorFlow
            itself.
        ValueError: If `name` is not a module name, or `training` is invalid.
    """
    if not name.isidentifier():
        raise ValueError(f"tf.compat.install: got {name!r}, expected a name such as 'tensorflow'.")
    if training not in ("refuse", "absorb"):
        raise ValueError(
            f"tf.compat.install: got training={training!r}, expected 'refuse' or 'absorb'."
        )
    loaded = sys.modules.get(name)
    options = {"before_1_0": before_1_0, "training": training}
    if isinstance(loaded, _Stand):
        if loaded._finder.options == options:
            return loaded
        raise RuntimeError(
            f"tf.compat.install: {name!r} is already installed with "
            f"{_listed(loaded._finder.options)}, got {_listed(options)}. Call install only "
            "once in each process."
        )
    if loaded is not None:
        raise RuntimeError(
            f"tf.compat.install: {name!r} is already loaded from "
            f"{getattr(loaded, '__file__', None)!r}. Call install before anything imports it, "
            "in a process that does not use TensorFlow."
        )
    sys.meta_path.insert(0, _Finder(name, options))
    return import_module(name)


def _listed(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


class _Finder(MetaPathFinder, Loader):
    """Finds and creates the modules below one root name.

    Attributes:
        root: The root name.
        options: The arguments of `install`.
        stand_in: A function that makes the stand-in for a path.
        replacements: The replacements for headrace's own objects, by `id`, when models are
            absorbed.
    """

    def __init__(self, root: str, options: Mapping[str, object]) -> None:
        self.root: Final = root
        self.options: Final = options
        self.stand_in: Callable[[str, str], StandIn] = StandIn
        self.replacements: Mapping[int, Any] = {}
        self._overlays: Mapping[str, Mapping[str, Any]] = {}
        if options["before_1_0"]:
            self._overlays = import_module(_OLD_NAMES).OVERLAYS
        if options["training"] == "absorb":
            absorbing = import_module(_ABSORBING)
            self.stand_in, self.replacements = absorbing.stand_in, absorbing.REPLACEMENTS

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module below the root, or None for any other module.

        Raises:
            ModuleNotFoundError: If neither headrace nor TensorFlow has the module.
        """
        root, _, inside = fullname.partition(".")
        if root != self.root:
            return None
        inside = _short(inside)
        if self.spaces(inside) is None and not is_module(inside):
            # `name=` is omitted, because `from PARENT import NAME` swallows an error with this
            # name.
            raise ModuleNotFoundError(f"No module named {fullname!r}: {_remedy(fullname)}")
        return ModuleSpec(fullname, self, origin=_PACKAGE, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Creates a module."""
        inside = _short(spec.name.partition(".")[2])
        return _Stand(spec.name, inside, self, self._overlays.get(inside, {}))

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing, because a module looks up its names when they are used."""

    def spaces(self, inside: str) -> list[str] | None:
        """Returns the full names of the modules behind a path, or None if it does not exist."""
        if inside in PATHS:
            return [_full_name(space) for space in PATHS[inside]]
        module: Any = import_module(_PACKAGE)
        if inside and inside.partition(".")[0] not in dir(module):
            # The module exists in headrace, but not in TensorFlow.
            return [] if inside in _PACKAGES else None
        try:
            for part in inside.split(".") if inside else ():
                module = getattr(module, part)
        except AttributeError:
            module = None
        if isinstance(module, ModuleType):
            return [module.__name__]
        return [] if inside in _PACKAGES else None

    def public_spaces(self, inside: str) -> list[str]:
        """Returns the public module for an internal path, if headrace has it.

        For example, the names in `contrib.slim.python.slim.model_analyzer` belong to
        `contrib.slim`.
        """
        first, *rest = inside.split(".")
        if first == "contrib" and len(rest) > 1:
            return self.spaces(f"contrib.{rest[0]}") or []
        return self.spaces("train") or [] if inside.startswith("python.training.") else []


class _Stand(ModuleType):
    """A module that looks up its names in other modules."""

    def __init__(self, name: str, inside: str, finder: _Finder, overlay: Mapping[str, Any]) -> None:
        spaces = finder.spaces(inside) or finder.public_spaces(inside)
        super().__init__(name, f"Names of {', '.join(spaces) or 'modules inside'}, of headrace.")
        self._finder = finder
        self._inside = inside
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
        child = f"{self._inside}.{name}" if self._inside else name
        is_child = self._finder.spaces(_short(child)) is not None or is_listed_module(_short(child))
        if is_child and not self._is_value(name):
            return import_module(f"{self.__name__}.{name}")
        problem = f"module {self.__name__!r} has no attribute {name!r}. {_REMEDY}"
        for space in self._spaces:
            try:
                value = getattr(import_module(space), name)
            except AttributeError as error:
                if not str(error).endswith(f"has no attribute {name!r}"):
                    problem = str(error)  # This error suggests a replacement.
            else:
                return self._finder.replacements.get(id(value), value)
        if has_name(self._inside, name):
            return self._finder.stand_in(self._finder.root, child)
        raise AttributeError(problem)

    def _is_value(self, name: str) -> bool:
        """Returns whether a name is a value in one of the modules behind this one."""
        values = [vars(import_module(space)).get(name) for space in self._spaces]
        return any(item is not None and not isinstance(item, ModuleType) for item in values)

    def _public(self) -> list[str]:
        listed = [getattr(import_module(space), "__all__", ()) for space in self._spaces]
        own = (name for name in vars(self) if not name.startswith("_"))
        names = (name for each in listed for name in each)
        return sorted({*own, *names, *public_names(self._inside)})

    def __dir__(self) -> list[str]:
        return self._public()


def _remedy(fullname: str) -> str:
    """Returns the remedy for a missing module or name: both are imported the same way."""
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


def _short(inside: str) -> str:
    """Removes `compat.v1.` from a path, because that module repeats all names."""
    while inside.startswith("compat.v1."):
        inside = inside.removeprefix("compat.v1.")
    return "" if inside == "compat.v1" else inside
