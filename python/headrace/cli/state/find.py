"""Finds the states in a JSON file: the whole document, or values within it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.io.os_errors import os_errors
from headrace.pipeline.run.state import check_state

__all__ = ["PipelineState", "found_states"]

_KEYS: Final = {"version", "stages", "place"}
_REMEDY: Final = (
    "Pass a JSON file that contains the result of Batches.state(), alone or inside another value."
)
_BINARY: Final = (
    "this file is not JSON. States in PyTorch or pickle files are not read, because loading such "
    "a file can run code. Print the state with json.dumps, and pass '-' to read it from stdin."
)


class PipelineState(NamedTuple):
    """A state found in a file.

    Attributes:
        where: The keys that lead to the state: "", "data", "ranks[3]".
        state: The complete state.
    """

    where: str
    state: dict[str, Any]


def found_states(path: str) -> list[PipelineState]:
    """Returns the states in a file. "-" means stdin.

    Raises:
        Failure: If the file contains no states, or one is damaged.
        OpError: If the file cannot be read.
    """
    document = _document(path)
    states = [PipelineState(where, state) for where, state in _states(document, "")]
    if not states:
        raise Failure(f"{path}: the file contains no state of an iteration. {_REMEDY}")
    for where, state in states:
        try:
            check_state(state)
        except ValueError as error:
            label = f"{path}: {where}" if where else path
            raise Failure(f"{label}: {str(error).removeprefix('resume: ')}") from error
    return states


def _document(path: str) -> Any:
    if path == "-":
        data = sys.stdin.buffer.read()
    else:
        with os_errors(path), open(path, "rb") as file:
            data = file.read()
    try:
        return json.loads(data)
    except (UnicodeDecodeError, RecursionError) as error:
        raise Failure(f"{path}: {_BINARY}") from error
    except ValueError as error:
        if not data.lstrip().startswith((b"{", b"[")):
            raise Failure(f"{path}: {_BINARY}") from error
        raise Failure(
            f"{path}: the JSON is damaged: {error}. It was cut short or edited. Use another file."
        ) from error


def _states(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        if set(value) >= _KEYS:
            yield where, value
            return
        for key, one in value.items():
            yield from _states(one, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _states(one, f"{where}[{number}]")
