"""Holds one `iterable`'s iterators, for this iteration and later ones."""

import os
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from headrace.pipeline.functions.iterators import (
    AlreadyOpened,
    Examples,
    Factory,
    name_of,
)
from headrace.pipeline.functions.worker_holder import WorkerHolder

__all__ = ["IteratorPool"]


class IteratorPool:
    """The iterators that a factory returned for one source. A copy starts without any iterators.

    Args:
        num_processes: The number of processes that iterate, or 0 to iterate in this process.
    """

    def __init__(self, num_processes: int = 0) -> None:
        self._num_processes: Final = num_processes
        self._holder: Final = WorkerHolder()
        self._lock = threading.Lock()
        self._process = os.getpid()
        # The iterators of the next passes, in order.
        self._looked_at: deque[Examples] = deque()
        self._before = AlreadyOpened()

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return type(self), (self._num_processes,)

    def processes(self, is_looking: bool) -> Any:
        """Returns an object that stops an iteration's processes, or None if there are none.

        Args:
            is_looking: Whether the examples are kept for another iteration.
        """
        if not self._num_processes:
            return None
        # Imported here, because it is needed only for worker processes.
        from headrace.pipeline.workers import remote_iterator  # noqa: PLC0415

        return remote_iterator.IteratorProcesses(is_looking)

    def look(self, factory: Factory, processes: Any = None, number: int = 0) -> Iterator[Any]:
        """Yields the examples of pass `number` of the next iteration, counted from 0."""
        self._forget_others()
        while (num_open := len(self._looked_at)) <= number:
            opened = self._open(factory, processes)
            with self._lock:
                if len(self._looked_at) == num_open:
                    self._looked_at.append(opened)
        looked_at = self._looked_at[number]
        looked_at.watch(processes)
        try:
            yield from looked_at.look()
        except GeneratorExit:
            raise
        except BaseException:
            # This iterator has ended, so the next call creates another one.
            with self._lock:
                while looked_at in self._looked_at:
                    self._looked_at.pop()
            raise

    def take(self, factory: Factory, processes: Any = None) -> Examples:
        """Returns the examples of the next pass. No other iteration receives them."""
        self._forget_others()
        with self._lock:
            opened = self._looked_at.popleft() if self._looked_at else None
        examples = (opened or self._open(factory, processes)).take()
        examples.watch(processes)
        return examples

    def _forget_others(self) -> None:
        """Forgets examples read ahead before a fork, because they belong to the parent process."""
        if self._process != os.getpid():
            self._lock, self._process, self._looked_at = threading.Lock(), os.getpid(), deque()

    def _open(self, factory: Factory, processes: Any) -> Examples:
        where = f"iterable({name_of(factory)})"
        if self._num_processes:
            from headrace.pipeline.workers import remote_iterator  # noqa: PLC0415

            iterator = remote_iterator.RemoteIterator(where, self._num_processes, self._holder)
            if processes is not None:
                processes.begin(iterator)
            iterator.open(factory)
            return Examples(iterator)
        return Examples(self._before.checked(where, factory()))
