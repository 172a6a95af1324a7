import re

import pytest
from tests.privileges import unprivileged

import headrace.tf1 as tf

gfile = tf.gfile
NO_FILE = r"no; No such file or directory"


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes("ä\nb\n".encode())
    (tmp_path / "sub").mkdir()
    return tmp_path


class TestGFile:
    def test_gfile_reads_text_or_bytes(self):
        with gfile.GFile("file") as file:
            assert (file.size(), file.read(2), file.tell(), file.read()) == (5, "ä", 2, "\nb\n")
            file.seek(0)
            assert (file.readline(), file.readlines(), file.readline()) == ("ä\n", ["b\n"], "")
        with gfile.FastGFile(b"file", "rb") as file:
            assert list(file) == ["ä\n".encode(), b"b\n"]

    def test_gfile_writes_text_or_bytes(self, directory):
        for mode, data in (("w", "ö"), ("ab", b"\xff"), ("a", b"!")):
            with gfile.Open("new", mode) as file:
                file.write(data)
                file.flush()
        assert (directory / "new").read_bytes() == "ö".encode() + b"\xff!"

    def test_readlines_strips_carriage_returns(self, directory):
        (directory / "lines").write_bytes(b"a\r\nb\rc\n")
        with gfile.GFile("lines") as file:
            assert file.readlines() == ["a\n", "bc\n"]
            file.seek(-3, 2)
            assert file.read() == "\rc\n"

    def test_gfile_reads_its_own_writes_from_the_start(self, directory):
        with gfile.GFile("new", "w+") as file:
            file.write("abc")
            file.flush()
            assert (file.tell(), file.read(), file.tell()) == (0, "abc", 3)
        with gfile.GFile("new", "w") as file:
            file.write("de")
            assert file.tell() == 2

    @pytest.mark.parametrize(
        ("byte", "error", "text"),
        [
            (6, "OutOfRangeError", "cannot seek to byte 6 of 5"),
            (-1, "InvalidArgumentError", "cannot seek to byte -1. The first byte is 0"),
        ],
    )
    def test_seeking_outside_the_file_is_rejected(self, byte, error, text):
        with (
            gfile.GFile("file") as file,
            pytest.raises(getattr(tf.errors, error), match=re.escape(text)),
        ):
            file.seek(byte)

    def test_gfile_is_opened_on_first_use(self):
        file = gfile.GFile("no")
        with pytest.raises(tf.errors.NotFoundError, match=NO_FILE):
            file.read()
        with pytest.raises(tf.errors.FailedPreconditionError, match="sub; Is a directory"):
            gfile.GFile("sub").read()
        with pytest.raises(tf.errors.InvalidArgumentError, match="mode is 'x', expected one of r,"):
            gfile.GFile("file", "x")


def test_file_too_large_for_memory_is_not_read(directory):
    with open(f"{directory}/huge", "wb") as file:
        file.truncate(2**42)
    for read in (lambda file: file.read(), lambda file: file.read(2**42)):
        with tf.gfile.GFile(f"{directory}/huge", "rb") as file:
            with pytest.raises(
                tf.errors.ResourceExhaustedError, match="huge: 4398046511104 bytes were requested"
            ):
                read(file)
            assert file.read(2) == b"\0\0"


def test_paths_can_be_listed_and_matched():
    assert gfile.Exists("file")
    assert gfile.Exists("sub")
    assert not gfile.Exists("no")
    assert [gfile.IsDirectory(name) for name in ("file", "sub", "no")] == [False, True, False]
    assert gfile.ListDirectory(".") == ["file", "sub"]
    assert gfile.Glob("./*") == ["./file", "./sub"]
    assert list(gfile.Walk(b".")) == [(".", ["sub"], ["file"]), ("./sub", [], [])]
    assert [top for top, *_ in gfile.Walk(".", in_order=False)] == ["./sub", "."]
    assert gfile.Glob(["s*", "file"]) == ["./sub", "file"]


def test_pattern_with_many_stars_is_not_slow(tmp_path):
    name = tmp_path / ("a" * 250)
    name.touch()
    assert gfile.Glob(f"{tmp_path}/{'a*' * 40}b") == []
    assert gfile.Glob(f"{tmp_path}/{'*a' * 40}*?[a-b]**") == [str(name)]


def test_stat_returns_length_time_and_kind(directory):
    result = gfile.Stat("file")
    assert (result.length, result.is_directory) == (5, False)
    assert result.mtime_nsec == (directory / "file").stat().st_mtime_ns
    assert gfile.Stat("sub").is_directory


def test_walk_raises_an_error_for_an_unlistable_directory(directory):
    directory.chmod(0o755)
    (directory / "sub" / "closed").mkdir(mode=0)
    with unprivileged():
        with pytest.raises(tf.errors.PermissionDeniedError, match="closed; Permission denied"):
            list(gfile.Walk("."))
        assert list(gfile.Walk("no")) == list(gfile.Walk("file")) == []


def test_failed_copy_names_the_file_and_keeps_the_old_one(directory):
    (directory / "old").write_text("old")
    for names, error, text in (
        (("file", "no/x"), tf.errors.NotFoundError, "no/x; No such file"),
        (("file", "sub"), tf.errors.FailedPreconditionError, "sub; Is a directory"),
        (("sub", "old"), tf.errors.FailedPreconditionError, "sub; Is a directory"),
    ):
        with pytest.raises(error, match=text):
            gfile.Copy(*names, overwrite=True)
    assert (directory / "old").read_text() == "old"
    assert gfile.ListDirectory(".") == ["file", "old", "sub"]


@pytest.mark.parametrize(
    "call",
    [
        lambda name: gfile.GFile(name).read(),
        lambda name: gfile.GFile(name, "w").write("x"),
        *(gfile.MakeDirs, gfile.MkDir, gfile.Remove, gfile.Stat, gfile.DeleteRecursively),
        lambda name: gfile.Copy("file", name),
        lambda name: gfile.Rename("file", name),
        tf.train.latest_checkpoint,
        tf.summary.FileWriter,
        tf.python_io.TFRecordWriter,
    ],
)
def test_name_with_a_zero_byte_is_rejected(call):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(zero|NUL) byte"):
        call("file\0x")
    assert gfile.ListDirectory(".") == ["file", "sub"]


def test_files_and_directories_can_be_created_moved_and_removed(directory):
    gfile.MakeDirs("a/b")
    gfile.MakeDirs("a/b")
    gfile.MkDir("a/c")
    gfile.MkDir("a/c")
    gfile.Copy("file", "a/b/copy")
    gfile.Rename("a/b/copy", "a/c/moved")
    assert (directory / "a/c/moved").read_bytes() == (directory / "file").read_bytes()
    gfile.Copy("file", "a/c/moved", overwrite=True)
    gfile.Remove("a/c/moved")
    gfile.DeleteRecursively("a")
    assert gfile.ListDirectory(".") == ["file", "sub"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: gfile.ListDirectory("no"), "NotFoundError", "Could not find directory no"),
        (lambda: gfile.Stat("no"), "NotFoundError", NO_FILE),
        (lambda: gfile.GFile("file").write("x"), "PermissionDeniedError", "open for writing: its"),
        (lambda: gfile.GFile("file", "w").read(), "PermissionDeniedError", "open for reading: its"),
        (lambda: gfile.MkDir("no/x"), "NotFoundError", "no/x; No such file or directory"),
        (lambda: gfile.MakeDirs("file/x"), "FailedPreconditionError", "file/x; Not a directory"),
        (lambda: gfile.Remove("no"), "NotFoundError", NO_FILE),
        (lambda: gfile.Remove("sub"), "FailedPreconditionError", "sub; Is a directory"),
        (lambda: gfile.DeleteRecursively("no"), "NotFoundError", NO_FILE),
        (lambda: gfile.Rename("no", "x"), "NotFoundError", NO_FILE),
        (lambda: gfile.Rename("file", "sub"), "AlreadyExistsError", "file already exists. Pass"),
        (lambda: gfile.Copy("no", "x"), "NotFoundError", NO_FILE),
        (lambda: gfile.Copy("file", "file"), "AlreadyExistsError", "file already exists. Pass"),
        (lambda: gfile.MakeDirs("file"), "FailedPreconditionError", "file is not a directory"),
        (lambda: gfile.GFile("x" * 300).read(), "InvalidArgumentError", "x; File name too long"),
        (lambda: gfile.GFile("loop").read(), "UnknownError", "loop; Too many levels of symbolic"),
    ],
)
def test_impossible_operation_raises_the_same_error_as_tensorflow(directory, call, error, text):
    (directory / "loop").symlink_to("loop")
    with pytest.raises(getattr(tf.errors, error), match=re.escape(text)):
        call()


class TestSeek:
    @pytest.fixture
    def file(self, tmp_path):
        (tmp_path / "letters").write_bytes(b"abcdefghij")
        with tf.gfile.GFile(tmp_path / "letters") as file:
            file.read(3)
            yield file

    @pytest.mark.parametrize(
        ("arguments", "rest"),
        [
            ({"offset": 5}, "fghij"),
            ({"position": 7}, "hij"),
            ({"offset": 2, "whence": 1}, "fghij"),
            ({"offset": -2, "whence": 2}, "ij"),
        ],
    )
    def test_seek_moves_the_next_read(self, file, arguments, rest):
        assert file.seekable() is True
        file.seek(**arguments)
        assert file.read() == rest

    @pytest.mark.parametrize(
        ("arguments", "kind", "words"),
        [
            ({}, TypeError, "offset argument required"),
            ({"offset": 1, "position": 2}, TypeError, "may not be set simultaneously"),
            ({"offset": 1, "whence": 7}, tf.errors.InvalidArgumentError, "whence argument: 7"),
        ],
    )
    def test_invalid_seek_arguments_are_rejected(self, file, arguments, kind, words):
        with pytest.raises(kind, match=words):
            file.seek(**arguments)
        assert file.read() == "defghij"
