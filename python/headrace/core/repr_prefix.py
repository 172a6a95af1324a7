"""Formats text for people: package names in `repr`, and names, data and URLs in messages.

The package name is `headrace`, or `tf` once the program has imported `headrace.tf1`.
"""

import os
import re
from typing import Final

__all__ = [
    "displayed_name",
    "printable",
    "printable_lines",
    "set_displayed_package",
    "without_passwords",
]

# `re` compiles a pattern on first use and caches it. Keep these patterns in sync with the engine's
# `without_passwords`.
_USER: Final = r"(?<=://)[^/?#\\\s]*@"
_QUERY: Final = r"(://[^'\"<>|\\`\s?]*\?)([^'\"<>|\\`\s]*)"
_SECRET: Final = (
    r"(?i)((?:^|[&#])(?:sig|[^=&#]*(?:signature|token|key|secret|pass|pwd|cred|auth|policy)[^=&#]*)=)"
    r"[^&#]*?(?=[:;,.)\]]*(?:[&#]|$))"
)
# Control, bidirectional, line-ending and zero-width characters, and lone surrogates.
_HIDDEN: Final = (
    "\\0-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f"
    "\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff"
)
_UNPRINTABLE: Final = f"[{_HIDDEN}]"
_UNPRINTABLE_IN_LINES: Final = rf"(?![\n\t])[{_HIDDEN}]"

_package: str | None = None


def set_displayed_package(name: str | None) -> None:
    """Sets the package name that `repr` shows for all modules, or None to show the modules."""
    global _package  # noqa: PLW0603  (one for the process, as are the classes)
    _package = name


def displayed_name(module: str, name: str) -> str:
    """Returns the dotted name that `repr` shows for an object of a headrace module."""
    return f"{_package or module}.{name}"


def without_passwords(text: str) -> str:
    """Removes users, passwords and signatures from URLs in text.

    For example, a URL becomes `https://***@host/name?X-Amz-Signature=***`.
    """
    if "://" not in text:
        return text
    text = re.sub(_QUERY, lambda query: query[1] + re.sub(_SECRET, r"\1***", query[2]), text)
    return re.sub(_USER, "***@", text)


def printable(name: "str | bytes | os.PathLike[str]") -> str:
    """Returns a name as shown in messages.

    Control characters and invisible characters are escaped, and secrets in URLs are hidden.
    """
    return re.sub(_UNPRINTABLE, _escaped, without_passwords(os.fsdecode(name)))


def printable_lines(text: str) -> str:
    """Escapes a message's characters as `printable` does, except line feeds and tabs."""
    return re.sub(_UNPRINTABLE_IN_LINES, _escaped, text)


def _escaped(match: re.Match[str]) -> str:
    letter = match[0]
    # A surrogate represents one byte of a name that is not valid UTF-8.
    if "\udc80" <= letter <= "\udcff":
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape", "surrogatepass").decode()
