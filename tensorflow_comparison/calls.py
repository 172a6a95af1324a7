"""Programs of one operation, called with Python's values and with tensors of unknown shape."""

from typing import Any


def known(tf: Any, name: str, *values: Any, **options: Any) -> Any:
    """Calls an operation with Python values, so that the graph knows all shapes.

    Args:
        tf: The library.
        name: The operation's.
        *values: Its tensors; a tuple means a list of tensors.
        **options: What is not a tensor.
    """
    arguments = [list(value) if isinstance(value, tuple) else value for value in values]
    return operation(tf, name)(*arguments, **options)


def unknown(tf: Any, name: str, *values: Any, **options: Any) -> Any:
    """Calls an operation with tensors whose shapes and values are known only in a run."""

    def tensor(value: Any) -> Any:
        return tf.placeholder_with_default(tf.constant(value), None)

    arguments = [
        [tensor(item) for item in value] if isinstance(value, tuple) else tensor(value)
        for value in values
    ]
    return operation(tf, name)(*arguments, **options)


def operation(tf: Any, name: str) -> Any:
    """Finds a function by its name below `tf`."""
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    return function
