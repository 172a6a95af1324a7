"""TensorFlow 1.15's names and modules.

`names_1_15.txt` lists the names, with one paragraph per module. For example, `train:` lists a
module's public names, `python.ops/:` the modules inside a package, and `python.keras.layers/*:` the
modules of a package that also has other names. `tf:` lists the names of `tensorflow` itself. For
`tensorflow.contrib`, only the first level is listed.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["has_name", "is_listed_module", "is_module", "public_names"]

# The modules below these have too many names, which moved with every release.
_OPEN: Final = ("contrib.", "core.", "examples.", "python.", "compat.v2", "raw_ops")
# The modules below these have moved, too.
_OPEN_PACKAGES: Final = ("contrib.", "compat.v2")


def is_module(path: str) -> bool:
    """Returns whether a path after `tensorflow.` can be a TensorFlow 1.15 module.

    Below `contrib`, only the first part of the path is checked.
    """
    if path.startswith(_OPEN_PACKAGES):
        return ".".join(path.split(".")[:2]) in _modules()
    return is_listed_module(path)


def is_listed_module(path: str) -> bool:
    """Returns whether a path after `tensorflow.` is in the list of modules."""
    return path in _modules()


def has_name(module: str, name: str) -> bool:
    """Returns whether a TensorFlow 1.15 module can have a name.

    Args:
        module: The path of the module after `tensorflow.`. "" for `tensorflow` itself.
        name: The name.
    """
    if name.startswith("__"):
        return False
    path = f"{module}.{name}" if module else name
    if name in public_names(module) or is_listed_module(path):
        return True
    return module.startswith(_OPEN) and module not in _closed()


def public_names(module: str) -> frozenset[str]:
    """Returns a module's public names, given its path after `tensorflow.`. Empty if unlisted."""
    return _sections().get(module or "tf", frozenset())


@cache
def _sections() -> dict[str, frozenset[str]]:
    text = files("headrace.tf1.compat").joinpath("names_1_15.txt").read_text("utf-8")
    paragraphs = re.split(r"\n(?! )", text.strip())
    heads = (paragraph.partition(":") for paragraph in paragraphs)
    return {head: frozenset(names.split()) for head, _, names in heads}


@cache
def _closed() -> frozenset[str]:
    """The packages that contain only modules."""
    return frozenset(head[:-1] for head in _sections() if head.endswith("/"))


@cache
def _modules() -> frozenset[str]:
    found = {"compat.v2", "raw_ops"}
    for head, names in _sections().items():
        path, is_package, _ = head.partition("/")
        found.add(path)
        found |= {f"{path}.{name}" for name in names if is_package}
    return frozenset(found)
