"""Deletes the journal files that no later iteration needs."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from headrace.core.errors import NotFoundError
from headrace.io.os_errors import os_errors
from headrace.pipeline.journals.directory import JournalDirectory
from headrace.pipeline.journals.order import OrderLog, Start

__all__ = ["delete_before", "position_of", "state_text"]


def state_text(journal: str, start: Start, first: int) -> str:
    """Returns a position as text, for the state of an iteration.

    Args:
        journal: The journal's number.
        start: The position of a line of the order of arrival.
        first: The number of the first example of that line.
    """
    return json.dumps({"journal": journal, "file": start.file, "at": start.offset, "first": first})


def position_of(journal: str, text: str) -> tuple[Start, int] | None:
    """Returns the position in a result of `state_text`, or None if the text is something else."""
    try:
        content = json.loads(text)
        if content["journal"] == journal:
            return Start(content["file"], content["at"]), content["first"]
    except (ValueError, KeyError, TypeError):
        pass
    return None


def _first_position(files: JournalDirectory, journal: str, state: Mapping[str, Any]) -> Start:
    """Returns the first position in the journal from which a state continues."""
    texts = _texts(state.get("place")) if isinstance(state, Mapping) else ()
    positions = [
        position[0] for text in texts if (position := position_of(journal, text)) is not None
    ]
    if not positions:
        raise ValueError(
            f"delete_before: the state has no position in the journal {files.path}. Pass a state "
            "that batches.state() has returned after the first batch of this journal."
        )
    return min(positions)


def _texts(value: object) -> Iterator[str]:
    """Yields all strings of a nested list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def delete_before(files: JournalDirectory, states: Sequence[Mapping[str, Any]]) -> int:
    """Deletes files that resuming from the states does not need; see `Journal.delete_before`."""
    description = files.description()
    if description is None:
        raise NotFoundError(
            None, None, f"{files.path}: there is no journal in this directory. Check the path."
        )
    first_needed = min(_first_position(files, description.number, state) for state in states)
    log = OrderLog(files, description.number)
    log.open(first_needed.file)
    first = log.read()
    log.close()
    assert first is not None
    content = first.content
    pending = {(run[0], run[1]) for run in (*content["pending"], *content["mentioned"])}
    paths = [files.order(number) for number in files.orders() if number < first.start.file]
    for writer, segment in files.segments():
        if writer >= content["writers"] or (writer, segment) in pending:
            continue
        cursor = content["cursors"].get(str(writer))
        if cursor is None or segment < cursor[0]:
            paths.append(files.segment(writer, segment))
    # The last writer's number must not be reused.
    ended = [
        writer
        for writer in files.writers()[:-1]
        if writer < content["writers"] and str(writer) not in content["cursors"]
    ]
    paths += map(files.writer_lock, ended)
    num_bytes = 0
    for path in paths:
        # Another process may have deleted it already.
        with os_errors(path), suppress(FileNotFoundError):
            num_bytes += os.path.getsize(path)
            os.unlink(path)
    return num_bytes
