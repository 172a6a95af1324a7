"""Converts the operating system's errors to those of `headrace.core.errors`.

Source: `tensorflow/core/platform/posix/error.cc` in TensorFlow 1.15, with one exception. A file
    that has become too large does not raise OutOfRangeError, because queue runners would mistake
    that for the end of the input.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headrace.core import errors
from headrace.core.repr_prefix import printable

__all__ = ["os_errors"]

_TYPES: Final[dict[int | None, type[errors.OpError]]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENFILE: errors.ResourceExhaustedError,
    errno.ENOMEM: errors.ResourceExhaustedError,
}


@contextmanager
def os_errors(path: str | bytes | os.PathLike[str], remedy: str = "") -> Iterator[None]:
    """Converts the system's errors in the body to errors like `PATH; No such file or directory`.

    Args:
        path: The file or directory that the body uses.
        remedy: Text to append to the message.

    Raises:
        InvalidArgumentError: If `path` contains a zero byte.
        OpError: If the body raises an OSError.
    """
    if b"\0" in os.fsencode(path):
        text = f"{os.fsdecode(path)!r}: got a name with a zero byte, which no file has."
        raise errors.InvalidArgumentError(None, None, f"{text} Check the path.")
    try:
        yield
    except OSError as error:
        error_type = _TYPES.get(error.errno, errors.UnknownError)
        text = f"{printable(path)}; {error.strerror or error}{remedy}"
        raise error_type(None, None, text) from error
