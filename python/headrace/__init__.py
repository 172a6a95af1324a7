"""headrace feeds training loops: queues, readers and batches on native threads, without TensorFlow.

`import headrace.tf1 as tf` has the names of TensorFlow 1. Everything is loaded when it is first
used, so that a command can listen to Ctrl-C before NumPy and the engine are there.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headrace import errors
    from headrace.engine import version as __version__

__all__ = ["__version__", "errors"]


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415 (see above)

    if name == "__version__":
        return import_module("headrace.engine").version
    if name == "errors":
        return import_module("headrace.errors")
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
