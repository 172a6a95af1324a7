"""Finds where the examples in the steps after a saved state come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.state.find import found_states
from headrace.pipeline import Pipeline

__all__ = ["Origin", "state_in", "steps"]


class Origin(NamedTuple):
    """The record from which an example was made.

    Attributes:
        file: The path of the file. None for examples that do not come from files.
        record: The number of the record in the file, from 0.
        byte: The offset of the record in the uncompressed file. None if it is unknown.
    """

    file: str | None
    record: int
    byte: int | None

    def __str__(self) -> str:
        at_byte = "" if self.byte is None else f", byte {self.byte}"
        return f"{self.file or 'no file'}: record {self.record}{at_byte}"


def state_in(path: str, where: str | None) -> dict[str, Any]:
    """Returns the state in a file.

    Args:
        path: The path of the file, or "-" for stdin.
        where: The keys that lead to the state. None if the file has a single state.

    Raises:
        Failure: If the file contains no state, or `where` is None and it contains several.
    """
    states = found_states(path)
    names = ", ".join(state.where or "the document" for state in states)
    if where is not None:
        states = [state for state in states if state.where == where]
        if not states:
            raise Failure(f"{path}: the file has no state {where}, expected one of {names}.")
    if len(states) > 1:
        raise Failure(
            f"{path}: the file contains several states. Choose one with --where: {names}."
        )
    return states[0].state


def steps(
    pipeline: Pipeline, state: Mapping[str, Any], count: int
) -> Iterator[tuple[int, list[Origin]]]:
    """Yields the number of each step after a state, from 0, and the origins of its examples.

    Args:
        pipeline: The pipeline.
        state: The state.
        count: The maximum number of steps.
    """
    try:
        batches = pipeline.replay(state)
    except ValueError as error:
        raise Failure(str(error)) from error
    with batches:
        for number, _ in zip(range(count), batches, strict=False):
            yield number, [Origin(*origin) for origin in batches.origins()]
