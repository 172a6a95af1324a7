"""If the disk is full in the middle of a file, each writer raises an error and stops writing.

Each program runs in its own process with a file size limit.
"""

import json
import re
import subprocess
import sys
import textwrap

import pytest

import headrace.tf1 as tf

START = """
import json, os, resource, sys
import headrace.tf1 as tf

def attempt(call, *arguments):
    try:
        call(*arguments)
        return "done"
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\\n")[0]

def limit(num_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))

chunk = os.urandom(200_000)
"""
INCOMPLETE = "The file is incomplete and accepts no more writes. Write it again."
KEPT = "The target was not changed. Write the file again."


def outcomes(tmp_path, program):
    """Returns the results of a program's calls, which the program prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("is_flushed", [False, True])
def test_record_writer_rejects_everything_after_a_failed_write(tmp_path, compression, is_flushed):
    results, _ = outcomes(
        tmp_path,
        f"""
        with tf.python_io.TFRecordWriter("a", "{compression}") as writer:
            writer.write(b"old")
        writer = tf.python_io.TFRecordWriter("a", "{compression}")
        writer.write(b"first")
        if {is_flushed}:
            writer.flush()
        limit(300_000)
        found = [attempt(writer.write, chunk) for _ in range(5)] + [attempt(writer.flush)]
        limit(resource.RLIM_INFINITY)
        size = sum(entry.stat().st_size for entry in os.scandir("."))
        found += [attempt(writer.write, b"x"), attempt(writer.flush), attempt(writer.close)]
        found += [attempt(writer.close), attempt(writer.write, b"x")]
        del writer
        after = sum(entry.stat().st_size for entry in os.scandir("."))
        print(json.dumps([found, after <= size]))
        """,
    )
    (*calls, last_close, closed), has_not_grown = results
    text = f"ResourceExhaustedError: a; File too large. {INCOMPLETE if is_flushed else KEPT}"
    first = calls.index(text)
    assert calls == ["done"] * first + [text] * (len(calls) - first)
    assert first <= 5, "the flush fails at the latest"
    assert (last_close, closed) == ("done", "FailedPreconditionError: Writer is closed.")
    assert has_not_grown
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    if is_flushed:
        records = tf.python_io.tf_record_iterator(tmp_path / "a", compression)
        assert next(records) == b"first"
    else:
        assert list(tf.python_io.tf_record_iterator(tmp_path / "a", compression)) == [b"old"]


def test_abandoned_record_writer_leaves_no_file_after_a_failed_write(tmp_path):
    results, _ = outcomes(
        tmp_path,
        """
        limit(100_000)
        writer = tf.python_io.TFRecordWriter("a")
        found = [attempt(writer.write, chunk), attempt(writer.write, chunk)]
        limit(resource.RLIM_INFINITY)
        del writer
        print(json.dumps([found, os.listdir()]))
        """,
    )
    calls, names = results
    assert f"ResourceExhaustedError: a; File too large. {KEPT}" in calls
    assert names == []


def test_with_block_raises_the_write_error():
    def write():
        with tf.python_io.TFRecordWriter("/dev/full") as writer:
            for _ in range(10):
                writer.write(bytes(100_000))

    text = "/dev/full; No space left on device. " + INCOMPLETE
    with pytest.raises(tf.errors.ResourceExhaustedError, match=re.escape(text)):
        write()


def test_event_writer_rejects_everything_until_reopened(tmp_path):
    results, _ = outcomes(
        tmp_path,
        """
        writer = tf.summary.FileWriter("logs")
        summary = tf.Summary(value=[tf.Summary.Value(tag="x" * 1000, simple_value=1)])
        limit(5000)
        found = [attempt(writer.add_summary, summary) for _ in range(10)] + [attempt(writer.flush)]
        limit(resource.RLIM_INFINITY)
        found += [attempt(writer.add_summary, summary), attempt(writer.flush)]
        found.append(attempt(writer.close))
        sizes = [entry.stat().st_size for entry in os.scandir("logs")]
        found += [attempt(writer.close), attempt(writer.reopen)]
        found += [attempt(writer.add_summary, summary), attempt(writer.close)]
        print(json.dumps([found, sizes, len(os.listdir("logs"))]))
        """,
    )
    calls, sizes, num_files = results
    (failure,) = {call for call in calls if call != "done"}
    assert re.fullmatch(
        rf"ResourceExhaustedError: logs/events.*; File too large\. {INCOMPLETE}", failure
    )
    first = calls.index(failure)
    assert calls[first:-4] == [failure] * (len(calls) - 4 - first)
    assert len(calls[first:-4]) >= 4
    assert calls[-4:] == ["done"] * 4
    assert (sizes, num_files) == ([5000], 2)


def test_event_writer_error_is_not_repeated_at_exit(tmp_path):
    results, stderr = outcomes(
        tmp_path,
        """
        writer = tf.summary.FileWriter("logs")
        limit(0)
        found = [attempt(writer.add_graph, tf.get_default_graph()), attempt(writer.flush)]
        print(json.dumps(found))
        """,
    )
    assert "ResourceExhaustedError" in results[1]
    assert stderr == ""


@pytest.mark.parametrize("size", [1000, 200_000])
def test_gfile_rejects_everything_until_reopened(tmp_path, size):
    results, stderr = outcomes(
        tmp_path,
        f"""
        file = tf.gfile.GFile("a", "w")
        file.write("begin")
        limit(150_000)
        found = [attempt(file.write, bytes({size})) for _ in range(400)]
        limit(resource.RLIM_INFINITY)
        length = os.path.getsize("a")
        found += [attempt(file.write, "x"), attempt(file.flush), attempt(file.close)]
        found += [os.path.getsize("a") - length, attempt(file.close), attempt(file.write, "new")]
        found.append(attempt(file.close))
        print(json.dumps(found))
        """,
    )
    calls, rest = results[:-4], results[-4:]
    text = f"ResourceExhaustedError: a; File too large. {INCOMPLETE}"
    first = calls.index(text)
    assert calls == ["done"] * first + [text] * (len(calls) - first)
    assert len(calls) - first >= 3
    assert rest == [0, "done", "done", "done"]
    assert (tmp_path / "a").read_text() == "new"
    assert stderr == ""


def test_closing_an_incomplete_file_raises_an_error():
    file = tf.gfile.GFile("/dev/full", "w")
    file.write("x")
    with pytest.raises(tf.errors.ResourceExhaustedError, match=re.escape(INCOMPLETE)):
        file.close()
    with pytest.raises(tf.errors.ResourceExhaustedError), tf.gfile.GFile("/dev/full", "w") as file:
        file.write("x" * 100_000)


def test_checkpoint_that_does_not_fit_leaves_the_older_one(tmp_path):
    results, _ = outcomes(
        tmp_path,
        """
        v = tf.Variable([1.0] * 100_000, name="v")
        saver = tf.train.Saver(max_to_keep=1)
        with tf.Session() as session:
            session.run(v.initializer)
            saver.save(session, "m", 1)
            names = sorted(os.listdir())
            limit(100_000)
            found = attempt(saver.save, session, "m", 2)
            limit(resource.RLIM_INFINITY)
        is_as_before = sorted(os.listdir()) == names
        print(json.dumps([found, is_as_before, tf.train.latest_checkpoint(".")]))
        """,
    )
    text = f"ResourceExhaustedError: m-2.data-00000-of-00001; File too large. {KEPT}"
    assert results == [text, True, "./m-1"]


def test_failed_write_file_leaves_the_older_file(tmp_path):
    results, _ = outcomes(
        tmp_path,
        """
        data = tf.placeholder(tf.string, [])
        write = tf.write_file("a", data)
        with tf.Session() as session:
            session.run(write, {data: b"old"})
            limit(100_000)
            found = attempt(session.run, write, {data: chunk})
        print(json.dumps([found, open("a").read(), os.listdir()]))
        """,
    )
    assert results == ["ResourceExhaustedError: a; File too large", "old", ["a"]]
