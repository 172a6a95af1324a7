"""Reports this process's iterations to `headrace top`, over a local socket.

The socket has a name in Linux's abstract namespace, so there is no file to remove. Both sides check
the other side's user, which the kernel reports. Between requests, the thread waits and uses no
processor time.
"""

import json
import os
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

__all__ = ["Monitor", "process_report", "stop_watching", "watch_process", "watched_processes"]

# A report of a process, which JSON can represent.
ProcessReport: TypeAlias = dict[str, Any]

# How long to wait for the other side, in seconds.
_TIMEOUT_S: Final = 5.0
_CREDENTIALS: Final = struct.Struct("3i")
_MOST_BYTES: Final = 64 << 20


class Monitor:
    """Answers requests for a report of this process, until it is closed.

    Args:
        report: Returns the report.

    Raises:
        OSError: If this process already has a monitor, or the system does not support it.
    """

    def __init__(self, report: Callable[[], ProcessReport]) -> None:
        self._report = report
        if not sys.platform.startswith("linux"):
            raise OSError("headrace top works only on Linux.")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(_address(os.getpid()))
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise
        self._thread = threading.Thread(target=self._serve, name="headrace top", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # `close` has shut the socket down.
                return
            with connection, suppress(OSError):
                connection.settimeout(_TIMEOUT_S)
                if _is_trusted(_user_of(connection)):
                    connection.sendall(json.dumps(self._report()).encode())

    def close(self) -> None:
        """Stops the thread and waits for it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def forget(self) -> None:
        """Closes the socket in a forked process, which has no thread for it."""
        self._socket.close()


class _Process:
    """The monitor of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._monitor: Monitor | None = None
        self._is_started = False

    def start(self, report: Callable[[], ProcessReport]) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started = True
                with suppress(OSError):
                    self._monitor = Monitor(report)

    def close(self) -> None:
        with self._lock:
            monitor, self._monitor = self._monitor, None
            self._is_started = False
        if monitor is not None:
            monitor.close()

    def forget(self) -> None:
        """Resets everything in a forked process, where no thread can release the lock."""
        if self._monitor is not None:
            self._monitor.forget()
        self.__init__()  # type: ignore[misc]


_process: Final = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forget)


def watch_process(report: Callable[[], ProcessReport]) -> None:
    """Starts a monitor once in this process. It ends with the process.

    Does nothing if the system does not support it.

    Args:
        report: Returns the report.
    """
    _process.start(report)


def stop_watching() -> None:
    """Ends the monitor of this process, for tests."""
    _process.close()


def process_report(process: int) -> ProcessReport:
    """Returns the report of a process: its ID, its command and its iterations.

    Raises:
        ConnectionError: If the process does not report, or belongs to another user.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT_S)
        connection.connect(_address(process))
        if not _is_trusted(_user_of(connection)):
            raise ConnectionRefusedError(f"process {process} belongs to another user")
        data = bytearray()
        while part := connection.recv(1 << 16):
            data += part
            if len(data) > _MOST_BYTES:
                raise ConnectionAbortedError(f"process {process} sent too much")
    if not data:
        raise ConnectionRefusedError(f"process {process} rejected the request")
    report: ProcessReport = json.loads(data)
    return report


def watched_processes() -> list[int]:
    """Returns the processes of this user that report to `headrace top`."""
    pattern = re.compile(rf"@headrace-top-{os.geteuid()}-(\d+)$", re.MULTILINE)
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        return sorted({int(match[1]) for match in pattern.finditer(file.read())})


def _address(process: int) -> str:
    return f"\0headrace-top-{os.geteuid()}-{process}"


def _is_trusted(user: int) -> bool:
    """Returns whether a user may exchange reports with this process: the same user, or root."""
    return user in (0, os.geteuid())


def _user_of(connection: socket.socket) -> int:
    """Returns the user of the process at the other end."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(data)
    return int(user)
