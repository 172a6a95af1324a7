"""Files that cannot be opened: the error names the file and the remedy, and a reader continues."""

import os
from pathlib import Path

import pytest
from tests.privileges import unprivileged
from tests.tf1.ops.readers.reading import KINDS

import headrace.tf1 as tf

NOT_FOUND = "No such file or directory. Check the path and the working directory."
CHECK_NAMES = "Check the path."

CASES = {
    "a missing one": ("no-such", tf.errors.NotFoundError, NOT_FOUND),
    "one in a missing directory": ("no/such", tf.errors.NotFoundError, NOT_FOUND),
    "a link to nothing": ("dangling", tf.errors.NotFoundError, NOT_FOUND),
    "a name that is no UTF-8": (b"\xff\xfe", tf.errors.NotFoundError, NOT_FOUND),
    "no name": ("", tf.errors.NotFoundError, NOT_FOUND),
    "a directory": (
        *("directory", tf.errors.FailedPreconditionError),
        "Is a directory. Name the files in it, for example with the pattern 'DIRECTORY/*'.",
    ),
    "one below a file": (
        *("good/x", tf.errors.FailedPreconditionError),
        f"Not a directory. Part of the path is a file. {CHECK_NAMES}",
    ),
    "one that may not be read": (
        *("locked", tf.errors.PermissionDeniedError),
        "Permission denied. Grant your user permission to read it.",
    ),
    "one in a directory that may not be entered": (
        *("closed/file", tf.errors.PermissionDeniedError),
        "Permission denied. Grant your user permission to read it.",
    ),
    "a link to itself": (
        *("loop", tf.errors.UnknownError),
        "Too many levels of symbolic links (os error 40). Check that the file can be read.",
    ),
    "a name with a zero byte": (
        *("a\0b", tf.errors.InvalidArgumentError),
        f"file name contained an unexpected NUL byte. {CHECK_NAMES}",
    ),
    "a name that is too long": (
        *("x" * 300, tf.errors.InvalidArgumentError),
        f"File name too long. {CHECK_NAMES}",
    ),
    "a path that is too long": (
        *("x/" * 3000, tf.errors.InvalidArgumentError),
        f"File name too long. {CHECK_NAMES}",
    ),
}

every_case = pytest.mark.parametrize(("name", "error", "text"), CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    os.symlink("nowhere", "dangling")
    os.symlink("loop", "loop")
    Path("directory").mkdir()
    Path("closed").mkdir()
    for name in ("good", "locked", "closed/file"):
        Path(name).touch()
    Path("locked").chmod(0)
    Path("closed").chmod(0)
    yield
    Path("closed").chmod(0o700)


def first_line(error):
    return error.message.split("\n")[0]


def shown(name):
    return os.fsencode(name).decode(errors="backslashreplace").replace("\0", "\\x00")


@every_case
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.write is not None], ids=lambda kind: kind.name
)
def test_reader_continues_with_the_next_file(kind, reading, name, error, text):
    Path("good").write_bytes(kind.write([b"aaaa"]))
    one = reading(kind.make, [name, "good"])
    with unprivileged():
        caught = one.error()
    assert type(caught) is error
    assert first_line(caught) == f"{shown(name)}; {text}"
    assert one.counts() == (0, 0)
    assert [one.read()] == kind.expected(b"good", [b"aaaa"])


@every_case
def test_read_file_and_the_iterator_raise_the_same_error(name, error, text):
    def iterate(session):
        return next(tf.python_io.tf_record_iterator(name))

    def read_file(session):
        return session.run(contents)

    contents = tf.read_file(name)
    with tf.Session() as session:
        for read in (iterate, read_file):
            with unprivileged(), pytest.raises(error) as caught:
                read(session)
            assert first_line(caught.value) == f"{shown(name)}; {text}"
