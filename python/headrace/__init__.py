"""headrace feeds training loops: queues, readers and batches on native threads, without TensorFlow.

`dir(headrace)` lists what there is. Operations are in `headrace.ops`, queues for use without a
graph in `headrace.queues`, errors in `headrace.errors`; `import headrace.tf1 as tf` has the names
of TensorFlow 1. Everything is loaded when it is first used, so that a command can listen to Ctrl-C
before NumPy and the engine are there.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headrace import (
        dtypes,
        errors,
        events,
        gfile,
        graph,
        input,
        ops,
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
    from headrace.queue_runner import QueueRunner
    from headrace.saver import Saver
    from headrace.session import Session
    from headrace.shapes import TensorShape
    from headrace.upstream import runners_of, start_runners, variables_of

__all__ = [
    "Coordinator",
    "DType",
    "FileWriter",
    "Graph",
    "LooperThread",
    "Operation",
    "QueueRunner",
    "Saver",
    "Session",
    "TFRecordOptions",
    "Tensor",
    "TensorShape",
    "__version__",
    "dtypes",
    "errors",
    "events",
    "gfile",
    "graph",
    "input",
    "ops",
    "protos",
    "queues",
    "records",
    "runners_of",
    "saver",
    "session",
    "shapes",
    "start_runners",
    "tf1",
    "variables_of",
]

# For each name that is not a module, the module that has it.
_HOMES = {
    "Coordinator": "coordinator",
    "DType": "dtypes",
    "FileWriter": "events",
    "Graph": "graph",
    "LooperThread": "coordinator",
    "Operation": "graph",
    "QueueRunner": "queue_runner",
    "Saver": "saver",
    "Session": "session",
    "TFRecordOptions": "compression",
    "Tensor": "graph",
    "TensorShape": "shapes",
    "runners_of": "upstream",
    "start_runners": "upstream",
    "variables_of": "upstream",
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
