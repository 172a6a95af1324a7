"""Imports the names that a module re-exports lazily, on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["homes", "late_names"]


def homes(names: Mapping[str, str]) -> dict[str, str]:
    """Returns the home of each name, from a table of names by module.

    A home is `module:attribute`, `module` if the attribute has the same name, or `module:` for a
    module itself.

    Args:
        names: The names in each module, separated by spaces. `a=b` means that `a` is the module's
            `b`. The names in "" are modules, written as `a=full.path`.

    Examples:
        >>> homes({"": "p=os.path", "math": "sin pi2=tau"})
        {'p': 'os.path:', 'sin': 'math', 'pi2': 'math:tau'}
    """
    results = {}
    for module, text in names.items():
        for word in text.split():
            name, _, other = word.partition("=")
            if not module:
                results[name] = f"{other}:"
            else:
                results[name] = f"{module}:{other}" if other else module
    return results


def late_names(
    namespace: dict[str, Any],
    name_homes: Mapping[str, str],
    missing: Callable[[str], AttributeError],
) -> Callable[[str], Any]:
    """Returns `__getattr__` for a module that loads names on first use.

    Args:
        namespace: The `globals()` of the module, which keep what was loaded.
        name_homes: The home of each name that is loaded on first use; see `homes`.
        missing: Returns the error for any other name.
    """

    def getattr_(name: str) -> Any:
        if name not in name_homes:
            raise missing(name)
        module, colon, attribute = name_homes[name].partition(":")
        value = import_module(module)
        if not colon or attribute:
            value = getattr(value, attribute or name)
        namespace[name] = value
        return value

    return getattr_
