"""Pipelines that end in every way."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

Example = dict[str, Any]
Held = Callable[[object], None]
"""Is told of each object that nobody must hold afterwards."""


class WantedError(Exception):
    """An intentional error."""


def make(path: Path, number: int, function: Callable[[Example], Example]) -> hr.Pipeline:
    """Returns a pipeline of one of several kinds over 64 examples, with a Python function."""
    match number % 4:
        case 0:
            source = hr.tfrecords(path).parse({"n": int})
        case 1:
            source = hr.arrays({"n": np.arange(64)})
        case 2:
            source = hr.iterable(lambda: ({"n": n} for n in range(64)))
        case _:
            source = hr.tfrecords(path).parse({"n": int}).map(hr.native(_doubled))
    if number % 3 == 0:
        source = source.shuffle(window=16, seed=number)
    return source.map(function).batch(8)


def end(way: str, path: Path, number: int, held: Held) -> None:
    """Creates a pipeline and ends it in a given way."""
    state = _State(way)

    def function(example: Example) -> Example:
        return state.work(example)

    pipe = make(path, number, function)
    held(function)
    held(state)
    try:
        _iterate(way, pipe, held)
    except (WantedError, KeyboardInterrupt, hr.errors.OpError) as error:
        if not _is_wanted(way, error):
            raise
    else:
        if way in _RAISING:
            raise AssertionError(f"{way}: nothing was raised")


class _State:
    """An object that the Python function refers to."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._num_calls = 0

    def work(self, example: Example) -> Example:
        self._num_calls += 1
        # The first call only determines the components.
        if self._num_calls == 20:
            if self._way == "exception in a Python function":
                raise WantedError
            if self._way == "Ctrl-C during a wait":
                os.kill(os.getpid(), signal.SIGINT)
        return {"n": example["n"] + 1}


def _iterate(way: str, pipe: hr.Pipeline, held: Held) -> None:
    match way:
        case "to the end" | "exception in a Python function" | "Ctrl-C during a wait":
            batches = iter(pipe)
            held(batches)
            for _ in batches:
                pass
        case "break" | "exception in the loop" | "Ctrl-C in the loop":
            for _ in _held(pipe, held):
                if way == "exception in the loop":
                    raise WantedError
                if way == "Ctrl-C in the loop":
                    signal.raise_signal(signal.SIGINT)
                break
        case "close":
            batches = iter(pipe)
            held(batches)
            next(batches)
            batches.close()
        case "a with block":
            with iter(pipe) as batches:
                held(batches)
                next(batches)
        case "garbage collection":
            batches = iter(pipe)
            held(batches)
            next(batches)
            circle: list[object] = [batches]
            circle.append(circle)
        case "never begun":
            held(iter(pipe))
        case _:
            raise ValueError(f"there is no way {way}")


def _held(pipe: hr.Pipeline, held: Held) -> Iterator[Any]:
    batches = iter(pipe)
    held(batches)
    return batches


def _doubled(example: Any) -> Any:
    return {"n": example["n"] * 2}


def _is_wanted(way: str, error: BaseException) -> bool:
    return isinstance(error, _RAISING.get(way, ()))


_RAISING: dict[str, type[BaseException]] = {
    "exception in the loop": WantedError,
    "exception in a Python function": WantedError,
    "Ctrl-C in the loop": KeyboardInterrupt,
    "Ctrl-C during a wait": KeyboardInterrupt,
}

WAYS = (
    "to the end",
    "break",
    "exception in the loop",
    "exception in a Python function",
    "Ctrl-C in the loop",
    "Ctrl-C during a wait",
    "close",
    "a with block",
    "garbage collection",
    "never begun",
)
