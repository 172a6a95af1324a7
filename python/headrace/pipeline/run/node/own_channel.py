"""The connection between the owner of a node's engine and the rank in its own process."""

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from headrace.pipeline.workers.messages import Channel

__all__ = ["NodeChannel", "OwnChannel", "own_channels"]


class OwnChannel:
    """One end of a connection within a process, with the interface of `Channel`.

    Messages are not pickled: the other end receives the same objects.
    """

    def __init__(self, outgoing: "SimpleQueue[Any]", incoming: "SimpleQueue[Any]") -> None:
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
        self._outgoing.put(message)

    def receive(self) -> tuple[Any, list[int]]:
        """Waits for the next message, and returns it with no descriptors.

        Raises:
            EOFError: If either end is closed.
        """
        message = self._incoming.get()
        if message is None:
            self._incoming.put(None)
            raise EOFError
        return message, []

    def shut_down(self) -> None:
        """Ends the connection, and wakes threads that wait for it."""
        self.close()
        self._incoming.put(None)

    def close(self) -> None:
        """Closes this end. The other end then receives no more messages."""
        self._is_closed = True
        self._outgoing.put(None)


NodeChannel: TypeAlias = Channel | OwnChannel


def own_channels() -> tuple[OwnChannel, OwnChannel]:
    """Creates a connection, and returns both ends."""
    one: SimpleQueue[Any] = SimpleQueue()
    other: SimpleQueue[Any] = SimpleQueue()
    return OwnChannel(one, other), OwnChannel(other, one)
