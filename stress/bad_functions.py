"""Python functions for pipelines that raise errors or return invalid values."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

__all__ = ["RAISES", "RESULTS", "Faulty"]

Function = Callable[[Any], Any]


class Mistake(Exception):
    """A user's exception, with arguments that are not text."""


class Exit(BaseException):
    """An error that `except Exception` does not catch."""


class Mute(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Unsure:
    """An object that cannot be converted to a bool."""

    def __bool__(self) -> bool:
        raise ValueError("neither")


class Faulty:
    """A function that fails at a given example.

    Args:
        moment: The number of the example.
        number_of: Returns the number of an example.
        good: The function for all other examples.
        fault: The function for the failing example.
    """

    def __init__(self, moment: int, number_of: Function, good: Function, fault: Function) -> None:
        self._moment = moment
        self._number_of = number_of
        self._good = good
        self._fault = fault
        self.num_faults = 0
        self.__qualname__ = "faulty"

    def __call__(self, example: Any) -> Any:
        """Calls `good` or `fault`."""
        if self._number_of(example) != self._moment:
            return self._good(example)
        self.num_faults += 1
        return self._fault(example)


def _raiser(error: Callable[[], BaseException]) -> Function:
    def fail(example: Any) -> NoReturn:
        raise error()

    return fail


def _exit_thread(example: Any) -> NoReturn:
    sys.exit("the thread ends")


def _endless(example: Any) -> Any:
    return _endless(example)


RAISES: dict[str, tuple[Function, type[BaseException]]] = {
    "ValueError": (_raiser(lambda: ValueError("bad")), ValueError),
    "own error": (_raiser(lambda: Mistake(1, [2])), Mistake),
    "no text": (_raiser(Mute), Mute),
    "OSError": (_raiser(lambda: OSError(5, "Input/output error")), OSError),
    "MemoryError": (_raiser(MemoryError), MemoryError),
    "RecursionError": (_endless, RecursionError),
    "BaseException": (_raiser(lambda: Exit("out")), Exit),
    "sys.exit": (_exit_thread, SystemExit),
    "KeyboardInterrupt": (_raiser(KeyboardInterrupt), KeyboardInterrupt),
    "GeneratorExit": (_raiser(GeneratorExit), GeneratorExit),
    "CancelledError": (_raiser(asyncio.CancelledError), asyncio.CancelledError),
    "StopIteration": (_raiser(StopIteration), RuntimeError),
    "StopAsyncIteration": (_raiser(StopAsyncIteration), StopAsyncIteration),
    "BrokenBarrierError": (_raiser(threading.BrokenBarrierError), threading.BrokenBarrierError),
    "ExceptionGroup": (_raiser(lambda: ExceptionGroup("many", [KeyError(1)])), ExceptionGroup),
}


def _returns(value: Any) -> Function:
    return lambda example: value


def _interrupted(example: Any) -> Iterator[Any]:
    yield {"n": 1}
    raise Mistake("in the middle")


# Values that are not examples, which a function of `map` returns or a function of `flat_map`
# yields.
NO_EXAMPLES: dict[str, Function] = {
    "None": _returns(None),
    "a number": _returns(3),
    "a text": _returns("text"),
    "a list": _returns([1]),
    "nothing in it": _returns({}),
    "another name": _returns({"m": 1}),
    "one more": _returns({"n": 1, "m": 1}),
    "None in it": _returns({"n": None}),
    "text in it": _returns({"n": "text"}),
    "bytes in it": _returns({"n": b"text"}),
    "float in it": _returns({"n": 0.5}),
    "complex in it": _returns({"n": 1j}),
    "an object in it": _returns({"n": object()}),
    "ragged lists in it": _returns({"n": [[1], [1, 2]]}),
    "too large": _returns({"n": 2**70}),
    "a date in it": _returns({"n": np.datetime64("2020-01-01")}),
    "records in it": _returns({"n": np.zeros((), "i4,f4")}),
    "numbers as names": _returns({1: 2}),
    "a dict in it": _returns({"n": {"n": 1}}),
    "a set in it": _returns({"n": {1, 2}}),
    "another shape": _returns({"n": np.zeros(3, np.int64)}),
    "no elements": _returns({"n": np.zeros(0, np.int64)}),
    "more axes": _returns({"n": np.zeros((2, 2), np.int64)}),
}
RESULTS: dict[str, dict[str, Function]] = {
    "map": NO_EXAMPLES,
    "iterable": NO_EXAMPLES,
    "flat_map": {
        **{
            f"[{name}]": lambda example, value=value: [value(example)]  # type: ignore[misc]
            for name, value in NO_EXAMPLES.items()
        },
        "None": _returns(None),
        "a number": _returns(3),
        "a text": _returns("text"),
        "a generator that raises": _interrupted,
    },
    "filter": {
        "neither true nor false": _returns(Unsure()),
        "several truths": _returns(np.array([True, False])),
    },
}
