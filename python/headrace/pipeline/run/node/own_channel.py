"""The connection between the owner of a node's engine and the rank in its own process."""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Final, NoReturn, TypeAlias

from headrace.pipeline.workers.messages import Channel

__all__ = ["NodeChannel", "OwnChannel", "own_channels"]


class _Direction:
    """The messages that one end sends to the other.

    Attributes:
        waiting: The messages that nobody has received. Ends with None once an end is closed.
        handler: Receives the messages in the thread that sends them; None if they wait.
        lock: Guards the handler, and keeps the messages in order.
    """

    def __init__(self) -> None:
        self.waiting: Final[SimpleQueue[Any]] = SimpleQueue()
        self.handler: Callable[[Any, list[int]], None] | None = None
        self.lock: Final = threading.Lock()


class OwnChannel:
    """One end of a connection within a process, with the interface of `Channel`.

    Messages are not pickled: the other end receives the same objects.
    """

    def __init__(self, outgoing: _Direction, incoming: _Direction) -> None:
        self._outgoing: Final = outgoing
        self._incoming: Final = incoming
        self._is_closed = False

    def send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Sends a message.

        Raises:
            OSError: If this end is closed.
        """
        if self._is_closed:
            raise OSError("the connection is closed")
        with self._outgoing.lock:
            if self._outgoing.handler is None:
                self._outgoing.waiting.put(message)
            else:
                self._outgoing.handler(message, [])

    def receive(self) -> tuple[Any, list[int]]:
        """Waits for the next message, and returns it with no descriptors.

        Raises:
            EOFError: If either end is closed.
        """
        message = self._incoming.waiting.get()
        if message is None:
            self._incoming.waiting.put(None)
            raise EOFError
        return message, []

    def serve(self, handler: Callable[[Any, list[int]], None]) -> NoReturn:
        """Calls a function for each message, in the thread that sends it.

        Raises:
            EOFError: If either end is closed.
        """
        with self._incoming.lock:
            while not self._incoming.waiting.empty():
                handler(*self.receive())
            self._incoming.handler = handler
        try:
            while True:
                self.receive()
        finally:
            with self._incoming.lock:
                self._incoming.handler = None

    def shut_down(self) -> None:
        """Ends the connection, and wakes threads that wait for it."""
        self.close()
        self._incoming.waiting.put(None)

    def close(self) -> None:
        """Closes this end. The other end then receives no more messages."""
        self._is_closed = True
        self._outgoing.waiting.put(None)


NodeChannel: TypeAlias = Channel | OwnChannel


def own_channels() -> tuple[OwnChannel, OwnChannel]:
    """Creates a connection, and returns both ends."""
    one, other = _Direction(), _Direction()
    return OwnChannel(one, other), OwnChannel(other, one)
