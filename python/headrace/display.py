"""How objects name their package in `repr`, and how texts show URLs.

`headrace` is what a program sees, unless it has imported `headrace.tf1`: its users know `tf`.
"""

import re
from typing import Final

__all__ = ["displayed_name", "set_displayed_package", "without_passwords"]

# As in `without_passwords` of the engine.
_USER: Final = re.compile(r"(?<=://)[^/?#\\\s]*@")

_package: str | None = None


def set_displayed_package(name: str | None) -> None:
    """Sets the package that `repr` shows instead of headrace's modules; None for the modules."""
    global _package  # noqa: PLW0603  (one for the process, as are the classes)
    _package = name


def displayed_name(module: str, name: str) -> str:
    """Returns the dotted name that `repr` shows for something of a module of headrace."""
    return f"{_package or module}.{name}"


def without_passwords(text: str) -> str:
    """Returns a text without users and passwords of URLs in it, as in `https://***@host/name`."""
    return _USER.sub("***@", text) if "://" in text else text
