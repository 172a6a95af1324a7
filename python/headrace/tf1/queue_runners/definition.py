"""Queue runner arguments, and definitions that describe a runner by names.

Source: `tf.train.QueueRunnerDef` in TensorFlow 1.15.
"""

from dataclasses import dataclass, field

from headrace.core import errors

__all__ = ["QueueRunnerDef", "add_scope", "check_closed_types", "strip_scope"]


@dataclass
class QueueRunnerDef:
    """A description of a `QueueRunner` by names, so that it can be recreated in another graph.

    Attributes:
        queue_name: The name of the queue.
        enqueue_op_name: The names of the enqueue operations, one per thread.
        close_op_name: The name of the operation that closes the queue.
        cancel_op_name: The name of the operation that closes the queue and cancels waiting calls.
        queue_closed_exception_types: Error codes that mean the end of the input.

    Source: `tf.train.QueueRunnerDef`, with the same field names.
    """

    queue_name: str = ""
    enqueue_op_name: list[str] = field(default_factory=list)
    close_op_name: str = ""
    cancel_op_name: str = ""
    queue_closed_exception_types: list[int] = field(default_factory=list)


def add_scope(name: str, scope: str | None) -> str:
    """Prefixes a name with a scope."""
    return f"{scope.removesuffix('/')}/{name}" if scope else name


def strip_scope(name: str, scope: str | None) -> str:
    """Removes a scope from the beginning of a name. Other names remain unchanged."""
    if not scope:
        return name
    rest = name.removeprefix(scope.removesuffix("/"))
    return rest.lstrip("/") if rest != name and rest.startswith("/") else name


def check_closed_types(types: object) -> tuple[type[errors.OpError], ...]:
    """Returns the error classes that mean the end of the input, or the default for None."""
    if types is None:
        return (errors.OutOfRangeError,)
    is_valid = isinstance(types, tuple) and all(
        isinstance(cls, type) and issubclass(cls, errors.OpError) for cls in types
    )
    if not (is_valid and types):
        # TensorFlow formats with `%`, which unpacks a tuple of one element.
        shown = types[0] if isinstance(types, tuple) and len(types) == 1 else types
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
            f"but saw: {shown}"
        )
    assert isinstance(types, tuple)
    return types
