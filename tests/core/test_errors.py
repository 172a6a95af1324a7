import pickle
from types import SimpleNamespace

import pytest

from headrace.core import errors

CODES = {
    "CANCELLED": (1, "CancelledError"),
    "UNKNOWN": (2, "UnknownError"),
    "INVALID_ARGUMENT": (3, "InvalidArgumentError"),
    "DEADLINE_EXCEEDED": (4, "DeadlineExceededError"),
    "NOT_FOUND": (5, "NotFoundError"),
    "ALREADY_EXISTS": (6, "AlreadyExistsError"),
    "PERMISSION_DENIED": (7, "PermissionDeniedError"),
    "RESOURCE_EXHAUSTED": (8, "ResourceExhaustedError"),
    "FAILED_PRECONDITION": (9, "FailedPreconditionError"),
    "ABORTED": (10, "AbortedError"),
    "OUT_OF_RANGE": (11, "OutOfRangeError"),
    "UNIMPLEMENTED": (12, "UnimplementedError"),
    "INTERNAL": (13, "InternalError"),
    "UNAVAILABLE": (14, "UnavailableError"),
    "DATA_LOSS": (15, "DataLossError"),
    "UNAUTHENTICATED": (16, "UnauthenticatedError"),
}
ERROR_TYPES = [getattr(errors, name) for _, name in CODES.values()]


@pytest.mark.parametrize(("constant", "code", "name"), [(k, *v) for k, v in CODES.items()])
def test_each_code_has_its_constant_and_its_class(constant, code, name):
    cls = getattr(errors, name)
    assert getattr(errors, constant) == code
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code
    assert cls(None, None, "message").error_code == code


@pytest.mark.parametrize("cls", ERROR_TYPES)
def test_error_classes_do_not_inherit_from_each_other(cls):
    assert issubclass(cls, errors.OpError)
    assert not any(issubclass(cls, other) for other in ERROR_TYPES if other is not cls)


@pytest.mark.parametrize("code", [0, 17, -1, 99])
def test_code_without_a_class_is_a_key_error(code):
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(code)


@pytest.mark.parametrize("cls", [errors.OpError, ValueError])
def test_class_without_a_code_is_a_key_error(cls):
    with pytest.raises(KeyError):
        errors.error_code_from_exception_type(cls)


def test_error_has_a_node_an_operation_and_a_message():
    node_def, op = SimpleNamespace(name="read"), SimpleNamespace(name="read")
    error = errors.NotFoundError(node_def, op, "no such file")
    assert error.node_def is node_def
    assert error.op is op
    assert error.message == "no such file"
    assert str(error) == "no such file"


def test_base_class_accepts_any_code():
    assert errors.OpError(None, None, "message", 5).error_code == 5
    assert errors.OpError(None, None, "message").error_code == errors.UNKNOWN


@pytest.mark.parametrize("cls", ERROR_TYPES)
@pytest.mark.parametrize(("message", "text"), [(None, ""), (ValueError("why"), "why"), (3, "3")])
def test_any_message_is_shown_as_text(cls, message, text):
    error = cls(None, None, message)
    assert (error.message, str(error)) == (text, text)
    assert str(pickle.loads(pickle.dumps(error))) == text
    assert str(errors.OpError(None, None, message)) == text


def test_note_is_kept_separate_from_the_message():
    error = errors.DataLossError(None, None, "corrupted record at 12")
    error.add_note("while reading b.tfrecord:3")
    assert error.message == "corrupted record at 12"
    assert error.__notes__ == ["while reading b.tfrecord:3"]


@pytest.mark.parametrize(
    "error",
    [
        errors.OutOfRangeError(lambda: None, lambda: None, "end"),
        errors.OpError(None, None, "end", 11),
    ],
)
def test_pickled_error_loses_only_its_node_and_operation(error):
    error.add_note("while reading a.csv:1")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert (copied.message, copied.error_code, copied.op) == ("end", 11, None)
    assert copied.__notes__ == ["while reading a.csv:1"]
