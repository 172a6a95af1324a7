"""`native`: the decorator for functions that the engine runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph import Tensor
from headrace.pipeline.functions.native_function import NativeFunction, Use
from headrace.pipeline.native_functions.compiled import CompiledFunction, compiled
from headrace.pipeline.native_functions.trace import trace
from headrace.pipeline.values.column_conversion import check_components
from headrace.pipeline.values.python_values import as_value, spec_of
from headrace.pipeline.values.types import Spec

__all__ = ["native"]


def native(function: Callable[..., Any]) -> NativeFunction:
    """Compiles a function for `map`, `filter` or `flat_map`, to run in the engine without Python.

    When you pass the function to the pipeline, it is called once, with a dict of symbolic tensors.
    The operations that it applies to them (those of `headrace.ops` and Python's operators) are
    recorded. For each example or batch, the recorded operations then run on the engine's threads.
    The function must not print, use the values of tensors or depend on anything that changes.

    Args:
        function: A function that accepts a dict with one tensor per component. For `map`, it
            returns a dict of tensors. For `filter`, it returns a bool scalar. For `flat_map`, it
            returns a dict of tensors whose first axis has one row per new example.

    Returns:
        A function that you can pass to pipelines, or call with a dict of NumPy values.

    Raises:
        TypeError: If `function` is not callable, or is already native.

    Examples:
        >>> @hr.native
        ... def scale(example):
        ...     return {"x": hr.ops.cast(example["x"], np.float32) / 255}
        >>> next(iter(hr.arrays({"x": np.array([0, 255], np.uint8)}).map(scale).batch(2)))
        {'x': array([0., 1.], dtype=float32)}
    """
    if not callable(function):
        raise TypeError(f"native: got {function!r}, expected a function that receives a dict.")
    if isinstance(function, NativeFunction):
        raise TypeError(
            f"native: {function!r} is already native. Remove one of the two @native decorators."
        )
    return _Native(function)


class _Native(NativeFunction):
    """A native function. It is pickled by name, like other functions."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name: str = getattr(function, "__qualname__", type(function).__name__)
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._compiled: dict[object, CompiledFunction] = {}

    def traced(self, use: Use, specs: dict[str, Spec], seed: int | None = None) -> CompiledFunction:
        """Returns the function compiled for these components, and traces it first if necessary."""
        key = use, tuple(specs.items()), seed
        with self._lock:
            function = self._compiled.get(key)
        if function is None:
            function = compiled(trace(use, self._function, self._name, specs, seed))
            with self._lock:
                function = self._compiled.setdefault(key, function)
        return function

    def __call__(self, example: Mapping[str, Any]) -> Any:
        """Runs the function for one example of NumPy values.

        If it is called inside another native function, it becomes part of that function.
        """
        if isinstance(example, Tensor):  # An element of `headrace.ops.each`.
            return self._function(example)
        where = f"native {self._name}"
        components = check_components(where, example)
        if any(isinstance(value, Tensor) for value in components.values()):
            return self._function(example)
        specs = {name: spec_of(where, name, value) for name, value in components.items()}
        inputs = {name: as_value(where, name, value) for name, value in components.items()}
        return self.traced("call", specs).call(inputs)

    def __reduce__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<native function {self._name}>"
