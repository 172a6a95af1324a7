"""Programs with one operation, called with Python values and with tensors of unknown shape."""

from typing import Any


def known(tf: Any, name: str, *values: Any, **options: Any) -> Any:
    """Calls an operation with Python values, so that the graph knows all shapes.

    Args:
        tf: The library.
        name: The name of the operation.
        *values: Its tensors; a tuple means a list of tensors.
        **options: Its other arguments.
    """
    arguments = [list(value) if isinstance(value, tuple) else value for value in values]
    return operation(tf, name)(*arguments, **options)


def unknown(tf: Any, name: str, *values: Any, **options: Any) -> Any:
    """Calls an operation with tensors whose shapes and values are only known at run time."""

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
