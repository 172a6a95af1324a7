"""Decorators for deprecated functions and arguments, which log a warning when they are used.

Source: `tensorflow.python.util.deprecation` in TensorFlow 1.15.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar, cast

from headrace.tf1 import logging
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "deprecated",
    "deprecated_alias",
    "deprecated_arg_values",
    "deprecated_args",
    "deprecated_argument_lookup",
    "silence",
]

_F = TypeVar("_F", bound=Callable[..., Any])

_is_silent: Final[ContextVar[bool]] = ContextVar("is_silent", default=False)


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[_F], _F]:
    """Returns a decorator that logs a warning when the function is called.

    Args:
        date: The removal date, such as "2020-01-31", or None if it has not been decided yet.
        instructions: The advice for the user.
        warn_once: Whether only the first call logs a warning.

    Raises:
        ValueError: If the date has a different format, or `instructions` is empty.
    """
    _check(date, instructions)

    def decorate(function: _F) -> _F:
        warn = _Warning(function, date, instructions, warn_once)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            warn()
            return function(*args, **kwargs)

        return cast(_F, call)

    return decorate


def deprecated_args(
    date: str | None,
    instructions: str,
    *deprecated_arg_names_or_tuples: str | tuple[str, Any],
    warn_once: bool = True,
) -> Callable[[_F], _F]:
    """Returns a decorator that logs a warning when an argument is passed.

    Args:
        date: See `deprecated`.
        instructions: See `deprecated`.
        *deprecated_arg_names_or_tuples: The names of the arguments. If you pass a pair of a name
            and a value, this value does not cause a warning.
        warn_once: Whether each argument causes only one warning.

    Raises:
        ValueError: See `deprecated`. Also raised if no names are given, and by the decorator if the
            function has no such argument.
    """
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    allowed = dict(
        (item, ()) if isinstance(item, str) else (item[0], (item[1],))
        for item in deprecated_arg_names_or_tuples
    )

    def is_deprecated(name: str, value: Any) -> bool:
        return not any(_are_equal(value, good) for good in allowed[name])

    return _with_arguments(date, instructions, warn_once, list(allowed), is_deprecated)


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[_F], _F]:
    """Returns a decorator that logs a warning when an argument has a certain value.

    Args:
        date: See `deprecated`.
        instructions: See `deprecated`.
        warn_once: Whether each argument causes only one warning.
        **deprecated_kwargs: The values that cause a warning, by argument name.

    Raises:
        ValueError: See `deprecated_args`.
    """
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def is_deprecated(name: str, value: Any) -> bool:
        return _are_equal(value, deprecated_kwargs[name])

    return _with_arguments(date, instructions, warn_once, list(deprecated_kwargs), is_deprecated)


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: _F, warn_once: bool = True
) -> _F:
    """Returns a function that logs a warning and calls another function.

    Args:
        deprecated_name: The name that will be removed.
        name: The name to use instead.
        func_or_class: The function or class to call.
        warn_once: Whether only the first call logs a warning.
    """
    warn = _Warning(func_or_class, None, f"Please use {name} instead.", warn_once, deprecated_name)

    @functools.wraps(func_or_class, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        warn()
        return func_or_class(*args, **kwargs)

    return cast(_F, call)


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Returns the value of an argument that also has an old name.

    Raises:
        ValueError: If both names are passed.
    """
    return only_one(new_name, new_value, old_name, old_value)


@contextmanager
def silence() -> Iterator[None]:
    """Suppresses deprecation warnings inside a `with` block, in the current thread."""
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


class _Warning:
    """Logs that a function or an argument is deprecated, optionally only once for each caller."""

    def __init__(
        self,
        function: Callable[..., Any],
        date: str | None,
        instructions: str,
        is_once: bool,
        name: str | None = None,
    ) -> None:
        self._name = name or getattr(function, "__qualname__", repr(function))
        self._module = getattr(function, "__module__", "?")
        self._end = "in a future version" if date is None else f"after {date}"
        self._instructions = instructions
        self._is_once = is_once
        self._logged: set[str] = set()

    def __call__(self, what: str = "") -> None:
        if _is_silent.get() or (self._is_once and what in self._logged):
            return
        self._logged.add(what)
        logging.warning(
            "%s%s (from %s) is deprecated and will be removed %s.\nInstructions for updating:\n%s",
            *(what, self._name, self._module, self._end, self._instructions),
            stacklevel=3,
        )


def _with_arguments(
    date: str | None,
    instructions: str,
    warn_once: bool,
    names: list[str],
    is_deprecated: Callable[[str, Any], bool],
) -> Callable[[_F], _F]:
    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)
        takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        missing = [name for name in names if name not in signature.parameters]
        if missing and not takes_any:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: "
                f"{missing}. Arguments: {list(signature.parameters)}."
            )
        warn = _Warning(function, date, instructions, warn_once)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs).arguments
            named = {**bound, **kwargs}
            for name in names:
                if name in named and is_deprecated(name, named[name]):
                    warn(f"the argument {name} of ")
            return function(*args, **kwargs)

        return cast(_F, call)

    return decorate


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.fullmatch(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _are_equal(value: Any, other: Any) -> bool:
    """Returns whether two values are equal. An array or tensor is equal only to itself."""
    is_plain = isinstance(value, (bool, int, float, str, bytes, type(None)))
    return value is other or (is_plain and type(value) is type(other) and value == other)
