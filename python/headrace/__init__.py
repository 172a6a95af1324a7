"""headrace feeds training loops: files become batches on native threads.

`dir(headrace)` lists what there is. A pipeline begins with a source such as `tfrecords`.
Operations of graphs are in `headrace.ops`, queues for use without a graph in `headrace.queues`,
errors in `headrace.errors`; `import headrace.tf1 as tf` has the names of TensorFlow 1. Everything
is loaded when it is first used, so that a command can listen to Ctrl-C before NumPy and the engine
are there.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headrace import (
        checkpoint,
        dtypes,
        errors,
        events,
        gfile,
        graph,
        input,
        ops,
        pipeline,
        protos,
        queues,
        records,
        saver,
        session,
        shapes,
        tf1,
    )
    from headrace.compression import TFRecordOptions
    from headrace.coordinator import Coordinator, LooperThread
    from headrace.dtypes import DType
    from headrace.engine import version as __version__
    from headrace.events import FileWriter
    from headrace.graph import Graph, Operation, Tensor
    from headrace.pipeline import (
        Batches,
        Feature,
        Pipeline,
        Ragged,
        Skipped,
        Spec,
        arrays,
        concat,
        csv,
        files,
        fixed_length_records,
        image_folder,
        iterable,
        json_lines,
        mix,
        parquet,
        text_lines,
        tfrecords,
        webdataset,
        zip,
    )
    from headrace.pipeline.tracing import native
    from headrace.queue_runner import QueueRunner
    from headrace.saver import Saver
    from headrace.session import Session
    from headrace.shapes import TensorShape
    from headrace.upstream import runners_of, start_runners, variables_of

__all__ = [
    "Batches",
    "Coordinator",
    "DType",
    "Feature",
    "FileWriter",
    "Graph",
    "LooperThread",
    "Operation",
    "Pipeline",
    "QueueRunner",
    "Ragged",
    "Saver",
    "Session",
    "Skipped",
    "Spec",
    "TFRecordOptions",
    "Tensor",
    "TensorShape",
    "__version__",
    "arrays",
    "checkpoint",
    "concat",
    "csv",
    "dtypes",
    "errors",
    "events",
    "files",
    "fixed_length_records",
    "gfile",
    "graph",
    "image_folder",
    "input",
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
    "runners_of",
    "saver",
    "session",
    "shapes",
    "start_runners",
    "text_lines",
    "tf1",
    "tfrecords",
    "variables_of",
    "webdataset",
    "zip",
]

# For each name that is not a module, the module that has it.
_HOMES = {
    "Batches": "pipeline",
    "Coordinator": "coordinator",
    "DType": "dtypes",
    "Feature": "pipeline",
    "FileWriter": "events",
    "Graph": "graph",
    "LooperThread": "coordinator",
    "Operation": "graph",
    "Pipeline": "pipeline",
    "QueueRunner": "queue_runner",
    "Ragged": "pipeline",
    "Skipped": "pipeline",
    "Saver": "saver",
    "Session": "session",
    "Spec": "pipeline",
    "TFRecordOptions": "compression",
    "Tensor": "graph",
    "TensorShape": "shapes",
    "arrays": "pipeline",
    "concat": "pipeline",
    "csv": "pipeline",
    "files": "pipeline",
    "fixed_length_records": "pipeline",
    "image_folder": "pipeline",
    "iterable": "pipeline",
    "parquet": "pipeline",
    "json_lines": "pipeline",
    "mix": "pipeline",
    "native": "pipeline.tracing",
    "runners_of": "upstream",
    "start_runners": "upstream",
    "text_lines": "pipeline",
    "tfrecords": "pipeline",
    "variables_of": "upstream",
    "webdataset": "pipeline",
    "zip": "pipeline",
}

if not TYPE_CHECKING:  # For mypy a wrong name is an error.

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415  (see above)

        if name == "__version__":
            return import_module("headrace.engine").version
        if name in _HOMES:
            return getattr(import_module(f"headrace.{_HOMES[name]}"), name)
        if name in __all__:
            return import_module(f"headrace.{name}")
        raise AttributeError(
            f"module 'headrace' has no attribute {name!r}, expected one of {', '.join(__all__)}."
        )

    def __dir__() -> list[str]:
        return sorted(__all__)
