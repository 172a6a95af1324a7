"""Detects Python functions that draw from random generators shared by the whole process.

Such a function runs in a thread alongside the training loop, so timing affects its random numbers
and the loop's. Only the first calls are checked.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

__all__ = ["GlobalDraws"]

# The number of calls to check. At least two must draw, because the loop may draw at the same time.
_MOST_CALLS: Final = 8
_LEAST_DRAWING: Final = 2

_T = TypeVar("_T")
_log: Final = logging.getLogger("headrace.pipeline")
_named: Final[set[tuple[str, str]]] = set()


class GlobalDraws:
    """Watches a function's first calls, and warns once if they draw random numbers.

    Args:
        where: The stage and the function, for messages.
        is_worker: Whether this is a worker process.
    """

    def __init__(self, where: str, is_worker: bool = False) -> None:
        self._where: Final = where
        self._is_worker: Final = is_worker
        self._num_left = _MOST_CALLS
        self._drawn: dict[str, int] = {}

    def watching(self, call: Callable[[dict[str, Any]], _T]) -> Callable[[dict[str, Any]], _T]:
        """Returns a watched call, or the call itself once enough calls have been watched."""
        return call if self._num_left <= 0 else lambda example: self._watched(call, example)

    def _watched(self, call: Callable[[dict[str, Any]], _T], example: dict[str, Any]) -> _T:
        if self._num_left <= 0:
            return call(example)
        self._num_left -= 1
        before = dict(_states())
        result = call(example)
        for name, state in _states():
            if name in before and before[name] != state:
                self._drawn[name] = self._drawn.get(name, 0) + 1
                if self._drawn[name] == _LEAST_DRAWING:
                    _warn(self._where, name, self._is_worker)
        return result


def _warn(where: str, generator: str, is_worker: bool) -> None:
    if (where, generator) in _named:
        return
    _named.add((where, generator))
    drawn = (
        "The training loop may use the same generator at the same time, so the numbers change from "
        "run to run"
    )
    if is_worker:
        drawn = "Each worker process has its own copy of it, so the numbers change from run to run"
    _log.warning(
        "%s: the function uses the global random generator of %s. %s, and they are not repeated "
        "after a resume. Use the generator that map(f, seed=7) passes as the second argument: "
        "f(example, rng). For PyTorch functions, wrap the call in hr.torch_generator(rng). For "
        "torchvision and albumentations, see "
        "https://github.com/headrace/headrace/blob/main/docs/guides/transform/libraries.md",
        where,
        generator,
        drawn,
    )


def _states() -> Iterator[tuple[str, object]]:
    """Yields the states of the shared generators in all imported modules."""
    if (random := sys.modules.get("random")) is not None:
        yield "random", random.getstate()
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        kind, keys, *rest = numpy_random.get_state()
        yield "numpy.random", (kind, keys.tobytes(), *rest)
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_rng_state"):
        yield "torch", torch.get_rng_state().numpy().tobytes()
