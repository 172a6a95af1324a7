"""File locks that the operating system releases when their process ends."""

import fcntl
import os
import weakref

__all__ = ["FileLock", "is_free"]


class FileLock:
    """An exclusive lock on a file, held until `close` or the end of the process.

    A forked child does not hold its parent's locks.

    Attributes:
        file: The locked file's descriptor.
    """

    def __init__(self, file: int) -> None:
        self.file = file
        _held.add(self)

    @classmethod
    def acquire(cls, path: str, waits: bool = False) -> "FileLock | None":
        """Creates a file if necessary and locks it.

        Args:
            path: The file.
            waits: Whether to wait while another process holds the lock.

        Returns:
            The lock, or None if another process holds it.
        """
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        except BaseException:
            os.close(file)
            raise
        return cls(file)

    def close(self) -> None:
        """Releases the lock."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def is_free(path: str) -> bool:
    """Returns whether no process holds the lock on a file. A missing file has no lock."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


_held: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _close_in_child() -> None:
    """Closes the parent's locks. The parent still holds them through its own descriptors."""
    for lock in list(_held):
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
