"""The fork server: a process without threads that starts workers and reports their exit codes.

Forking the program itself would copy locks that its threads hold. When the program ends, the server
kills all workers and then stops. If system libraries do not support fork, as on macOS, each worker
is a new interpreter instead.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final

from headrace.pipeline.workers.main_module import program
from headrace.pipeline.workers.messages import Channel
from headrace.pipeline.workers.worker import run_worker

__all__ = ["main"]

_MOST_BYTES: Final = 4096


def main(descriptor: int, spawns: bool) -> None:
    """Serves until the other end of the connection is closed.

    Args:
        descriptor: The descriptor of the connection to the program.
        spawns: Whether workers are new interpreters.
    """
    server = _Server(Channel(socket.socket(fileno=descriptor)), spawns)
    try:
        server.serve()
    finally:
        server.end_workers()
        os._exit(0)


class _Server:
    def __init__(self, program: Channel, spawns: bool) -> None:
        self._program = program
        self._spawns = spawns
        self._workers: set[int] = set()
        # When a child ends, a byte is sent through this pipe.
        self._woken, self._wakes = os.pipe()
        for end in (self._woken, self._wakes):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes)
        if hasattr(signal, "siginterrupt"):
            signal.siginterrupt(signal.SIGCHLD, False)

    def serve(self) -> None:
        """Handles the program's messages until the program ends."""
        while True:
            waited_for: list[Any] = [self._program, self._woken]
            ready, _, _ = select.select(waited_for, [], [])
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, _MOST_BYTES)
                self._tell_ended()
            if self._program in ready:
                try:
                    message, descriptors = self._program.receive()
                except (EOFError, OSError):
                    return
                self._answer(message, descriptors)

    def end_workers(self) -> None:
        """Kills all workers."""
        for worker in self._workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def _answer(self, message: tuple[str, int], descriptors: list[int]) -> None:
        kind, number = message
        if kind == "end":
            # Process IDs are reused, so only children that have not been waited for are killed.
            if number in self._workers:
                os.kill(number, signal.SIGKILL)
            return
        worker = self._spawned(descriptors) if self._spawns else self._forked(descriptors)
        for end in descriptors:
            os.close(end)
        self._workers.add(worker)
        self._program.send(("begun", worker, number))

    def _forked(self, descriptors: list[int]) -> int:
        server = os.getpid()
        worker = os.fork()
        if worker == 0:
            self._become_worker(descriptors, server)
        return worker

    def _spawned(self, descriptors: Sequence[int]) -> int:
        for end in descriptors:
            os.set_inheritable(end, True)
        call = f"run_worker({list(descriptors)}, {os.getpid()})"
        command = program("headrace.pipeline.workers.worker", call)
        return os.posix_spawn(sys.executable, command, os.environ)

    def _become_worker(self, descriptors: list[int], server: int) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._woken)
            os.close(self._wakes)
            run_worker(descriptors, server)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(code)

    def _tell_ended(self) -> None:
        while self._workers:
            try:
                worker, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if worker == 0:
                return
            self._workers.discard(worker)
            self._program.send(("ended", worker, os.waitstatus_to_exitcode(status)))
