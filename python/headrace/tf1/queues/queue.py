"""The common base class of all kinds of queues."""

import sys
from collections.abc import Callable, Iterator
from operator import index
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex

from headrace.core import engine, errors
from headrace.tf1.queues.signature import ElementLike, Signature
from headrace.tf1.queues.statistics import QueueStatistics

__all__ = ["Queue"]


class Queue:
    """A bounded buffer of elements between threads.

    An element is a tuple of components, and each component is an array with a fixed dtype. Many
    threads can use a queue at once. Blocked calls are served strictly in the order in which they
    arrived, and do not hold the GIL. Enqueued arrays are copied. Dequeued arrays belong to you, and
    you can modify them.

    A failed call loses no elements. A failed dequeue puts its elements back, at the front if the
    queue keeps an order. Elements that `enqueue_many` has already added stay in the queue. The
    error contains their number in its message, or in a note if it is a KeyboardInterrupt.

    If you use a queue as a context manager, it is closed at the end of the block, and waiting
    enqueues are cancelled.

    Don't create a `Queue` directly. Use one of its subclasses.
    """

    def __init__(
        self, capacity: int, signature: Signature, order: str | engine.ShuffleOrder
    ) -> None:
        capacity = as_integer(capacity, signature.queue, "capacity")
        self._signature = signature
        self._has_names = signature.names is not None
        self._capacity = capacity if capacity >= 0 else None
        shapes = signature.shapes
        try:
            self._native = engine.Queue(
                signature.queue,
                self._capacity,
                [dtype.as_datatype_enum for dtype in signature.dtypes],
                None if shapes is None else [shape.as_list() for shape in shapes],
                order,
            )
        except engine.EngineError as error:
            self._raise(error)

    @property
    def name(self) -> str:
        """The name of the queue in messages."""
        return self._signature.queue

    @property
    def capacity(self) -> int | None:
        """The maximum number of elements, or None for no limit."""
        return self._capacity

    @property
    def is_closed(self) -> bool:
        """Whether the queue was closed, so that nothing more can be enqueued."""
        return self._native.is_closed()

    @property
    def stats(self) -> QueueStatistics:
        """The current statistics of the queue."""
        return QueueStatistics(**self._native.stats())

    def size(self) -> int:
        """Returns the number of elements in the queue, excluding elements that a dequeue holds."""
        return self._native.size()

    def enqueue(self, element: ElementLike, timeout: float | None = None) -> None:
        """Adds an element. Blocks while the queue is full.

        Args:
            element: A list or tuple of the components, or a dict if the queue has names. Any other
                value is the only component. Arrays must have the dtypes of the queue.
            timeout: The time in seconds to wait for room. If 0, the call does not wait. If None, it
                waits forever.

        Raises:
            CancelledError: If the queue is closed, or is closed with cancellation during the call.
            DeadlineExceededError: If there was no room in time. The error is also a `TimeoutError`.
            InvalidArgumentError: If the components do not have the dtypes and shapes of the queue.
            ValueError: If `timeout` is negative.
        """
        try:
            if self._has_names or not self._native.enqueue(element, timeout):
                self._convert(self._native.enqueue, element, timeout, is_batch=False)
        except engine.EngineError as error:
            self._raise(error)

    def enqueue_many(self, batch: ElementLike, timeout: float | None = None) -> None:
        """Adds the rows of a batch one after the other, as room becomes available.

        Args:
            batch: Like `element` in `enqueue`, but each component has an additional first dimension
                over elements. The batch may have more elements than the queue has room for.
            timeout: The time in seconds to wait until all elements are added; see `enqueue`.

        Raises:
            CancelledError: See `enqueue`. Elements added before the error stay in the queue.
            DeadlineExceededError: If not all elements could be added in time. Elements added before
                the error stay in the queue.
            InvalidArgumentError: See `enqueue`. Also raised if the lengths of the components
                differ.
            ValueError: If `timeout` is negative.
        """
        try:
            if self._has_names or not self._native.enqueue_many(batch, timeout):
                self._convert(self._native.enqueue_many, batch, timeout, is_batch=True)
        except engine.EngineError as error:
            self._raise(error)

    def dequeue(self, timeout: float | None = None) -> Any:
        """Takes an element. Blocks while the queue is empty.

        Args:
            timeout: The time in seconds to wait. If 0, the call does not wait. If None, it waits
                forever.

        Returns:
            The component if there is only one, a list if there are several, or a dict if the queue
            has names. A component is an array, or a NumPy scalar or `bytes` if it has no
            dimensions.

        Raises:
            DeadlineExceededError: If there was no element in time. The error is also a
                `TimeoutError`.
            OutOfRangeError: If the queue is closed and empty.
            ValueError: If `timeout` is negative.
        """
        try:
            element = self._native.dequeue(timeout)
        except engine.EngineError as error:
            self._raise(error)
        return self._by_name(element) if self._has_names else element

    def dequeue_many(self, n: int, timeout: float | None = None) -> Any:
        """Takes `n` elements as they arrive and stacks them. Blocks until all have arrived.

        Args:
            n: The number of elements, which may exceed the capacity.
            timeout: See `dequeue`.

        Returns:
            The same as from `dequeue`, with an additional first dimension of size `n`.

        Raises:
            DeadlineExceededError: If there were not enough elements in time. The elements stay in
                the queue.
            InvalidArgumentError: If the queue was created without shapes.
            OutOfRangeError: If the queue is closed and has fewer than `n` elements. They stay in
                the queue.
            ValueError: If `n` or `timeout` is negative.
        """
        return self._dequeue_batch(n, timeout, is_up_to=False)

    def dequeue_up_to(self, n: int, timeout: float | None = None) -> Any:
        """Like `dequeue_many`, but takes all remaining elements if a closed queue has fewer.

        While the queue is open, this call waits for all `n` elements.

        Args:
            n: See `dequeue_many`.
            timeout: See `dequeue_many`.

        Returns:
            Like `dequeue_many`, but with between 1 and `n` elements.

        Raises:
            DeadlineExceededError: See `dequeue_many`.
            InvalidArgumentError: See `dequeue_many`.
            OutOfRangeError: If the queue is closed and empty.
            ValueError: See `dequeue_many`.
        """
        return self._dequeue_batch(n, timeout, is_up_to=True)

    def batches(self, n: int) -> Iterator[Any]:
        """Yields batches of `n` elements until the queue is closed and empty.

        The last batch may be smaller. Each batch is a result of `dequeue_up_to`.

        Args:
            n: The number of elements in a batch, at least 1.
        """
        return self._until_the_end(lambda: self.dequeue_up_to(n))

    def close(self, cancel_pending_enqueues: bool = False, timeout: float | None = None) -> None:
        """Closes the queue for new elements. Existing elements can still be dequeued.

        Args:
            cancel_pending_enqueues: Whether to cancel waiting enqueues. If False, the call waits
                for them.
            timeout: The time in seconds to wait for enqueues. If 0, the call does not wait. If
                None, it waits forever.

        Raises:
            CancelledError: If the queue is already closed and `cancel_pending_enqueues` is False,
                or if another call closes it with cancellation during this call.
            DeadlineExceededError: If enqueues were still waiting after this time. The queue then
                stays open.
            ValueError: If `timeout` is negative.
        """
        try:
            self._native.close(cancel_pending_enqueues, timeout)
        except engine.EngineError as error:
            self._raise(error)

    def __iter__(self) -> Iterator[Any]:
        """Takes elements until the queue is closed and empty."""
        return self._until_the_end(self.dequeue)

    def __enter__(self) -> "Queue":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(cancel_pending_enqueues=True)

    def __repr__(self) -> str:
        stats = self.stats
        capacity = "" if stats.capacity is None else f" of {stats.capacity}"
        state = "closed" if stats.is_closed else "open"
        return f"<{type(self).__name__} '{self.name}': {stats.size}{capacity} elements, {state}>"

    def _convert(
        self,
        enqueue: Callable[[Any, float | None], bool],
        element: ElementLike,
        timeout: float | None,
        is_batch: bool,
    ) -> None:
        """Converts an element or a batch that the engine does not accept, and adds it."""
        components = self._signature.split(element)
        if enqueue(components, timeout):
            return
        arrays = self._signature.arrays(components, is_batch)
        if not enqueue(arrays, timeout):
            raise errors.InternalError(None, None, f"queue '{self.name}': cannot enqueue {arrays}")

    def _dequeue_batch(self, n: int, timeout: float | None, is_up_to: bool) -> Any:
        if self._signature.shapes is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"queue '{self.name}': a batch requires the shapes of the components, but the "
                "queue was created without shapes. Pass shapes to the queue, or dequeue one "
                "element at a time.",
            )
        if n < 0:
            raise ValueError(f"queue '{self.name}': n is {n}, expected 0 or more.")
        try:
            batch = self._native.dequeue_many(n, is_up_to, timeout)
        except engine.EngineError as error:
            self._raise(error)
        except OverflowError:
            raise ValueError(
                f"queue '{self.name}': n is {n}, expected at most {sys.maxsize}."
            ) from None
        return self._by_name(batch) if self._has_names else batch

    def _by_name(self, element: Any) -> dict[str, Any]:
        names = self._signature.names or ()
        components = element if len(names) > 1 else [element]
        return dict(zip(names, components, strict=True))

    def _until_the_end(self, take: Callable[[], Any]) -> Iterator[Any]:
        while True:
            try:
                taken = take()
            except errors.OutOfRangeError:
                return
            yield taken

    def _raise(self, error: engine.EngineError) -> NoReturn:
        code, message, _, cause = error.args
        if f"'{self.name}'" not in message:
            message = f"queue '{self.name}': {message}"
        engine.raise_op_error(engine.EngineError(code, message, None, cause))


def as_integer(value: SupportsIndex, queue: str, what: str) -> int:
    """Converts an integer of any type to an `int`. Raises ValueError if it exceeds 64 bits."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"queue '{queue}': {what} is {value!r}, expected an integer.") from None
    if abs(number) > sys.maxsize:
        raise ValueError(f"queue '{queue}': {what} is {number}, expected at most {sys.maxsize}.")
    return number
