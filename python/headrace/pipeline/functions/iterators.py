"""The iterators behind `iterable`. Each one yields its examples once.

The components are learned from an iterator's first examples, and the next iteration starts with
these examples.
"""

import inspect
import threading
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Final, TypeAlias

from headrace.pipeline.functions.cached_probe_results import copied
from headrace.pipeline.functions.function_state import kept, restore
from headrace.pipeline.values.types import Spec

__all__ = [
    "AlreadyOpened",
    "Examples",
    "Factory",
    "Reiterable",
    "RemoteIteratorBase",
    "Values",
    "check_factory",
    "check_reiterable",
    "name_of",
]

Factory: TypeAlias = Callable[..., Iterable[Mapping[str, Any]]]

_NOTHING: Final = object()


def name_of(function: object) -> str:
    """Returns a function's name, for messages."""
    try:
        name = getattr(function, "__qualname__", None)
    except Exception:  # Users' objects may raise any exception.
        name = None
    return name if isinstance(name, str) else type(function).__name__


class Reiterable:
    """Creates iterators over an object that can be iterated repeatedly."""

    def __init__(self, items: Any) -> None:
        self._items: Final = items
        self.__qualname__ = type(items).__name__

    def __call__(self) -> Iterator[Any]:
        """Returns a new iterator over the object."""
        if hasattr(type(self._items), "__iter__"):
            return iter(self._items)
        return (self._items[number] for number in range(len(self._items)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reiterable) and self._items is other._items

    def __hash__(self) -> int:
        return id(self._items)


def check_reiterable(items: object) -> None:
    """Raises TypeError unless an object can be iterated repeatedly and yields examples."""
    kind = type(items)
    if hasattr(kind, "__next__"):
        raise TypeError(
            f"iterable: got an iterator ({kind.__name__}), which can be read only once. Pass a "
            "list, or a function that creates a new iterator on each call, such as lambda: "
            "read_examples()."
        )
    is_list = hasattr(kind, "__getitem__") and hasattr(kind, "__len__")
    if isinstance(items, (str, bytes, Mapping)) or not (hasattr(kind, "__iter__") or is_list):
        raise TypeError(
            f"iterable: got {kind.__name__}, expected a list or another iterable of dicts, or a "
            "function that returns one. Use headrace.arrays for columns."
        )


def check_factory(factory: Factory, num_processes: int) -> None:
    """Raises TypeError if a factory doesn't accept the arguments that `num_processes` requires."""
    if isinstance(factory, Reiterable):
        if num_processes > 1:
            raise TypeError(
                f"iterable: num_processes is {num_processes}, but {name_of(factory)} is not a "
                "function. Pass a function of worker and num_workers that returns an iterator "
                "over that worker's part, or use num_processes=1."
            )
        return
    arguments = (0, num_processes) if num_processes > 1 else ()
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # Built-in functions have no signature.
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        if not num_processes:
            return
        expected = (
            "the arguments worker and num_workers, which it receives for"
            if arguments
            else "no arguments, as it is for"
        )
        raise TypeError(
            f"iterable: {name_of(factory)}{signature} cannot be called with {expected} "
            f"num_processes={num_processes} ({error}). With one process it is called as "
            "factory(), with more as factory(worker, num_workers)."
        ) from None


class Values(list[Any]):
    """The components of an example in order, as returned by `as_values`."""


class RemoteIteratorBase(Iterator[Any]):
    """An iterator that runs in other processes.

    It yields the iterator's examples, or `Values` once `expect` has been called. It has a state if
    the iterator has one.
    """

    @abstractmethod
    def expect(self, specs: Mapping[str, Spec], num_bytes: int) -> None:
        """Sets the components of the examples, and the number of bytes to prepare in advance."""

    @abstractmethod
    def skip(self, number: int) -> None:
        """Skips this many examples, or fewer if the iterator ends."""


class AlreadyOpened:
    """Remembers the last iterator that a factory returned."""

    def __init__(self) -> None:
        self._last: Callable[[], object] = lambda: None

    def checked(self, where: str, iterable: Any) -> Iterator[Any]:
        """Converts a factory's result to an iterator.

        Raises:
            TypeError: If the result cannot be iterated.
            ValueError: If the factory returned the same iterator again.
        """
        try:
            iterator: Iterator[Any] = iter(iterable)
        except TypeError as error:
            raise TypeError(
                f"{where}: the function returned {type(iterable).__name__}, expected an iterable "
                "of dicts."
            ) from error
        if iterator is self._last():
            raise ValueError(
                f"{where}: the function returned the same iterator again, so examples that were "
                "already read would be missing. Create a new iterator on each call, or iterate "
                "over the pipeline only once."
            )
        self._last = _reference(iterator)
        return iterator


class Examples:
    """An iterator's examples, starting with the first.

    Attributes:
        number: The number of the next example, from 0, or None after `go_on` with a state.
    """

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator: Final = iterator
        self._lock: Final = threading.Lock()
        # The examples that were read ahead, with the iterator's state before each one.
        self._seen: deque[tuple[Any, str | None]] = deque()
        self._is_taken = False
        self._is_over = False
        self.number: int | None = 0

    def look(self) -> Iterator[Any]:
        """Yields the examples from the start, and keeps them. Stops after `take`."""
        for number in count():
            with self._lock:
                if self._is_taken:
                    return
                if number == len(self._seen):
                    state = kept(self._iterator)
                    example = self._ask()
                    if example is _NOTHING:
                        return
                    self._seen.append((copied(example), state))
                example = self._seen[number][0]
            yield example

    def take(self) -> "Examples":
        """Hands the examples over to an iteration, and stops the iterators of `look`."""
        with self._lock:
            self._is_taken = True
        return self

    def go_on(self, state: str | None, num_left_out: int) -> None:
        """Continues from the iterator's state, and skips this many examples."""
        if state is not None:
            self._seen.clear()
            restore(self._iterator, state)
            # All examples may already have been read.
            self.number, self._is_over = None, False
        if isinstance(self._iterator, RemoteIteratorBase):
            seen = min(num_left_out, len(self._seen))
            self._iterator.skip(num_left_out - seen)
            if self.number is not None:
                self.number += num_left_out - seen
            num_left_out = seen
        for _ in range(num_left_out):
            if next(self, _NOTHING) is _NOTHING:
                return

    def expect(self, specs: Mapping[str, Spec], num_bytes: int) -> None:
        """See `RemoteIteratorBase`."""
        if isinstance(self._iterator, RemoteIteratorBase):
            self._iterator.expect(specs, num_bytes)

    def state(self) -> str | None:
        """Returns the iterator's state before the next example, or None if it has no state."""
        return self._seen[0][1] if self._seen else kept(self._iterator)

    def watch(self, processes: Any) -> None:
        """Registers the iterating processes, to stop them together with the iteration."""
        if processes is not None:
            processes.begin(self._iterator)

    def __iter__(self) -> "Examples":
        return self

    def __next__(self) -> Any:
        example = self._seen.popleft()[0] if self._seen else self._ask()
        if example is _NOTHING:
            raise StopIteration
        if self.number is not None:
            self.number += 1
        return example

    def _ask(self) -> Any:
        """Returns the iterator's next example, unless the iterator has already ended or failed."""
        if self._is_over:
            return _NOTHING
        self._is_over = True
        example = next(self._iterator, _NOTHING)
        self._is_over = example is _NOTHING
        return example

    def words(self) -> str:
        """Describes the next example by its number."""
        return "an example" if self.number is None else f"item {self.number}, counted from 0"


def _reference(iterator: object) -> Callable[[], object]:
    try:
        return weakref.ref(iterator)
    except TypeError:
        return lambda: iterator
