"""Messages between processes: pickled objects and file descriptors sent over a socket."""

import contextlib
import os
import pickle
import socket
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

__all__ = ["Channel", "channels"]

_HEADER: Final = struct.Struct("<Q")
_MOST_DESCRIPTORS: Final = 8

_open: "weakref.WeakSet[Channel]" = weakref.WeakSet()


class Channel:
    """One end of a connection. One thread may send while another one receives without a timeout.

    If an exception such as KeyboardInterrupt interrupts a message, the channel is closed.
    Otherwise, the next message would be read as the rest of this one.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket: Final = end
        _open.add(self)

    def fileno(self) -> int:
        """Returns the file descriptor."""
        return self._socket.fileno()

    def send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Sends a message. Blocks while the other end's buffer is full.

        Raises:
            OSError: If the other end is closed.
        """
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        header = _HEADER.pack(len(data))
        try:
            if descriptors:
                socket.send_fds(self._socket, [header], descriptors)
                self._socket.sendall(data)
            else:
                self._socket.sendall(header + data)
        except ConnectionError:
            # Messages that the other end has already sent can still be received.
            raise
        except BaseException:
            self.close()
            raise

    def receive(self, timeout: float | None = None) -> tuple[Any, list[int]]:
        """Waits for the next message, and returns it with its file descriptors.

        Raises:
            EOFError: If the other end is closed.
            TimeoutError: If no message arrives in time.
        """
        descriptors: list[int] = []
        try:
            if timeout is not None:
                self._socket.settimeout(timeout)
            header, descriptors, _, _ = socket.recv_fds(
                self._socket, _HEADER.size, _MOST_DESCRIPTORS
            )
            if timeout is not None:
                self._socket.settimeout(None)
            if not header:
                raise EOFError
            header += self._exactly(_HEADER.size - len(header))
            data = self._exactly(*_HEADER.unpack(header))
        except TimeoutError:
            self._socket.settimeout(None)
            raise
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            self.close()
            raise
        return pickle.loads(data), descriptors

    def serve(self, handler: Callable[[Any, list[int]], None]) -> NoReturn:
        """Calls a function for each message, with the message and its file descriptors.

        Raises:
            EOFError: If the other end is closed.
        """
        while True:
            handler(*self.receive())

    def shut_down(self) -> None:
        """Ends the connection, and wakes threads that wait for it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes this end. The other end then receives no more messages."""
        self._socket.close()

    def _exactly(self, num_bytes: int) -> bytes:
        data = bytearray(num_bytes)
        rest = memoryview(data)
        while rest:
            count = self._socket.recv_into(rest)
            if not count:
                raise EOFError
            rest = rest[count:]
        return bytes(data)


def channels() -> tuple[Channel, socket.socket]:
    """Creates a connection, and returns the end for this process and the one to send to another."""
    mine, other = socket.socketpair()
    return Channel(mine), other


def _close_all() -> None:
    """Closes inherited connections in a forked child. Otherwise, they would outlive the parent."""
    for channel in list(_open):
        channel.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
