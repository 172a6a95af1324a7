"""Checks the arguments that users pass to pipelines."""

import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, Final, SupportsIndex, cast

from headrace.io import storage
from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.functions.iterators import name_of
from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.values.types import Json, Spec

__all__ = [
    "check_bool",
    "check_function",
    "check_key",
    "check_processes",
    "check_remainder",
    "checked_budget",
    "checked_directory",
    "checked_int",
    "checked_ints",
    "checked_names",
    "checked_num_callers",
    "checked_seconds",
    "random_seed",
    "real_number",
]

_REMAINDERS: Final = ("keep", "drop", "pad")
_MAX_COUNT: Final = 2**63 - 1


def checked_budget(budget: object) -> int | float:
    """Returns a number or a fraction of examples to skip. Raises an error for anything else."""
    fraction = real_number(budget)
    if fraction is None:
        raise TypeError(
            f"skip_errors: budget is {budget!r}, expected the number of examples that may be "
            "skipped, or a fraction of them, such as 0.001."
        )
    count = operator.index(budget) if isinstance(budget, SupportsIndex) else None
    if not (0.0 < fraction < 1.0 if count is None else 0 <= count <= _MAX_COUNT):
        raise ValueError(
            f"skip_errors: budget is {budget!r}, expected an int of at least 0, or a float "
            "between 0.0 and 1.0."
        )
    return fraction if count is None else count


def check_function(where: str, function: object, has_seed: bool = False) -> None:
    """Raises TypeError if a function doesn't accept an example (and a generator with a seed)."""
    if not callable(function):
        raise TypeError(f"{where}: got {function!r}, expected a function that receives a dict.")
    if isinstance(function, NativeFunction) or _takes(function, 1 + has_seed):
        return
    name = name_of(function)
    if has_seed and _takes(function, 1):
        text = (
            f"{name} accepts only one argument, but with a seed it is called with two. Write "
            f"{name}(example, rng), where rng is a random generator, or remove the seed."
        )
    elif where != "filter" and not has_seed and _takes(function, 2):
        text = (
            f"{name} has two parameters, but it is called with only one argument, the example. "
            f"Set a seed, such as {where}({name}, seed=7), to get a random generator as the "
            "second one."
        )
    else:
        expected = (
            "two arguments, the example and a random generator"
            if has_seed
            else "one argument, the example"
        )
        text = f"{name} does not accept {expected}. Bind other arguments with functools.partial."
    raise TypeError(f"{where}: {text}")


def check_key(where: str, name: str, spec: Spec, kinds: str = "iub") -> None:
    """Raises ValueError unless a component is a single value that examples can have in common.

    Args:
        where: The argument that names the component, for the message.
        name: The name of the component.
        spec: The component's type and shape.
        kinds: NumPy's letters for the kinds of values that are allowed, besides strings.
    """
    is_key = isinstance(spec.dtype, type) or spec.dtype.kind in kinds
    if spec.shape not in ((), None) or not is_key or spec.dtype is Json:
        raise ValueError(
            f"{where}={name!r} is {spec}, expected a single integer, bool or string per example, "
            "such as the number of an episode."
        )


def _takes(function: Callable[..., object], num_arguments: int) -> bool:
    """Returns False if the function certainly cannot be called with this many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(num_arguments))
    except TypeError:
        return False
    return True


def checked_int(where: str, name: str, value: object, least: int) -> int:
    """Converts any integer type to an int. Raises ValueError if it is below `least`."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        number = operator.index(value)
        if least <= number <= _MAX_COUNT:
            return number
    raise ValueError(f"{where}: {name} is {value!r}, expected an int of at least {least}.")


def real_number(value: object) -> float | None:
    """Converts any type of real number to a float. Returns None for bools and other values.

    A number that is too large becomes infinite.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if cast("Any", value) < 0 else math.inf


def checked_num_callers(
    where: str, function: object, num_threads: object, num_processes: object
) -> tuple[int, int]:
    """Returns the number of threads and of processes that will call a function.

    Raises:
        ValueError: If a number is not an int or out of range, if both are set, or if one is set for
            a native function or a function with a state, which only one thread of this process can
            call.
    """
    threads = checked_int(where, "num_threads", num_threads, 1)
    processes = checked_int(where, "num_processes", num_processes, 0)
    if threads == 1 and processes == 0:
        return threads, processes
    if threads > 1 and processes > 0:
        raise ValueError(
            f"{where}: num_threads is {threads} and num_processes is {processes}, but only one of "
            "them may be set. Each process runs one thread, so use as many processes as there "
            "are cores."
        )
    argument = f"num_processes is {processes}" if processes else f"num_threads is {threads}"
    if isinstance(function, NativeFunction):
        raise ValueError(
            f"{where}: {argument}, but the function is native and already runs on all threads of "
            "the engine. Remove the argument. To change the number of threads, use "
            "options(num_threads=...)."
        )
    if keeps_state(function):
        raise ValueError(
            f"{where}: {argument}, but {name_of(function)} has state, which depends on the order "
            "of calls, so it runs in a single thread of this process. Remove the argument, or "
            "remove the methods state and restore."
        )
    if processes:
        check_processes(where, processes)
    return threads, processes


def check_processes(where: str, num_processes: int) -> None:
    """Raises ValueError if this system does not support worker processes."""
    if not hasattr(os, "fork"):
        raise ValueError(
            f"{where}: num_processes is {num_processes}, but this system cannot fork processes "
            "(only Linux and macOS can). Use num_threads instead."
        )


def check_bool(where: str, name: str, value: object) -> None:
    """Raises TypeError if an argument is not a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{where}: {name} is {value!r}, expected a bool.")


def checked_ints(where: str, name: str, values: object, least: int) -> tuple[int, ...]:
    """Converts integers of any type to ints. Raises an error if one is below `least`."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise TypeError(f"{where}: {name} is {values!r}, expected a list of ints, such as [8, 16].")
    return tuple(checked_int(where, f"a value in {name}", value, least) for value in values)


def checked_names(where: str, names: Iterable[object]) -> tuple[str, ...]:
    """Returns component names. Raises an error if the list is empty or has duplicates."""
    checked: tuple[Any, ...] = tuple(names)
    for name in checked:
        if not isinstance(name, str):
            raise TypeError(
                f"{where}: {name!r} is not the name of a component, expected strings, such as "
                f"{where}('a', 'b')."
            )
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(
            f"{where}: the names are {checked}, expected at least one name and no duplicates."
        )
    return checked


def checked_directory(path: object, name: str = "cache_directory", where: str = "options") -> str:
    """Returns the path of a local directory. Raises an error for anything else."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise TypeError(f"{where}: {name} is {path!r}, expected a str or a pathlib.Path.")
    text = storage.local_path(os.fspath(path))
    if not text or storage.is_remote(text):
        raise ValueError(f"{where}: {name} is {text!r}, expected a directory on this machine.")
    return text


def checked_seconds(name: str, seconds: object, where: str = "options") -> float:
    """Returns a duration in seconds. Raises an error unless it is above 0."""
    number = real_number(seconds)
    if number is None:
        raise TypeError(f"{where}: {name} is {seconds!r}, expected a number of seconds.")
    if not 0 < number < math.inf:
        raise ValueError(f"{where}: {name} is {seconds}, expected a positive number of seconds.")
    return number


def check_remainder(where: str, remainder: object) -> None:
    """Raises ValueError if `remainder` is not "keep", "drop" or "pad"."""
    if remainder not in _REMAINDERS:
        raise ValueError(f"{where}: remainder is {remainder!r}, expected 'keep', 'drop' or 'pad'.")


def random_seed() -> int:
    """Draws a 63-bit seed from the operating system's random number generator."""
    return int.from_bytes(os.urandom(8), "little") >> 1
