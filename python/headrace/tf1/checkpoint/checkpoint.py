"""Saves the state of a session and restores it in another session."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from headrace.core import engine, errors
from headrace.graph import Operation, Role
from headrace.io.atomic_file import replacing
from headrace.tf1.checkpoint.description import check_same, describe, resource_ops
from headrace.tf1.checkpoint.file import CheckpointReader, damaged, write_checkpoint
from headrace.tf1.checkpoint.pause import paused
from headrace.tf1.checkpoint.runners import Runner, running
from headrace.tf1.session import Resource, Session, make_fresh

__all__ = ["restore", "save"]

_Path: TypeAlias = "str | bytes | os.PathLike[str]"


def save(session: Session, path: _Path) -> None:
    """Saves the state of a session to a file. An old file is replaced once the new one is complete.

    The state consists of the session's queue elements, reader positions, variables (including epoch
    counters) and the states of its random number generators. Running queue runners pause between
    two steps and continue afterwards. Nothing is lost, and the results of the program are exactly
    the same as without this call.

    No other thread may run anything in the session during this call. Call it before
    `coord.request_stop()`: a stop drops the elements that the runners hold.

    Args:
        session: The session.
        path: The path of the file.

    Raises:
        FailedPreconditionError: If a stop request cancelled a queue, a thread is waiting on a
            queue, a runner cannot be paused, or a reader is reading from a pipe. The message names
            the cause. The old file is kept.
        NotFoundError: If the directory does not exist, or a reader is reading a file that was
            deleted.
        RuntimeError: If the session is closed.
        TypeError: If `session` is not a session.
    """
    _check_session("save", session)
    with paused(session):
        resources = session.resources.made()
        header = {"graph": describe(session.graph), "resources": [op.name for op in resources]}
        with replacing(path) as file:
            write_checkpoint(file, header, _contents(resources))
            file.sync()


def restore(session: Session, path: _Path) -> None:
    """Restores the state saved from another session.

    The graph must have been built by the same program. Call this function before you start the
    queue runners. Call it after the variable initializers, or instead of them.

    Args:
        session: The session.
        path: The path of the file.

    Raises:
        DataLossError: If the file is damaged. After any error, the session is unchanged.
        FailedPreconditionError: If a queue runner of the session is running. The message names the
            runner.
        InvalidArgumentError: If the checkpoint was saved from a different graph or written by a
            newer version of headrace, or the size of a reader's file has changed. The message names
            the difference.
        NotFoundError: If the file does not exist.
        RuntimeError: If the session is closed.
        TypeError: If `session` is not a session.
    """
    _check_session("restore", session)
    for producer in running(session):
        name = Runner(session, producer).name
        raise errors.FailedPreconditionError(
            None,
            None,
            f"restore: the runner of queue '{name}' is running. Restore before you start the "
            "runners, or after their threads have ended.",
        )
    engine.Prepared.apply_all(_prepare(session, os.fsdecode(path)))


def _check_session(what: str, session: object) -> None:
    if not isinstance(session, Session):
        raise TypeError(f"{what}: session is {session!r}, expected a tf.Session of headrace.tf1.")
    if session.is_closed:
        raise RuntimeError(f"{what}: the session is closed. Call {what} before session.close().")


def _contents(resources: dict[Operation, Resource]) -> Iterator[Iterator[bytes]]:
    for op, resource in resources.items():
        yield _records(op, resource)


def _records(op: Operation, resource: Resource) -> Iterator[bytes]:
    with _errors_of("save", op):
        yield from engine.save_resource(resource)


def _prepare(session: Session, path: str) -> list[engine.Prepared]:
    """Reads a checkpoint for a session's resources, but does not change them yet."""
    reader = CheckpointReader(path)
    graph, names = reader.header.get("graph"), reader.header.get("resources")
    check_same(path, describe(session.graph), graph)
    ops = resource_ops(session.graph)
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise damaged(path)
    if len(set(names)) < len(names) or not ops.keys() >= set(names):
        raise damaged(path)
    resources = {session.resources.resource_of(ops[name]): ops[name] for name in names}
    prepared = [
        _prepare_one(f"restore: {path}", op, resource, reader.resource())
        for resource, op in resources.items()
    ]
    reader.end()
    return prepared + [
        # The resource had not been used when the session was saved.
        _prepare_one("restore", op, resource, engine.save_resource(make_fresh(op)))
        for op, resource in session.resources.made().items()
        if resource not in resources
    ]


def _prepare_one(
    what: str, op: Operation, resource: Resource, records: Iterable[bytes]
) -> engine.Prepared:
    is_variable = op.definition.role is Role.VARIABLE
    code = op.outputs[0].dtype.base_dtype.as_datatype_enum if is_variable else 0
    with _errors_of(what, op):
        return engine.prepare_resource(resource, records, code)


@contextmanager
def _errors_of(what: str, op: Operation) -> Iterator[None]:
    """Adds the failed action and its operation to engine errors in the `with` block."""
    try:
        yield
    except engine.EngineError as error:
        code, message, _, cause = error.args
        failure = engine.EngineError(code, f"{what}: {message}", op.name, cause)
        engine.raise_op_error(failure, op.graph)
