"""The reference of TensorFlow 1 classes and functions other than operations.

Operations have pages by family (`tools/docs/ops.py`). Constants are in `docs/tf1/supported.md`.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import TypeGuard

from google.protobuf.message import Message
from tools.docs.ops import entry
from tools.docs.supported import spaces
from tools.ops_pages import families, functions

import headrace.tf1 as tf

__all__ = ["tensorflow1_pages"]

# A name is listed on the first page that has its namespace. "" means all remaining names.
PAGES = {
    "tf1/tf.md": ("Graphs, sessions and other names of `tf`", ("tf",)),
    "tf1/train.md": ("Training: `tf.train`", ("tf.train",)),
    "tf1/app.md": (
        "Programs: `tf.app`, `tf.logging`, `tf.gfile`",
        ("tf.app", "tf.logging", "tf.gfile"),
    ),
    "tf1/contrib.md": ("Contributed: `tf.contrib`", ("tf.contrib",)),
    "tf1/other.md": ("Other modules", ("",)),
}


def tensorflow1_pages() -> dict[str, str]:
    """Returns each page's text by name, such as `tf1/train.md`."""
    entries: dict[str, list[str]] = defaultdict(list)
    for written, item in sorted(_names().items()):
        entries[_page_of(written)].append(entry(written, item))
    return {
        page: "\n\n".join([f"# {title}", _OPENING, *entries[page], ""])
        for page, (title, _) in PAGES.items()
    }


_OPENING = (
    "`import headrace.tf1 as tf`. Names that several modules have are under the shortest of them; "
    "the [list of names](../../tf1/supported.md) has all, and constants."
)


def _names() -> dict[str, Callable[..., object]]:
    """Returns all classes and functions other than operations, by their shortest names."""
    operations = {id(item) for rooms in families().values() for _, item in functions(rooms)}
    results: dict[int, tuple[str, Callable[..., object]]] = {}
    for space, names in spaces("tf", tf):
        for name, item in names.items():
            if id(item) not in operations and _is_described(item):
                written = f"{space}.{name}"
                before = results.get(id(item), (written, item))[0]
                results[id(item)] = (min(written, before, key=_rank), item)
    return dict(results.values())


def _is_described(item: object) -> TypeGuard[Callable[..., object]]:
    """Returns whether a name gets an entry. Messages are on the protocol buffers page."""
    is_message = inspect.isclass(item) and issubclass(item, Message)
    is_called = callable(item) and not isinstance(item, (ModuleType, tf.DType))
    return is_called and not is_message and bool(inspect.getdoc(item))


def _rank(written: str) -> tuple[int, str]:
    return written.count("."), written


def _page_of(written: str) -> str:
    space = written.rpartition(".")[0]
    return next(
        page
        for page, (_, inside) in PAGES.items()
        for one in inside
        if not one or space == one or (one != "tf" and space.startswith(f"{one}."))
    )
