"""Determines the public names of modules that re-export other modules' names."""

from collections.abc import Collection, Mapping
from types import ModuleType

__all__ = ["public_names"]


def public_names(names: Mapping[str, object], modules: Collection[str] = ()) -> list[str]:
    """Returns the public names of a module, sorted.

    These are all names without a leading underscore, except modules and `TYPE_CHECKING`.

    Args:
        names: The `globals()` of the module.
        modules: The names of modules that are public.
    """
    return sorted(
        name
        for name, value in names.items()
        if name in modules or not (name.startswith("_") or isinstance(value, ModuleType))
        if name != "TYPE_CHECKING"
    )
