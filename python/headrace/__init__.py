"""headrace feeds training loops: it turns files into batches on native threads.

`dir(headrace)` lists the public names. A pipeline starts with a source such as `tfrecords`. Native
functions use the operations in `headrace.ops`, errors are in `headrace.errors`, and `import
headrace.tf1 as tf` provides the names of TensorFlow 1. Names are imported when they are first used,
so that commands can handle Ctrl-C before NumPy and the engine are loaded.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headrace import (
        errors,
        hf,
        keras,
        metrics,
        ops,
        pipeline,
        protos,
        records,
        testing,
        tf1,
    )
    from headrace.core.engine import version as __version__
    from headrace.graph import Tensor
    from headrace.io.compression import TFRecordOptions
    from headrace.ledger import Ledger
    from headrace.pipeline import (
        Batches,
        Feature,
        Journal,
        Json,
        Nullable,
        Pipeline,
        Ragged,
        Skipped,
        Spec,
        arrays,
        arrow,
        audio_folder,
        coco,
        concat,
        csv,
        files,
        fixed_length_records,
        image_folder,
        indexed,
        iterable,
        journal,
        json_array,
        json_lines,
        lerobot,
        mix,
        parquet,
        pascal_voc,
        text_lines,
        tfds,
        tfrecords,
        tokens,
        torch_generator,
        video_folder,
        videos,
        webdataset,
        yolo,
        zip,
    )
    from headrace.pipeline.native_functions import chat, native

__all__ = [
    "Batches",
    "Feature",
    "Journal",
    "Json",
    "Ledger",
    "Nullable",
    "Pipeline",
    "Ragged",
    "Skipped",
    "Spec",
    "TFRecordOptions",
    "Tensor",
    "__version__",
    "arrays",
    "arrow",
    "audio_folder",
    "chat",
    "coco",
    "concat",
    "csv",
    "errors",
    "files",
    "fixed_length_records",
    "hf",
    "image_folder",
    "indexed",
    "iterable",
    "journal",
    "json_array",
    "json_lines",
    "keras",
    "lerobot",
    "metrics",
    "mix",
    "native",
    "ops",
    "parquet",
    "pascal_voc",
    "pipeline",
    "protos",
    "records",
    "testing",
    "text_lines",
    "tf1",
    "tfds",
    "tfrecords",
    "tokens",
    "torch_generator",
    "video_folder",
    "videos",
    "webdataset",
    "yolo",
    "zip",
]

_MODULES = frozenset(
    ("errors", "hf", "keras", "metrics", "ops", "pipeline", "protos", "records", "testing", "tf1")
)
# The modules that define names outside `headrace.pipeline`.
_HOMES = {
    "Ledger": "ledger",
    "TFRecordOptions": "io.compression",
    "Tensor": "graph",
    "chat": "pipeline.native_functions",
    "native": "pipeline.native_functions",
}

if not TYPE_CHECKING:  # Hidden from mypy, which still reports unknown names.

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return _import_module("headrace.core.engine").version
        if name in _MODULES:
            return _import_module(f"headrace.{name}")
        if name in __all__:
            return getattr(_import_module(f"headrace.{_HOMES.get(name, 'pipeline')}"), name)
        text = f"module 'headrace' has no attribute {name!r}"
        if not name.startswith("_"):
            other_libraries = _import_module("headrace.pipeline.stages.other_libraries")
            text = f"{text}. {other_libraries.advice_on_function(name, __all__)}"
        raise AttributeError(text)

    def __dir__() -> list[str]:
        return sorted(__all__)
