"""A worker process that `multiprocessing` starts. It can inherit the program's objects.

The fork server starts workers for functions that can be pickled. A worker for PyTorch's loader
starts as a copy of the program, or as the program's own `multiprocessing` context starts processes.
"""

import contextlib
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from headrace.pipeline.workers.call_status import SharedCallStatus
from headrace.pipeline.workers.messages import Channel, channels
from headrace.pipeline.workers.remote import WorkerEnded, memory_file

__all__ = ["ChildProcess", "ProgramSide"]

# How often, in seconds, to check that a process is alive. The connection of an ended process can
# stay open, because a child of the process may hold the other end.
_LOOK_S: Final = 5.0
_STATUS_S: Final = 5.0


class ChildProcess:
    """The program's side of a worker process.

    Attributes:
        process: The `multiprocessing` process.
        call_status: The shared status with the process's current call.
    """

    def __init__(self, context: Any, target: Callable[..., None], arguments: Sequence[Any]) -> None:
        """Starts a process that calls `target(ProgramSide, *arguments)`.

        Args:
            context: A context of `multiprocessing`, or the module.
            target: The function.
            arguments: Its other arguments. The context must be able to send them.
        """
        self._channel, other = channels()
        status = memory_file()
        try:
            self.process = context.Process(target=_run, args=(other, target, *arguments))
            self.process.daemon = True
            self.process.start()
            other.close()
            self.tell(None, [status])
        except BaseException:
            self._channel.close()
            other.close()
            os.close(status)
            raise
        self.call_status = SharedCallStatus(status)
        self._poll: Final = select.poll()
        self._poll.register(self._channel, select.POLLIN)

    def fileno(self) -> int:
        """Returns the descriptor of the connection."""
        return self._channel.fileno()

    def tell(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Sends a message. Never waits for long: the process receives messages at any time.

        Raises:
            OSError: If the process has ended.
        """
        self._channel.send(message, descriptors)

    def answer(self, timeout: float | None) -> tuple[Any, list[int]]:
        """Waits for the next message, and returns it with its descriptors.

        Raises:
            TimeoutError: If no message arrives in time.
            WorkerEnded: If the process has ended.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            rest = _LOOK_S if deadline is None else min(deadline - time.monotonic(), _LOOK_S)
            if self._poll.poll(max(rest, 0.0) * 1e3):
                break
            if not self.process.is_alive():
                raise self.ended()
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError
        try:
            return self._channel.receive()
        except (EOFError, OSError) as error:
            raise self.ended() from error

    def ended(self) -> WorkerEnded:
        """Returns the error for a process that has ended or closed its connection."""
        self.process.join(_STATUS_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(_STATUS_S)
        return WorkerEnded(self.process.pid, self.process.exitcode, self.call_status.call())

    def stop(self) -> None:
        """Makes the process end after its current call, without waiting."""
        self.call_status.stop(True)
        with contextlib.suppress(OSError):
            self.tell(None)

    def end(self, patience_s: float) -> None:
        """Waits for the process to end, and kills it if that takes too long."""
        self.process.join(patience_s)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(patience_s)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(patience_s)
        self.close()

    def close(self) -> None:
        """Closes the connection. This ends the process."""
        self._channel.close()


class ProgramSide:
    """The worker's side: receives the program's messages, and sends answers.

    A thread receives messages, so the program never waits for a busy worker. It ends the process
    when the program has ended, even during a call of the user's code.

    Attributes:
        call_status: The shared status with the current call.
    """

    def __init__(self, end: socket.socket) -> None:
        self._channel: Final = Channel(end)
        _, [status] = self._channel.receive()
        self.call_status: Final = SharedCallStatus(status)
        self._messages: Final[queue.SimpleQueue[Any]] = queue.SimpleQueue()
        threading.Thread(target=self._take_messages, name="headrace-messages", daemon=True).start()

    def next_message(self) -> Any:
        """Waits for the program's next message. Returns None if the process should end."""
        return self._messages.get()

    def send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Sends an answer. Waits while the program's buffer is full."""
        self._channel.send(message, descriptors)

    def _take_messages(self) -> None:
        try:
            while True:
                message, _ = self._channel.receive()
                self._messages.put(message)
        except (EOFError, OSError):
            os._exit(1)


def _run(end: socket.socket, target: Callable[..., None], *arguments: Any) -> None:
    side = ProgramSide(end)
    with contextlib.suppress(BrokenPipeError, ConnectionError, KeyboardInterrupt):
        # After Ctrl-C, the program raises KeyboardInterrupt itself.
        target(side, *arguments)
