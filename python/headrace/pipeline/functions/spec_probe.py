"""Calls a function, but reuses its results for the examples used to learn components."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from headrace.core import engine
from headrace.pipeline.functions.cached_probe_results import (
    CachedProbeResults,
    Key,
    copied,
    digest_of,
    key_of,
)
from headrace.pipeline.functions.function_state import kept, restore

__all__ = ["NumberedCalls", "ProbeCalls"]

# After this many blocks without cached results, the search stops. Other threads may process later
# blocks before the first one.
_MOST_MISSED: Final = 1000


class NumberedCalls(Protocol):
    """The calls for the examples of a block, one after the other."""

    @property
    def number(self) -> int:
        """The number of the current example within its block."""


class ProbeCalls:
    """A function's results for the first examples, for one of its threads.

    Args:
        results: The results.
        is_drawn: Whether the function draws random numbers. Its results then depend on the
            position.
        is_learning: Whether to add and keep results. Otherwise, each result is returned once.
    """

    def __init__(self, results: CachedProbeResults, is_drawn: bool, is_learning: bool) -> None:
        self._results = results
        self._is_drawn = is_drawn
        self._is_learning = is_learning
        self._num_missed = 0

    def cached(
        self, function: Callable[..., Any], job: engine.Job, calls: NumberedCalls, gives_many: bool
    ) -> Callable[..., Any]:
        """Returns a function that uses cached results, and otherwise calls the user's function.

        Args:
            function: The user's function.
            job: A block of examples.
            calls: The calls for these examples.
            gives_many: Whether the function returns an iterable, which can be read only once.
        """
        if not self._is_learning and (not self._results or self._num_missed > _MOST_MISSED):
            return function
        keys = self._keys(job)
        if not self._is_learning and not any(key in self._results for key in keys):
            self._num_missed += 1
            return function

        def call(example: dict[str, Any], *draws: "np.random.Generator") -> Any:
            key = keys[calls.number]
            if self._is_learning:
                return self._learn(function, key, example, draws, gives_many)
            if key in self._results:
                result = self._results.pop(key, _digest(function, example))
                if result is not None:
                    return _taken(function, result[0])
            return function(example, *draws)

        return call

    def _keys(self, job: engine.Job) -> list[Key]:
        return [key_of(row_id, self._is_drawn) for row_id in job.row_ids().tolist()]

    def _learn(
        self,
        function: Callable[..., Any],
        key: Key,
        example: dict[str, Any],
        draws: "tuple[np.random.Generator, ...]",
        gives_many: bool,
    ) -> Any:
        digest = _digest(function, example)
        result = self._results.copy_of(key, digest)
        if result is not None:
            return _taken(function, result[0])
        output = function(example, *draws)
        if gives_many:
            if not isinstance(output, Iterable):
                raise TypeError(
                    f"flat_map: the function returned {type(output).__name__}, expected an "
                    "iterable of dicts. Return [example] for one example, and [] for none."
                )
            output = list(map(copied, output))
        after = kept(function)
        self._results.add(key, digest, output if after is None else _ResultWithState(output, after))
        return output


class _ResultWithState(NamedTuple):
    """A function's result and its state after the call."""

    made: Any
    state: str


def _digest(function: object, example: Mapping[str, Any]) -> bytes | None:
    """Returns a digest of a call's input: the example and the function's state."""
    digest, state = digest_of(example), kept(function)
    return digest if digest is None or state is None else digest + state.encode()


def _taken(function: object, result: Any) -> Any:
    """Returns a result, and restores the function's state after the call."""
    if not isinstance(result, _ResultWithState):
        return result
    restore(function, result.state)
    return result.made
