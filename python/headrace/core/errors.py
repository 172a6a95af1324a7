"""The error classes of headrace, one for each of TensorFlow's status codes.

No error class is a subclass of another one except `OpError`, so `except OutOfRangeError` catches
the end of the input and nothing else. If an error occurs while a record is processed, a note names
the record (`add_note`). The message is the operation's own message.

Source: `tf.errors` in TensorFlow 1.15. The codes are the same as in `google.rpc.Code`.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Protocol

from headrace.core.repr_prefix import printable_lines, without_passwords

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "SkippedExamples",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
]

OK: Final = 0
CANCELLED: Final = 1
UNKNOWN: Final = 2
INVALID_ARGUMENT: Final = 3
DEADLINE_EXCEEDED: Final = 4
NOT_FOUND: Final = 5
ALREADY_EXISTS: Final = 6
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
FAILED_PRECONDITION: Final = 9
ABORTED: Final = 10
OUT_OF_RANGE: Final = 11
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14
DATA_LOSS: Final = 15
UNAUTHENTICATED: Final = 16


class SkippedExamples(Exception):
    """Raised at the end of the data if `skip_errors` has skipped too many examples.

    With `raises_at_end`, it is raised if any example was skipped.

    Attributes:
        skipped: The skipped examples, as in `Batches.skipped`.
    """

    def __init__(self, message: str, skipped: Sequence[Any] = ()) -> None:
        super().__init__(message, tuple(skipped))
        self.skipped = tuple(skipped)

    def __str__(self) -> str:
        return str(self.args[0])


class NamedNode(Protocol):
    """The description of a failed node in an error: at least its name."""

    @property
    def name(self) -> str:
        """The name of the node in its graph."""


class OpError(Exception):
    """The base class of all errors from operations, files and storage.

    Args:
        node_def: The description of the node that failed. If None, it is taken from `op`, if `op`
            has one.
        op: The `Operation` that failed, or None if it is unknown.
        message: The error message, which is also `str(error)`. It may be None.
        error_code: One of the codes of this module.
    """

    def __init__(
        self,
        node_def: NamedNode | None,
        op: NamedNode | None,
        message: str | None,
        error_code: int = UNKNOWN,
    ) -> None:
        text = without_passwords("" if message is None else str(message))
        super().__init__(node_def, op, text, error_code)
        self._node_def = node_def
        self._op = op
        self._message = printable_lines(text)
        self._error_code = error_code

    @property
    def message(self) -> str:
        """The error message, or "" if the error was created without one."""
        return self._message

    @property
    def error_code(self) -> int:
        """The status code of this error."""
        return self._error_code

    @property
    def op(self) -> NamedNode | None:
        """The `Operation` that failed, or None if it is unknown."""
        return self._op

    @property
    def node_def(self) -> NamedNode | None:
        """The description of the node that failed, or None if no node failed."""
        # It is created on first use, because it needs protocol buffers and most programs never read
        # it.
        own: NamedNode | None = getattr(self._op, "node_def", None)
        return own if self._node_def is None else self._node_def

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        # Graphs cannot be pickled, so the node is dropped when an error is passed to another
        # process.
        notes = {"__notes__": self.__notes__} if hasattr(self, "__notes__") else None
        return type(self), (None, None, *self.args[2:]), notes


class _CodedError(OpError):
    """An error whose class determines its code."""

    _code: ClassVar[int]

    def __init__(
        self, node_def: NamedNode | None, op: NamedNode | None, message: str | None
    ) -> None:
        super().__init__(node_def, op, message, self._code)
        self.args = (node_def, op, self._message)


class CancelledError(_CodedError):
    """An operation was cancelled because its queue or session was closed while it was waiting."""

    _code = CANCELLED


class UnknownError(_CodedError):
    """An error that no other class describes."""

    _code = UNKNOWN


class InvalidArgumentError(_CodedError):
    """An operation received an invalid value."""

    _code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError, TimeoutError):
    """An operation did not finish within its timeout. This is also a Python `TimeoutError`."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, directory or key does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """A file, directory or other object that should be created already exists."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The program lacks a permission, for example to read a file."""

    _code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """Memory, disk space or another resource ran out."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The operation is not possible in the current state, such as reading a closed file."""

    _code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """An operation was aborted, usually because of a concurrent operation."""

    _code = ABORTED


class OutOfRangeError(_CodedError):
    """The input has ended: a queue is closed and empty, or all epochs are finished."""

    _code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation is not implemented for these arguments."""

    _code = UNIMPLEMENTED


class InternalError(_CodedError):
    """A bug in headrace: it reached a state that should be impossible."""

    _code = INTERNAL


class UnavailableError(_CodedError):
    """A service is temporarily unavailable. Retrying may help."""

    _code = UNAVAILABLE


class DataLossError(_CodedError):
    """Data was lost or damaged: for example, a file is truncated or a checksum does not match."""

    _code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """Credentials are missing or were rejected."""

    _code = UNAUTHENTICATED


_TYPE_OF_CODE: Final[dict[int, type[_CodedError]]] = {
    error_type._code: error_type for error_type in _CodedError.__subclasses__()
}
_CODE_OF_TYPE: Final[dict[type[BaseException], int]] = {
    error_type: code for code, error_type in _TYPE_OF_CODE.items()
}


def exception_type_from_error_code(error_code: int) -> type[_CodedError]:
    """Returns the error class for a code.

    Raises:
        KeyError: If no class has this code. 0 means success, so it has no class.
    """
    return _TYPE_OF_CODE[error_code]


def error_code_from_exception_type(cls: type[BaseException]) -> int:
    """Returns the code of an error class.

    Raises:
        KeyError: If the class has no code of its own.
    """
    return _CODE_OF_TYPE[cls]


def __dir__() -> list[str]:
    return sorted(__all__)


def add_note(error: BaseException, note: str) -> None:
    """Adds a note to an exception. Never raises, so that the original exception is not hidden.

    Some exception classes have no `add_note`, and frozen ones don't allow setting attributes.
    """
    try:
        BaseException.add_note(error, note)
    except Exception:
        with contextlib.suppress(Exception):
            attributes = BaseException.__getattribute__(error, "__dict__")
            attributes["__notes__"] = [*attributes.get("__notes__", ()), note]
