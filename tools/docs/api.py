"""The reference pages and their public names.

mkdocstrings renders each name's docstring. A public name that is missing from all pages is an
error, so new names cannot be forgotten.
"""

import inspect
from collections.abc import Collection
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from tools.docs.ops import operation_pages
from tools.docs.tensorflow1 import tensorflow1_pages

import headrace
import headrace.protos
import headrace.tf1.protos

__all__ = ["api_pages"]

# For each page: its title, a sentence, and its names. A module stands for all of its names.
PAGES = {
    "sources.md": (
        "Sources",
        "Where the examples of a pipeline come from.",
        [
            "tfrecords",
            "tfds",
            "lerobot",
            "text_lines",
            "csv",
            "json_array",
            "json_lines",
            "image_folder",
            "audio_folder",
            "video_folder",
            "videos",
            "coco",
            "yolo",
            "pascal_voc",
            "webdataset",
            "parquet",
            "arrow",
            "tokens",
            "fixed_length_records",
            "files",
            "arrays",
            "indexed",
            "iterable",
            "journal",
            "concat",
            "mix",
            "zip",
        ],
    ),
    "journal.md": ("Journal", "A queue on disk that `journal` reads.", ["Journal"]),
    "pipeline.md": (
        "Pipeline",
        "What is done with the examples. Each method returns a new pipeline.",
        ["Pipeline", "native", "chat", "torch_generator"],
    ),
    "views.md": (
        "Views",
        "What `show`, `progress`, `stats` and `profile` of a pipeline return.",
        [
            "pipeline.Examples",
            "pipeline.Progress",
            "pipeline.ValueStatistics",
            "pipeline.ComponentStatistics",
            "pipeline.Profile",
        ],
    ),
    "batches.md": (
        "Batches",
        "One iteration over a pipeline, and what it tells.",
        ["Batches", "Skipped", "pipeline.Statistics", "pipeline.StageStatistics"],
    ),
    "components.md": (
        "Components",
        "What the components of examples are.",
        ["Feature", "Json", "Nullable", "Ragged", "Spec"],
    ),
    "records.md": (
        "Records",
        "TFRecord files, written and read without a pipeline.",
        ["records", "TFRecordOptions"],
    ),
    "testing.md": (
        "Testing",
        "Checks for your own tests, and what a program waits for that hangs.",
        ["testing"],
    ),
    "hf.md": ("Hugging Face", "Pipelines in transformers' Trainer.", ["hf"]),
    "keras.md": (
        "Keras",
        "Pipelines, directories and time series in `fit` of Keras 3, and exact resume.",
        ["keras"],
    ),
    "monitoring.md": (
        "Ledgers and metrics",
        "Which data a run saw, and how fast it is.",
        ["Ledger", "metrics"],
    ),
    "errors.md": ("Errors", "The classes of errors, which are those of TensorFlow 1.", ["errors"]),
    "tf1/queues.md": ("Queues", "Queues for arrays and ordinary threads.", ["tf1.queues"]),
    "tf1/checkpoint.md": (
        "Checkpoints",
        "What a session holds, saved and restored.",
        ["tf1.checkpoint"],
    ),
}
# The names in `headrace.ray`, by module. The package cannot be imported without Ray.
RAY = {
    "serve": "feed",
    "Feed": "feed",
    "FeedBatches": "batches",
    "FeedStatistics": "batches",
    "from_dataset": "datasets",
}
_TYPES = dict(FieldDescriptorProto.Type.items())
# Modules whose names are listed above, or on the pages of operations or TensorFlow 1.
ELSEWHERE = {"ops", "pipeline", "protos", "tf1", "Tensor", "__version__"}


def api_pages() -> dict[str, str]:
    """Returns each page's text by name."""
    on_pages = {name for _, _, names in PAGES.values() for name in names}
    of_pipeline = {f"pipeline.{name}" for name in headrace.pipeline.__all__} - {
        f"pipeline.{name}" for name in headrace.__all__
    }
    forgotten = (set(headrace.__all__) | of_pipeline) - on_pages - ELSEWHERE
    if forgotten:
        raise SystemExit(f"tools/docs/api.py: {sorted(forgotten)} are on no page of the reference.")
    pages = {page: _page(*content) for page, content in PAGES.items()}
    return {
        "index.md": _contents(),
        "ray.md": _ray(),
        "torch.md": _torch(),
        "torchtitan.md": _torchtitan(),
        "protos.md": _protos(headrace.protos),
        "tf1/protos.md": _protos(headrace.tf1.protos),
        **operation_pages(),
        **tensorflow1_pages(),
        **pages,
    }


def _ray() -> str:
    parts = ["# Ray", "Readers on other machines: `import headrace.ray`, of the extra `ray`."]
    for name, module in RAY.items():
        options = f"      heading: headrace.ray.{name}\n      toc_label: {name}"
        parts.append(f"::: headrace.ray.{module}.{name}\n    options:\n{options}")
    return "\n\n".join(parts)


def _torch() -> str:
    options = "    options:\n      heading: headrace.torch.DataLoader\n      toc_label: DataLoader"
    return "\n\n".join(
        [
            "# PyTorch",
            "A drop-in for PyTorch's own loader: `from headrace.torch import DataLoader`.",
            f"::: headrace.torch.data_loader.DataLoader\n{options}",
        ]
    )


def _torchtitan() -> str:
    options = (
        "    options:\n      heading: headrace.torchtitan.DataLoader\n      toc_label: DataLoader"
    )
    return "\n\n".join(
        [
            "# torchtitan",
            "Pipelines in torchtitan: `import headrace.torchtitan`.",
            f"::: headrace.torchtitan.DataLoader\n{options}",
        ]
    )


def _protos(module: ModuleType) -> str:
    """Returns the messages with their fields, which are the arguments of their classes."""
    names = module.__all__
    parts = [
        "# Protocol buffers",
        f"Messages of files: `from {module.__name__} import {names[0]}`. Each is a class of the "
        "package `protobuf`, whose arguments by name are the fields.",
    ]
    for name in names:
        message = getattr(module, name).DESCRIPTOR
        fields = [f"| `{field.name}` | {_type_of(field, names)} |" for field in message.fields]
        parts += [f"## {name}", "\n".join(["| field | type |", "|---|---|", *fields])]
    return "\n\n".join(parts)


def _type_of(field: Any, linked: Collection[str]) -> str:
    """Returns a field's type, with a link if it is a message on the same page."""
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        key, value = inner.fields
        return f"map of {_type_of(key, linked)} to {_type_of(value, linked)}"
    kinds = {number: name[5:].lower() for name, number in _TYPES.items()}
    one = inner.name if inner is not None else kinds[field.type]
    if inner is not None and inner.name in linked:
        one = f"[{one}](#{one.lower()})"
    return f"list of {one}" if field.is_repeated else one


def _page(title: str, sentence: str, names: list[str]) -> str:
    return "\n\n".join(
        [
            f"# {title}",
            sentence,
            *(_directive(*entry) for name in names for entry in _entries(name)),
        ]
    )


def _entries(name: str) -> list[tuple[str, object]]:
    """Returns (public name, object) pairs: one for a name, or one for each name in a module."""
    item = _resolve(name)
    if not isinstance(item, ModuleType):
        return [(name, item)]
    members = [(f"{name}.{member}", getattr(item, member)) for member in item.__all__]
    return [(written, member) for written, member in members if hasattr(member, "__qualname__")]


def _resolve(name: str) -> object:
    return resolve_name(f"headrace.{name}")


def _directive(name: str, item: object) -> str:
    """Returns the directive that mkdocstrings replaces with a name's docstring."""
    path = f"{item.__module__}.{item.__qualname__}"  # type: ignore[attr-defined]
    return "\n".join(
        [
            f"::: {path}",
            "    options:",
            f"      heading: {_shown(name)}",
            f"      toc_label: {name.rpartition('.')[2]}",
            f"      merge_init_into_class: {str(_is_constructed(item)).lower()}",
            f"      inherited_members: {str(_is_in_parts(item)).lower()}",
        ]
    )


def _shown(name: str) -> str:
    return f"hr.{name}"


def _is_constructed(item: object) -> bool:
    """Returns whether programs call the class, so that its docstring has an Args section."""
    return inspect.isclass(item) and "Args:" in (inspect.getdoc(item) or "")


def _is_in_parts(item: object) -> bool:
    """Returns whether a class inherits its methods from private classes."""
    return item in (headrace.Pipeline, headrace.Batches)


def _contents() -> str:
    lines = ["# Reference", "", "Public names, from their docstrings: `import headrace as hr`.", ""]
    lines += ["## [Operations](ops/index.md)", "", "`hr.ops`, for native functions.", ""]
    lines += ["## [PyTorch](torch.md)", "", "`headrace.torch`: a drop-in `DataLoader`.", ""]
    lines += ["## [torchtitan](torchtitan.md)", "", "`headrace.torchtitan`: its `DataLoader`.", ""]
    lines += ["## [Ray](ray.md)", "", "`headrace.ray`: readers on other machines.", ""]
    lines += ["## [Protocol buffers](protos.md)", "", "`headrace.protos`: messages of files.", ""]
    lines += ["## [TensorFlow 1](tf1/tf.md)", "", "`headrace.tf1`, but for operations.", ""]
    for page, (title, sentence, names) in PAGES.items():
        lines += [f"## [{title}]({page})", "", sentence, "", "| name | what it is |", "|---|---|"]
        for name in names:
            for written, item in _entries(name):
                path = f"{item.__module__}.{item.__qualname__}"  # type: ignore[attr-defined]
                lines.append(f"| [`{_shown(written)}`]({page}#{path}) | {_first_line(item)} |")
        lines.append("")
    return "\n".join(lines)


def _first_line(item: object) -> str:
    text = (inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ")
    return text.replace("|", "\\|")
