"""Python functions that keep a state of their own, such as a count of their calls."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace import engine

__all__ = ["keeps_state", "kept", "restore", "unchanged"]


def keeps_state(function: object) -> bool:
    """Returns whether a function, or an iterator, has the methods `state` and `restore`."""
    return _method(function, "state") is not None and _method(function, "restore") is not None


def kept(function: object) -> str | None:
    """Returns the state of a function, as text of JSON; None if it keeps none."""
    return json.dumps(function.state()) if keeps_state(function) else None  # type: ignore[attr-defined]


def restore(function: object, job: engine.Job) -> None:
    """Gives a function the state that it has before a block, if it is not the one it has.

    Raises:
        TypeError: If it keeps none, though the one of this name did that the state is of.
    """
    if job.state is None:
        return
    if not keeps_state(function):
        raise TypeError(
            "resume: the function has kept a state, but has no methods state() and restore(state) "
            "any more. Resume with the same function."
        )
    function.restore(json.loads(job.state))  # type: ignore[attr-defined]


@contextmanager
def unchanged(function: object) -> Iterator[None]:
    """Lets a function be called without an effect on its state."""
    before = kept(function)
    try:
        yield
    finally:
        if before is not None:
            function.restore(json.loads(before))  # type: ignore[attr-defined]


def _method(function: object, name: str) -> Callable[..., object] | None:
    method = getattr(function, name, None)
    return method if callable(method) else None
