import errno
import os
import re
import resource

import pytest
from tests.privileges import unprivileged

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestReadFile:
    def test_read_file_returns_the_contents(self, run, directory):
        (directory / "a").write_bytes(b"\0x\n")
        (directory / "empty").touch()
        contents = tf.read_file("a")
        assert (contents.op.name, contents.dtype, contents.shape) == ("ReadFile", tf.string, [])
        assert run([contents, tf.io.read_file("empty")]) == [b"\0x\n", b""]

    def test_read_file_works_on_files_of_unknown_size(self, run):
        assert run(tf.read_file("/proc/self/comm")) != b""

    @pytest.mark.parametrize(
        ("name", "error", "text"),
        [
            ("no", tf.errors.NotFoundError, "no; No such file or directory. Check the path"),
            (".", tf.errors.FailedPreconditionError, ".; Is a directory. Name the files in it"),
            ("", tf.errors.NotFoundError, "; No such file or directory"),
            (b"\xff", tf.errors.NotFoundError, "; No such file or directory"),
        ],
    )
    def test_read_file_errors_name_the_file(self, run, name, error, text):
        with pytest.raises(error, match=re.escape(text)) as caught:
            run(tf.read_file(name))
        assert caught.value.op.name == "ReadFile"

    def test_read_file_requires_one_name(self, run, hidden):
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1 for 'ReadFile'"):
            tf.read_file(["a"])
        text = "Input filename tensor must be scalar, but had shape: [1]"
        with pytest.raises(IAE, match=re.escape(text)):
            run(tf.read_file(hidden(["a"])))


class TestWriteFile:
    def test_write_file_creates_directories_and_replaces_an_old_file(self, run, directory):
        for contents in (b"a longer one", b"\0\xff"):
            write = tf.write_file("new/directory/file", contents)
            assert run(write) is None
            assert (directory / "new/directory/file").read_bytes() == contents
        assert os.listdir("new/directory") == ["file"]

    @pytest.mark.parametrize(
        ("name", "error", "text"),
        [
            (".", tf.errors.FailedPreconditionError, ".; Is a directory"),
            ("file/x", tf.errors.FailedPreconditionError, "file/x; Not a directory"),
            ("file/x/y", tf.errors.FailedPreconditionError, "file/x/y; Not a directory"),
            ("", tf.errors.NotFoundError, "; No such file or directory"),
        ],
    )
    def test_write_file_errors_name_the_file(self, run, directory, name, error, text):
        (directory / "file").touch()
        with pytest.raises(error, match=re.escape(text)):
            run(tf.write_file(name, b""))
        assert os.listdir() == ["file"]

    def test_write_file_requires_one_name_and_one_content(self, run, hidden):
        for name, contents in ((["a"], "x"), ("a", ["x"])):
            with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
                tf.write_file(name, contents)
        with pytest.raises(IAE, match="Input filename tensor must be scalar, but had shape: "):
            run(tf.write_file(hidden(["a"]), "x"))
        with pytest.raises(IAE, match="Contents tensor must be scalar, but had shape: "):
            run(tf.write_file("a", hidden(["x"])))


class TestMatchingFiles:
    @pytest.fixture(autouse=True)
    def files(self, directory):
        names = ["a1.txt", "a2.txt", "b.txt", ".hid", "d1/x.txt", "d2/x.txt", "d1/y", "[z].txt"]
        for name in [*names, "st*r", "d1/e/x.txt", "]x", "é"]:
            path = directory / "m" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    # The result of TensorFlow.
    @pytest.mark.parametrize(
        ("pattern", "names"),
        [
            ("m/*", ".hid [z].txt ]x a1.txt a2.txt b.txt d1 d2 st*r é"),
            ("m/*.txt", "[z].txt a1.txt a2.txt b.txt"),
            ("m/a?.txt", "a1.txt a2.txt"),
            ("m/a[12].txt", "a1.txt a2.txt"),
            ("m/a[!1].txt", "a2.txt"),
            ("m/a[^1].txt", "a2.txt"),
            ("m/a[1-2].txt", "a1.txt a2.txt"),
            ("m/a[2-1].txt", ""),
            ("m/a[-1].txt", "a1.txt"),
            ("m/a[", ""),
            ("m/[]a]*", "]x a1.txt a2.txt"),
            ("m/[\\]]x", "]x"),
            ("m/?", "é"),
            ("m/*/x.txt", "d1/x.txt d2/x.txt"),
            ("m/d?/*", "d1/e d1/x.txt d1/y d2/x.txt"),
            ("m/**/x.txt", "d1/x.txt d2/x.txt"),
            ("m/{a1,b}.txt", ""),
            ("m/[[]z].txt", "[z].txt"),
            (r"m/\[z].txt", "[z].txt"),
            (r"m/st\*r", "st*r"),
            (r"m/*\*r", "st*r"),
            ("m/d1", "d1"),
            ("m/a1.txt", "a1.txt"),
            ("m/nope*", ""),
            ("m/nope/*", ""),
        ],
    )
    def test_matching_files_returns_the_names_matching_one_pattern(self, run, pattern, names):
        values = run(tf.matching_files(pattern))
        assert values.dtype == object
        assert values.tolist() == [f"m/{name}".encode() for name in names.split()]

    def test_matching_files_sorts_the_names_of_all_patterns_with_repeats(self, run):
        result = tf.matching_files(["m/b*", "m/a*", "m/b*", "m/nope"])
        assert (result.op.name, result.dtype, result.shape.as_list()) == (
            *("MatchingFiles", tf.string, [None]),
        )
        assert run(result).tolist() == [b"m/a1.txt", b"m/a2.txt", b"m/b.txt", b"m/b.txt"]
        assert run(tf.matching_files("")).tolist() == []

    def test_matching_files_prefixes_relative_names_like_tensorflow(self, run, directory):
        (directory / "data").touch()
        assert run(tf.matching_files("da*")).tolist() == [b"./data"]
        assert run(tf.matching_files("data")).tolist() == [b"data"]
        assert run(tf.matching_files("../*/m/b*"))[0].endswith(b"/m/b.txt")
        assert run(tf.matching_files(f"{directory}/d*")).tolist() == [bytes(directory) + b"/data"]

    def test_matching_files_lists_again_in_each_run(self, run, directory):
        result = tf.matching_files("m/n*")
        assert run(result).tolist() == []
        (directory / "m/new").touch()
        assert run(result).tolist() == [b"m/new"]

    def test_matching_files_returns_non_utf_8_names(self, run, directory):
        with open(b"m/d2/\xff", "w"):
            pass
        assert run(tf.matching_files("m/d2/?")).tolist() == [b"m/d2/\xff"]

    def test_matching_files_returns_nothing_for_missing_or_hidden_paths(self, run, directory):
        (directory / "m").chmod(0o755)
        (directory / "m/closed").mkdir(mode=0o755)
        (directory / "m/closed/a1.txt").touch()
        (directory / "m/loop").symlink_to("loop")
        (directory / "m/closed").chmod(0)
        directory.chmod(0o755)
        try:
            with unprivileged():
                for pattern in ("m/closed/*", "m/loop/*", "m/a1.txt/*", "m/no/*", "x" * 300 + "/*"):
                    assert run(tf.matching_files(pattern)).tolist() == []
                    assert tf.gfile.Glob(pattern) == []
                assert run(tf.matching_files("m/*/a1.txt")).tolist() == []
        finally:
            (directory / "m/closed").chmod(0o755)
        assert run(tf.matching_files("m/*/a1.txt")).tolist() == [b"m/closed/a1.txt"]
        assert run(tf.matching_files([b"a\0b", b"a\0/*"])).tolist() == []

    def test_matching_files_reports_too_many_open_files(self, run):
        names = tf.matching_files("m/*")
        assert len(run(names)) > 0
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        text = (
            r"^m/; Too many open files\. The pattern cannot be matched without reading this path\."
        )
        try:
            with pytest.raises(tf.errors.ResourceExhaustedError, match=text) as caught:
                run(names)
            with pytest.raises(tf.errors.ResourceExhaustedError, match=text):
                tf.gfile.Glob("m/*")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caught.value.op is names.op

    @pytest.mark.parametrize(("pattern", "function"), [("m/*", "listdir"), ("m/a1.txt", "lstat")])
    def test_matching_files_reports_an_unreadable_directory(
        self, run, monkeypatch, pattern, function
    ):
        def fail(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

        monkeypatch.setattr(os, function, fail)
        with pytest.raises(
            tf.errors.UnknownError, match=r"; Input/output error\. The pattern cannot"
        ):
            run(tf.matching_files(pattern))

    def test_matching_files_requires_a_scalar_or_vector(self, run, hidden):
        with pytest.raises(ValueError, match="Shape must be at most rank 1 but is rank 2"):
            tf.matching_files([["x"]])
        text = "Input patterns tensor must be scalar or vector, but had shape: [1,1]"
        with pytest.raises(IAE, match=re.escape(text)):
            run(tf.matching_files(hidden([["x"]])))


class TestMatchFilenamesOnce:
    def test_match_filenames_once_is_a_local_variable_filled_once(self, run, directory):
        (directory / "b").touch()
        names = tf.train.match_filenames_once("[ab]")
        assert names.name == "matching_filenames:0"
        assert (names.dtype.base_dtype, names.shape.rank) == (tf.string, None)
        assert tf.local_variables() == [names]
        assert tf.trainable_variables() == tf.global_variables() == []
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value matching"):
            run(names)
        run(tf.local_variables_initializer())
        (directory / "a").touch()
        assert run(names).tolist() == [b"./b"]

    def test_match_filenames_once_feeds_a_producer(self, directory):
        for name in "ab":
            (directory / name).write_text(f"{name}1\n{name}2\n")
        names = tf.io.match_filenames_once("[ab]", name="names")
        queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
        _, line = tf.TextLineReader().read(queue)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            assert [session.run(line) for _ in range(4)] == [b"a1", b"a2", b"b1", b"b2"]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(line)
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)
