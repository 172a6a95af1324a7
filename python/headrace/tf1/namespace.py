"""Modules with TensorFlow's names: their `dir`, and their error for a wrong name."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from headrace.tf1.missing import remedy_for

__all__ = ["namespace"]

_ROOT = "headrace.tf1"


def namespace(
    module: str, names: Sequence[str], late: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a module.

    Args:
        module: The module's name.
        names: The names that `dir` lists.
        late: For each name that is loaded when it is first used, the module that has it.
    """
    late = late or {}

    def getattr_(name: str) -> Any:
        if name in late:
            return getattr(import_module(late[name]), name)
        text = f"module {module!r} has no attribute {name!r}"
        remedy = None if name.startswith("__") else remedy_for(_public_name(module, name))
        raise AttributeError(text if remedy is None else f"{text}. {remedy}")

    return getattr_, lambda: sorted(names)


def _public_name(module: str, name: str) -> str:
    """Returns the name as a program writes it after `tf.`."""
    inside = module.removeprefix(_ROOT).removeprefix(".")
    return f"{inside}.{name}" if inside else name
