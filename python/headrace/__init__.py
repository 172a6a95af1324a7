"""headrace feeds training loops: files become batches on native threads.

`dir(headrace)` lists the public names. A pipeline begins with a source such as `tfrecords`.
Operations of native functions are in `headrace.ops`, queues for use without a pipeline in
`headrace.queues`, errors in `headrace.errors`; `import headrace.tf1 as tf` has the names of
TensorFlow 1. Each name is loaded when it is first used, so that a command can handle Ctrl-C before
NumPy and the engine are loaded.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headrace import errors, ops, pipeline, protos, queues, records, testing, tf1
    from headrace.core.engine import version as __version__
    from headrace.graph import Tensor
    from headrace.io.compression import TFRecordOptions
    from headrace.pipeline import (
        Batches,
        Feature,
        Json,
        Nullable,
        Pipeline,
        Ragged,
        Skipped,
        Spec,
        arrays,
        arrow,
        audio_folder,
        concat,
        csv,
        files,
        fixed_length_records,
        image_folder,
        indexed,
        iterable,
        json_lines,
        mix,
        parquet,
        text_lines,
        tfrecords,
        tokens,
        torch_draws,
        webdataset,
        zip,
    )
    from headrace.pipeline.tracing import native

__all__ = [
    "Batches",
    "Feature",
    "Json",
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
    "concat",
    "csv",
    "errors",
    "files",
    "fixed_length_records",
    "image_folder",
    "indexed",
    "iterable",
    "json_lines",
    "mix",
    "native",
    "ops",
    "parquet",
    "pipeline",
    "protos",
    "queues",
    "records",
    "testing",
    "text_lines",
    "tf1",
    "tfrecords",
    "tokens",
    "torch_draws",
    "webdataset",
    "zip",
]

_MODULES = frozenset(("errors", "ops", "pipeline", "protos", "queues", "records", "testing", "tf1"))
# The modules of the names that `headrace.pipeline` does not have.
_HOMES = {
    "TFRecordOptions": "io.compression",
    "Tensor": "graph",
    "native": "pipeline.tracing",
}
# Names that have moved to `headrace.tf1` or `headrace.graph`.
_MOVED = {
    "Coordinator": "tf1.coordinator",
    "DType": "core.dtypes",
    "FileWriter": "tf1.events",
    "Graph": "graph",
    "LooperThread": "tf1.coordinator",
    "Operation": "graph",
    "QueueRunner": "tf1.queue_runners",
    "Saver": "tf1.saver",
    "Session": "tf1.session",
    "TensorShape": "core.shapes",
    "checkpoint": "tf1.checkpoint",
    "dtypes": "core.dtypes",
    "events": "tf1.events",
    "gfile": "tf1.gfile",
    "graph": "graph",
    "input": "tf1.input",
    "runners_of": "tf1.graph_dependencies",
    "saver": "tf1.saver",
    "session": "tf1.session",
    "shapes": "core.shapes",
    "start_runners": "tf1.graph_dependencies",
    "variables_of": "tf1.graph_dependencies",
}

if not TYPE_CHECKING:  # Hidden from mypy, so that it reports wrong names.

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415  (see above)

        if name == "__version__":
            return import_module("headrace.core.engine").version
        if name in _MODULES:
            return import_module(f"headrace.{name}")
        if name in __all__:
            return getattr(import_module(f"headrace.{_HOMES.get(name, 'pipeline')}"), name)
        if name in _MOVED:
            return _moved(import_module(f"headrace.{_MOVED[name]}"), name)
        text = f"module 'headrace' has no attribute {name!r}"
        if not name.startswith("_"):
            other_libraries = import_module("headrace.pipeline.describe.other_libraries")
            text = f"{text}. {other_libraries.advice_on_function(name, __all__)}"
        raise AttributeError(text)

    def _moved(module: object, name: str) -> object:
        from warnings import warn  # noqa: PLC0415  (see above)

        home = module.__name__
        is_module = home.endswith(f".{name}")
        path = home if is_module else f"{home}.{name}"
        text = f"headrace.{name} has moved: use {path}, or what headrace.tf1 has."
        warn(text, DeprecationWarning, stacklevel=3)
        return module if is_module else getattr(module, name)

    def __dir__() -> list[str]:
        return sorted(__all__)
