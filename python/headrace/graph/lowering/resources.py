"""The resources of a session, made when first used: queues, readers, generators and more.

A resource belongs to the operation that names it, or to all operations with the same `shared_name`
in the same container.
"""

import itertools
import threading

from headrace.core import engine
from headrace.graph import Operation, SessionResource
from headrace.graph.lowering.creation import Resource, make, make_generator
from headrace.graph.lowering.sharing import check_same

__all__ = ["Resource", "Resources", "make_fresh"]


class Resources:
    """The resources of one session, by operation. May be used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._by_op: dict[Operation, Resource] = {}
        self._shared: dict[tuple[bool, str, str], tuple[Operation, Resource]] = {}
        self._generators: dict[Operation, engine.RandomGenerator] = {}
        self._numbers = itertools.count()

    def get(self, op: Operation) -> Resource:
        """Returns the resource that an operation represents; creates it at the first call.

        Raises:
            InvalidArgumentError: If it cannot be made, or another one shares its name.
        """
        with self._lock:
            resource = self._by_op.get(op)
            if resource is None:
                resource = self._by_op[op] = self._find_or_make(op)
            return resource

    def generator(self, op: Operation) -> engine.RandomGenerator:
        """Returns the random generator of an operation; creates it at the first call."""
        with self._lock:
            generator = self._generators.get(op)
            if generator is None:
                generator = self._generators[op] = make_generator(op)
            return generator

    def resource_of(self, op: Operation) -> Resource:
        """Returns the session's object for an operation; creates it at the first call."""
        return self.generator(op) if op.definition.is_random else self.get(op)

    def made(self) -> dict[Operation, Resource]:
        """Returns all resources so far, each once, by the first operation that it belongs to."""
        with self._lock:
            by_op: dict[Operation, Resource] = {**self._by_op, **self._generators}
        first = {id(resource): op for op, resource in reversed(by_op.items())}
        return {op: resource for op, resource in by_op.items() if first[id(resource)] is op}

    def _find_or_make(self, op: Operation) -> Resource:
        shared_name = op.attrs.get("shared_name")
        if not shared_name:
            return make(op, f"_{next(self._numbers)}_{op.name}")
        # Staging areas have names of their own.
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
    """Returns the resource of an operation, in the state of a session that has not run."""
    if op.definition.is_random:
        return make_generator(op)
    return make(op, op.name)
