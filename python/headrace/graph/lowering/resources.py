"""A session's resources (queues, readers, generators and so on), created on first use.

A resource belongs to one operation, or to all operations with the same `shared_name` in the same
container.
"""

import itertools
import threading

from headrace.core import engine
from headrace.graph import Operation, SessionResource
from headrace.graph.lowering.creation import Resource, make, make_generator
from headrace.graph.lowering.sharing import check_same

__all__ = ["Resource", "Resources", "make_fresh"]


class Resources:
    """The resources of a session, by operation. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._by_op: dict[Operation, Resource] = {}
        self._shared: dict[tuple[bool, str, str], tuple[Operation, Resource]] = {}
        self._generators: dict[Operation, engine.RandomGenerator] = {}
        self._numbers = itertools.count()

    def get(self, op: Operation) -> Resource:
        """Returns the resource that an operation represents. The first call creates it.

        Raises:
            InvalidArgumentError: If the resource cannot be created, or a different resource already
                has the same name.
        """
        with self._lock:
            resource = self._by_op.get(op)
            if resource is None:
                resource = self._by_op[op] = self._find_or_make(op)
            return resource

    def generator(self, op: Operation) -> engine.RandomGenerator:
        """Returns an operation's random generator. The first call creates it."""
        with self._lock:
            generator = self._generators.get(op)
            if generator is None:
                generator = self._generators[op] = make_generator(op)
            return generator

    def resource_of(self, op: Operation) -> Resource:
        """Returns the session's object for an operation. The first call creates it."""
        return self.generator(op) if op.definition.is_random else self.get(op)

    def made(self) -> dict[Operation, Resource]:
        """Returns all resources created so far, keyed by the first operation that uses each one."""
        with self._lock:
            by_op: dict[Operation, Resource] = {**self._by_op, **self._generators}
        first = {id(resource): op for op, resource in reversed(by_op.items())}
        return {op: resource for op, resource in by_op.items() if first[id(resource)] is op}

    def _find_or_make(self, op: Operation) -> Resource:
        shared_name = op.attrs.get("shared_name")
        if not shared_name:
            return make(op, f"_{next(self._numbers)}_{op.name}")
        # Staging areas have a separate namespace.
        is_area = op.definition.kept is SessionResource.STAGING_AREA
        key = (is_area, op.attrs.get("container", ""), shared_name)
        if key in self._shared:
            existing, resource = self._shared[key]
            check_same(existing, op, shared_name)
            return resource
        resource = make(op, shared_name)
        self._shared[key] = (op, resource)
        return resource


def make_fresh(op: Operation) -> Resource:
    """Creates the resource of an operation in its initial state, as in a new session."""
    if op.definition.is_random:
        return make_generator(op)
    return make(op, op.name)
