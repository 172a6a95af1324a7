"""Makes modules expose TensorFlow's names: `dir` lists them, and other names raise an error."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Any

from headrace.core.exports import late_names
from headrace.tf1.missing import remedy_for

__all__ = ["hide_submodules", "namespace"]

_ROOT = "headrace.tf1"


def namespace(
    module: str, names: Sequence[str], late: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a module.

    Args:
        module: The name of the module.
        names: The names that `dir` lists.
        late: The module of each name that is loaded on first use; see
            `headrace.core.exports.homes`.
    """

    def missing(name: str) -> AttributeError:
        text = f"module {module!r} has no attribute {name!r}"
        remedy = None if name.startswith("__") else remedy_for(_public_name(module, name))
        return AttributeError(text if remedy is None else f"{text}. {remedy}")

    getattr_ = late_names(vars(sys.modules[module]), late or {}, missing)
    return getattr_, lambda: sorted(names)


def hide_submodules(package: str, public: Collection[str]) -> None:
    """Removes a package's submodules from its attributes, so that `hasattr` does not find them.

    The import system binds each loaded module to its package. You can still import them with `from`
    or with full paths.

    Args:
        package: The name of the package.
        public: The names of the submodules to keep.
    """

    def is_hidden(name: str, value: object) -> bool:
        is_inside = isinstance(value, ModuleType) and value.__name__ == f"{package}.{name}"
        return is_inside and name not in public

    class Package(ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            if not is_hidden(name, value):
                super().__setattr__(name, value)

    module = sys.modules[package]
    for name in [name for name, value in vars(module).items() if is_hidden(name, value)]:
        delattr(module, name)
    module.__class__ = Package


def _public_name(module: str, name: str) -> str:
    """Returns the name that a program writes after `tf.`."""
    inside = module.removeprefix(_ROOT).removeprefix(".")
    return f"{inside}.{name}" if inside else name
