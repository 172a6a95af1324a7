"""The program's side of the fork server."""

import atexit
import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from headrace.pipeline.workers.main_module import Surroundings, is_importing, program
from headrace.pipeline.workers.messages import Channel, channels

__all__ = ["ForkServer", "fork_server"]

# Apple's libraries do not work after a fork without exec.
_spawns_workers = sys.platform == "darwin"
_START_S: Final = 120.0
_END_S: Final = 2.0


class ForkServer:
    """A process that starts workers. Several threads may use it.

    The server kills all workers when this program ends, even if the program is killed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        # An interrupted start leaves unread replies. They must not be mistaken for replies to a
        # later start.
        self._requests = itertools.count()
        # The exit codes of workers, by process ID, until they are requested.
        self._ended: dict[int, int] = {}

    def open(self) -> None:
        """Starts the server if it is not running. Does not wait for it."""
        if is_importing():
            return
        with self._lock, contextlib.suppress(OSError):
            self._open()

    def start_workers(self, workers: Sequence[Sequence[int]]) -> list[int]:
        """Starts several workers at once.

        Args:
            workers: The file descriptors of each worker.

        Returns:
            Their process IDs.

        Raises:
            RuntimeError: If the server cannot be started.
        """
        if is_importing():
            raise RuntimeError(
                "num_processes: worker processes import the main module to find the function, "
                "but the main module starts an iteration when it is imported. Move that code "
                'under if __name__ == "__main__":'
            )
        with self._lock:
            for is_last in (False, True):
                try:
                    channel = self._open()
                    requests = [next(self._requests) for _ in workers]
                    for request, descriptors in zip(requests, workers, strict=True):
                        channel.send(("begin", request), descriptors)
                    return [self._begun(channel, request) for request in requests]
                except (EOFError, OSError) as error:
                    self._forget()
                    if is_last:
                        raise RuntimeError(
                            "num_processes: the process that starts worker processes has ended. "
                            "See its standard error for the reason."
                        ) from error
        raise AssertionError("workers must have started or failed")

    def exit_code(self, worker: int, timeout: float) -> int | None:
        """Returns a worker's exit code, as in `subprocess`, or None if it is unknown."""
        deadline = time.monotonic() + timeout
        with self._lock:
            while worker not in self._ended and self._channel is not None:
                try:
                    self._note(self._channel, max(deadline - time.monotonic(), 0.001))
                except TimeoutError:
                    break
                except (EOFError, OSError):
                    self._forget()
            return self._ended.pop(worker, None)

    def end_worker(self, worker: int) -> None:
        """Kills a worker."""
        with self._lock, contextlib.suppress(OSError):
            if self._channel is not None and worker not in self._ended:
                self._channel.send(("end", worker))

    def close(self) -> None:
        """Stops the server and kills all workers."""
        with self._lock:
            self._forget()

    def _open(self) -> Channel:
        if self._channel is None:
            self._channel, other = channels()
            self._ended.clear()
            call = f"main({other.fileno()}, {_spawns_workers})"
            try:
                self._process = subprocess.Popen(
                    program("headrace.pipeline.workers.server", call),
                    stdin=subprocess.DEVNULL,
                    pass_fds=[other.fileno()],
                    env=Surroundings.current().environment,
                    # Only the program receives Ctrl-C. It then stops the workers.
                    process_group=0,
                )
            finally:
                other.close()
        return self._channel

    def _begun(self, channel: Channel, request: int) -> int:
        while True:
            started = self._note(channel, _START_S)
            if started is not None and started[0] == request:
                return started[1]

    def _note(self, channel: Channel, timeout: float) -> tuple[int, int] | None:
        """Handles the server's next message; returns the request and process ID of a start."""
        (kind, worker, number), _ = channel.receive(timeout)
        if kind == "begun":
            self._ended.pop(worker, None)
            return int(number), int(worker)
        self._ended[worker] = number
        return None

    def _forget(self) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            channel.close()
        if process is not None:
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


_servers: dict[int, ForkServer] = {}


def fork_server() -> ForkServer:
    """Returns the fork server of this process."""
    process = os.getpid()
    if process not in _servers:
        # An inherited server belongs to the parent process.
        _servers.setdefault(process, ForkServer())
    return _servers[process]


def _close() -> None:
    if (server := _servers.get(os.getpid())) is not None:
        server.close()


def _keep_inherited() -> None:
    """Forgets the server in a forked child, because the child is not the server's parent."""
    for server in _servers.values():
        if server._process is not None:
            server._process.returncode = 0


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_inherited)
