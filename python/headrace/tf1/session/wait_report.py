"""Reports the open sessions and their queues in `headrace.testing.dump_waits`."""

from collections.abc import Iterator

from headrace.core import engine
from headrace.core.wait_registry import Section
from headrace.tf1.session.session import Session, open_sessions

__all__ = ["session_sections"]


def session_sections() -> list[Section]:
    """Returns a section for each open session."""
    return [lambda session=session: _lines(session) for session in open_sessions()]  # type: ignore[misc]


def _lines(session: Session) -> Iterator[str]:
    """Yields the lines about the queues of a session."""
    queues = {
        op: resource
        for op, resource in session.resources.made().items()
        if isinstance(resource, engine.Queue)
    }
    yield f"session {id(session):#x}, {len(queues)} queues"
    for op, queue in queues.items():
        stats = queue.stats()
        size = "" if stats["capacity"] is None else f" of {stats['capacity']}"
        runners = [runner.progress_in(session).value for runner in session.runners.of_queue(op)]
        yield (
            f"queue '{op.name}': {stats['size']}{size} elements, "
            f"{'closed' if stats['is_closed'] else 'open'}, {stats['num_waiting_enqueues']} "
            f"enqueues and {stats['num_waiting_dequeues']} dequeues are waiting; "
            + (f"of its runner, {' and '.join(runners)}" if runners else "it has no runner")
        )
