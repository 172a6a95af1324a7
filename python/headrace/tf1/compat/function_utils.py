"""Inspects the arguments, names and code of functions.

Source: `tensorflow.python.util.function_utils` in TensorFlow 1.15.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["fn_args", "get_func_code", "get_func_name", "has_kwargs"]


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of a function's positional arguments, without the `self` of a method.

    Args:
        fn: A function, a method, an object with `__call__`, or a `functools.partial`. Arguments
            that a `partial` binds are omitted.
    """
    if isinstance(fn, functools.partial):
        rest = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in rest if name not in fn.keywords)
    function = _called(fn)
    names = inspect.getfullargspec(function).args
    return tuple(names[1:] if inspect.ismethod(function) else names)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Returns whether a function accepts arbitrary keyword arguments.

    Raises:
        TypeError: If `fn` is not callable.
    """
    function = fn.func if isinstance(fn, functools.partial) else fn
    if not callable(function):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return inspect.getfullargspec(_called(function)).varkw is not None


def get_func_name(func: Callable[..., Any]) -> str:
    """Returns the name of a function, `Class.method` for a method, or the object's class name.

    Raises:
        ValueError: If `func` is not callable.
    """
    if not callable(func):
        raise ValueError(f"Argument must be callable, got {func!r}")
    if inspect.isfunction(func):
        return func.__name__
    if inspect.ismethod(func):
        return f"{type(func.__self__).__name__}.{func.__func__.__name__}"
    return str(type(func))


def get_func_code(func: Callable[..., Any]) -> Any:
    """Returns the code object of a function, or None if it is not written in Python.

    Raises:
        ValueError: If `func` is not callable.
    """
    if not callable(func):
        raise ValueError(f"Argument must be callable, got {func!r}")
    return getattr(_called(func), "__code__", None)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the `__call__` of an object. Returns functions and methods unchanged."""
    method = getattr(function, "__call__", None)  # noqa: B004
    return method if inspect.ismethod(method) else function
